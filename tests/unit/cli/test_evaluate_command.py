"""The command `gradrank evaluate`: the convention of its tables, and a wrong convention."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.comparison.rankings.evaluation import letor_report


@pytest.fixture
def files(tmp_path):
    """Two queries of three documents, and the scores of the six documents."""
    grades = [2, 0, 1, 0, 1, 0]
    lines = (f"{grade} qid:{1 + row // 3} 1:0 #docid = d{row}\n" for row, grade in enumerate(grades))
    (tmp_path / "data.txt").write_text("".join(lines))
    (tmp_path / "scores.txt").write_text("1\n2\n3\n3\n2\n1\n")
    return tmp_path


def invoke(folder, *options):
    paths = ["--scores", str(folder / "scores.txt"), "--data", str(folder / "data.txt")]
    return CliRunner().invoke(app, ["evaluate", *paths, *options])


@pytest.mark.parametrize("convention", ["letor4", "standard"])
def test_the_tables_name_their_convention(files, convention):
    done = invoke(files, "--convention", convention)
    assert done.exit_code == 0
    head, _, tables = done.stdout.partition("\n\n")
    assert head == f"convention\t{convention}"
    assert tables == letor_report(files / "data.txt", files / "scores.txt", convention)
    assert ("NDCG@10 for 2 of 2 queries" in done.stderr) == (convention == "letor4")
    assert invoke(files, "--convention", convention, "--metrics", "map").stdout.split()[2] == convention


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "--scores", "none.txt", "--data", "none"],
        ["compare", "none.txt", "nothing.txt", "--data", "none"],
        ["train", "--model", "none", "--data", "none", "--seed", "1", "--out", "out"],
        ["tune", "--model", "none", "--data", "none", "--seed", "1", "--out", "out"],
        ["report", "--results", "none"],
        ["refit-choices", "none", "--data", "none", "--seed", "1"],
        ["divisions", "none", "--data", "none", "--seed", "1"],
    ],
    ids=lambda command: command[0],
)
def test_a_wrong_convention_is_reported_before_any_other_error(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*command, "--convention", "standart"])
    assert isinstance(done.exception, GradrankError)
    assert "standart" in str(done.exception) and "did you mean 'standard'" in str(done.exception)


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes and byte names")
def test_pipes_are_read_once_and_names_need_no_utf8(files):
    """`--against` uses the data and the scores twice. The locale C cannot spell the name of the second file."""
    (files / "zwölf.txt").write_text("3\n2\n1\n1\n2\n3\n")
    for name in ("data", "scores"):
        os.mkfifo(files / f"{name}.pipe")
        subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', files / f"{name}.txt", files / f"{name}.pipe"])
    paths = ["--data", files / "data.pipe", "--scores", files / "scores.pipe", "--against", files / "zwölf.txt"]
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "gradrank"]
    done = subprocess.run([*command, "evaluate", *paths, "--metrics", "map"], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(b"\n")[1].startswith(b"kendall_tau\t-1.0000\tagainst ")
    paths = [files / "scores.txt", files / "zwölf.txt", "--data", files / "data.txt", "--metric", "map"]
    done = subprocess.run([*command, "compare", *paths], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_small_run_is_evaluated_without_the_import_of_slow_packages(tmp_path):
    rows = [(query, document) for query in range(20) for document in range(50)]
    judgements, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    judgements.write_text("".join(f"{query} 0 d{document} {document % 3}\n" for query, document in rows))
    run.write_text("".join(f"{query} Q0 d{document} 1 {-document} a\n" for query, document in rows))
    options = ["--scores", run, "--data", judgements, "--convention", "trec", "--metrics", "ndcg@10,map,err@20,p@5"]
    command = [sys.executable, "-X", "importtime", "-m", "gradrank", "evaluate", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert len(done.stdout.splitlines()) == 4 and "polars" in imported
    assert not imported & {"numba", "scipy", "sklearn", "torch", "lightgbm", "pandas", "pyarrow", "snakemake", "mlflow"}
