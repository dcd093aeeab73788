"""Wrong models and parameters of `gradrank train` give one error, before any file is read or written."""

import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app


@pytest.mark.parametrize(
    ("model", "params", "named"),
    [
        ("ranksvm", '{"C": "much"}', "params.C"),
        ("ranksvm", '{"c": 1}', "params.c"),
        ("lambdamart", '{"num_leaves": true}', "params.num_leaves"),
        ("ranksvn", "{}", "'ranksvm'"),
        ("ranksvm", '{"C": ', "--params"),
    ],
)
def test_a_wrong_model_or_parameter_is_named(tmp_path, model, params, named):
    out = tmp_path / "fold1"
    command = ["train", "--model", model, "--data", "none", "--params", params, "--seed", "1", "--out", str(out)]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, GradrankError) and named in str(error)
    assert not out.exists()


def test_several_threads_are_refused_for_a_method_that_trains_with_one(tmp_path):
    out = tmp_path / "fold1"
    command = ["train", "--model", "ranksvm", "--data", "none", "--threads", "2", "--seed", "1", "--out", str(out)]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, GradrankError) and "--threads" in str(error) and not out.exists()
