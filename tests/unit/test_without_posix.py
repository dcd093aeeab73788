"""The library without what only POSIX systems have: commands, training, prediction, saving and loading.

Before it imports gradrank, a process hides modules of the standard library and functions of `os`, as if the system were
Windows (tests/without_posix.py). The workflow needs POSIX and is not tested here.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TESTS = Path(__file__).resolve().parents[1]
HIDE = "import without_posix\n"  # tests/without_posix.py
COMMAND = HIDE + "import sys\nfrom gradrank.bench.cli import main\nsys.argv[0] = 'gradrank'\nmain()\n"
FIT = """
import numpy as np
import gradrank
table = np.loadtxt("table.txt")
X, y, qid = table[:, 2:], table[:, 0].astype(int), table[:, 1].astype(int)
for name in ("ranksvm", "lambdamart"):
    ranker = gradrank.Ranker(name, random_state=1).fit(X, y, qid=qid)
    scores = ranker.predict(X, qid=qid)
    ranker.save(name)
    ranker.save(name)  # replaces the files
    assert np.array_equal(gradrank.load(name).predict(X, qid=qid), scores)
    np.savetxt(f"{name}.txt", scores)
print(gradrank.evaluate(y, scores, qid=qid, metrics=["ndcg@10"]))
"""


def run(folder: Path, code: str, *arguments: str) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled"), "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a table in two forms, and two models that a process without POSIX trained on it."""
    folder = tmp_path_factory.mktemp("without posix")
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(400, 3)).round(3), np.repeat(np.arange(20), 20)
    y = (X[:, 0] + rng.normal(scale=0.5, size=400) > 1).astype(int)
    np.savetxt(folder / "table.txt", np.column_stack([y, qid, X]))
    lines = [f"{y[i]} qid:{qid[i]} 1:{X[i, 0]} 2:{X[i, 1]} 3:{X[i, 2]}\n" for i in range(400)]
    (folder / "letor.txt").write_text("".join(lines), encoding="utf-8")
    assert "NDCG@10" in run(folder, HIDE + FIT)
    return folder


def test_the_names_are_hidden(tmp_path):
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        run(tmp_path, HIDE + "import fcntl")
    with pytest.raises(AssertionError, match="AttributeError"):
        run(tmp_path, HIDE + "import os\nos.fork()")


def test_a_table_is_inspected_and_scored(folder):
    assert "20 queries" in run(folder, COMMAND, "inspect", "letor.txt")
    run(folder, COMMAND, "predict", "--model", "lambdamart", "--input", "letor.txt", "--out", "predicted.txt")
    assert np.allclose(np.loadtxt(folder / "predicted.txt"), np.loadtxt(folder / "lambdamart.txt"))


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--scores", "lambdamart.txt", "--data", "letor.txt"),
        ("compare", "lambdamart.txt", "ranksvm.txt", "--data", "letor.txt", "--html", "compared.html"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_evaluates_scores(folder, command):
    assert "NDCG@10" in run(folder, COMMAND, *command)
