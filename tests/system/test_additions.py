"""Additions to gradrank change no record. A new optional parameter changes only the methods that use its module."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradrank.bench.config.params import load

ROOT = Path(__file__).parents[2]
PARTS = ("trials", "values", "divisions", "jobs")  # of tuned studies and learning curves; no record is checked without
CURRENT = """
from gradrank.bench.results import Results
from gradrank.bench.config.params import load
from gradrank.bench.provenance.record_checks import records
settings = load()
for record in records(settings, Results()):
    code = record.current_code(settings)
    record.replace_code({key: {} for key, was in record.code().items() if code.get(key, was) != was}, code)
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the checkout whose records have the digests of its code."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "workflow", root / "workflow")
    shutil.copytree(ROOT / "studies", root / "studies", ignore=shutil.ignore_patterns("__pycache__", "tests"))
    shutil.copytree(ROOT / "results", root / "results", ignore=shutil.ignore_patterns(*PARTS))
    shutil.copy(ROOT / "params.yaml", root)
    result = run(root, "-c", CURRENT)
    assert result.returncode == 0, result.stderr
    return root


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    return subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True)


def differences(root: Path) -> list[str]:
    """Return the differences that `gradrank verify` names."""
    result = run(root, "-m", "gradrank", "verify")
    assert result.returncode in (0, 1) and not result.stderr, result.stderr
    return [line for line in result.stdout.splitlines() if line.startswith("DIFFERS")]


LOSS = '''"""A loss that was added."""

from gradrank.training.loss import loss
from gradrank.training.losses.listwise import softmax


@loss
def added_loss(scores, labels, offsets):
    """Return the cost and the gradient of softmax."""
    return softmax(scores, labels, offsets)
'''


def test_additions_change_no_record_and_a_parameter_one_line_per_method(checkout):
    package = checkout / "src/gradrank"
    model = package / "models/single_feature.py"
    model.with_stem("single_feature_copy").write_text(
        model.read_text().replace("single_feature", "single_feature_copy")
    )
    (package / "training/losses/added_loss.py").write_text(LOSS)
    scorer = package / "training/scorers/linear.py"
    scorer.with_stem("linear_copy").write_text(scorer.read_text())
    with (package / "bench/report/tables/summary.py").open("a") as stream:
        stream.write("\n\nADDED = 'a column'\n")
    assert differences(checkout) == []

    params = package / "training/nets/net_params.py"
    text = params.read_text()
    old = "    scorer: ScorerName = param("
    assert text.count(old) == 1
    params.write_text(text.replace(old, f'    residual: bool = param(False, "an option")\n{old}'))
    found = differences(checkout)
    methods = [line.split()[3] for line in found if line.startswith("DIFFERS  code of ") and "`: changed" not in line]
    assert len(found) - len(methods) <= 1, "besides the methods, the jobs of studies that train them"
    assert len(methods) == len({*methods}) and {"lambdarank", "lambdaloss", "tabm"} <= {*methods}
    assert {"lambdaloss_trees", "ranksvm", "single_feature", "arsm"}.isdisjoint(methods)
    assert len(methods) < len(load(ROOT / "params.yaml").models)
