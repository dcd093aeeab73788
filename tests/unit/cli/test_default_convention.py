"""Every command and function has the same default convention, or that of the model whose scores it evaluates."""

import inspect
import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.bench.config.params import EvaluationParams
from gradrank.bench.folds.settings import primary_convention
from gradrank.comparison.rankings.evaluation import default_convention
from gradrank.measures.conventions import DEFAULT
from gradrank.measures.metrics import METRICS, ndcg_at

# These take the convention of a model, or else DEFAULT.
OF_A_MODEL = {"evaluate", "importance"}


def defaults_of_commands():
    for name, command in typer.main.get_command(app).commands.items():
        for parameter in command.params:
            if parameter.name in ("convention", "conventions"):
                yield name, parameter.default


def defaults_of_functions():
    for name in gradrank.__all__:
        if callable(function := getattr(gradrank, name)) and name != "models" and "Warning" not in name:
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name == "convention":
                    yield name, parameter.default


def test_every_command_and_function_has_the_default_convention():
    found = [*defaults_of_commands(), *defaults_of_functions()]
    assert {"evaluate", "compare", "Ranker", "train", "report"} <= {name for name, _ in found}
    for name, default in found:
        assert default == DEFAULT or (default is None and name in {*OF_A_MODEL, "table"}), (name, default)


def test_a_metric_and_a_params_yaml_without_a_convention_have_the_default_convention():
    assert inspect.signature(ndcg_at, follow_wrapped=False).parameters["convention"].default == DEFAULT
    assert EvaluationParams.model_validate({"metrics": list(METRICS)[:1]}).convention == DEFAULT
    assert primary_convention({}, "own") == DEFAULT


def test_scores_in_a_trained_fold_have_the_convention_of_its_model(tmp_path):
    scores = tmp_path / "scores.parquet"
    assert default_convention(scores) == default_convention([0.0]) == DEFAULT
    (tmp_path / "spec.json").write_text(json.dumps({"convention": "ranklib"}))
    assert default_convention(scores) == default_convention([0.0], tmp_path) == "ranklib"
    assert default_convention(tmp_path / "other.txt") == DEFAULT
    with pytest.raises(GradrankError, match="Fix:"):
        default_convention(scores, tmp_path / "none")


def test_the_command_evaluates_under_the_convention_of_the_given_model(tmp_path):
    X, y, qid = np.arange(12.0).reshape(12, 1), np.tile([0, 1, 2], 4), np.repeat([1, 2, 3, 4], 3)
    gradrank.Ranker("regression", random_state=1, convention="letor4").fit(X, y, qid=qid).save(tmp_path / "fold")
    (tmp_path / "data.txt").write_text("".join(f"{grade} qid:{q} 1:0\n" for grade, q in zip(y, qid, strict=True)))
    (tmp_path / "scores.txt").write_text("".join(f"{row}\n" for row in range(12)))
    options = ["--scores", str(tmp_path / "scores.txt"), "--data", str(tmp_path / "data.txt"), "--metrics", "ndcg@10"]
    for model, value in (([], "1.0000\tstandard"), (["--model", str(tmp_path / "fold")], "0.0000\tletor4")):
        done = CliRunner().invoke(app, ["evaluate", *options, *model])
        assert done.stdout == f"ndcg@10\t{value}\n"
