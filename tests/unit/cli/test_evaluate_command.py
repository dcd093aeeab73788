"""The command `gradrank evaluate`: the convention of its tables, and a wrong convention."""

import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.cli import app
from gradrank.evaluation.rankings.letor_report import letor_report


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
        ["refit", "none", "--data", "none", "--seed", "1"],
        ["divisions", "none", "--data", "none", "--seed", "1"],
    ],
    ids=lambda command: command[0],
)
def test_a_wrong_convention_is_reported_before_any_other_error(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*command, "--convention", "standart"])
    assert isinstance(done.exception, GradrankError)
    assert "standart" in str(done.exception) and "did you mean 'standard'" in str(done.exception)
