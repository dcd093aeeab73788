"""Results of version 0.1 are read; its commands and model files are refused with their replacement."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.base.results import Results
from gradrank.cli import app
from gradrank.config.former_names import REPLACEMENTS

ROOT = Path(__file__).parents[2]
ARCHIVE = ROOT / "tests/data/results_of_0_1.tar.xz"  # 15 artificial queries of 8 documents; prank and single_feature


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def former(tmp_path, monkeypatch) -> Path:
    """A project folder with results that version 0.1 wrote."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path / "results", filter="data")
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["run"] = {"datasets": ["synthetic_net"], "models": ["single_feature", "prank"]}
    params["datasets"] = {name: {"queries": 15, "documents": 8} for name in ("synthetic_net", "synthetic_poly")}
    params["studies"] = {}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_diff_reads_a_results_folder(former):
    done = run("diff", "results", "results", "--json")
    assert done.exit_code == 0, done.output
    assert "prank" in done.output and "single_feature" in done.output
    json.loads(done.output)


def test_verify_reports_the_changed_code_of_a_results_folder(former):
    done = run("verify")
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert "train prank" in done.output and "snakemake" in done.output


def test_a_trained_fold_gives_its_scores(former):
    fold = former / "results/synthetic_net/prank/fold1"
    features = np.random.default_rng(1).normal(size=(4, 50))
    rows = (" ".join(f"{i}:{value:.6f}" for i, value in enumerate(row, 1)) for row in features)
    (former / "new.txt").write_text("".join(f"0 qid:1 {row}\n" for row in rows))
    done = run("predict", "--model", fold, "--input", former / "new.txt", "--out", former / "scores.txt")
    assert done.exit_code == 0, done.output
    assert np.isfinite(np.loadtxt(former / "scores.txt")).sum() == 4


def test_scores_and_values_are_read(former):
    dataset = Results(former / "results").dataset("synthetic_net")
    assert set(dataset.summary()) == {"prank", "single_feature"}
    for method in dataset.methods():
        method.check()
        assert [len(fold.scores("test")) for fold in method.folds()] == [3 * 8] * 5


@pytest.mark.parametrize("command", REPLACEMENTS)
def test_a_removed_command_names_its_replacement(command):
    error = run(command).exception
    assert isinstance(error, GradrankError) and "Fix: " in str(error)


def test_a_model_file_with_the_former_imports_is_refused_by_name(former):
    text = (ROOT / "src/gradrank/models/single_feature.py").read_text()
    (former / "models").mkdir()
    (former / "models/mine.py").write_text(text.replace("gradrank.training", "gradrank.learning"))
    done = subprocess.run([sys.executable, "-m", "gradrank", "models", "mine"], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "models/mine.py" in done.stderr and "gradrank.training" in done.stderr
