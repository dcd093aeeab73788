"""Output of `gradrank diff`: JSON, HTML and exit codes."""

import json

import pytest
from click.testing import Result
from typer.testing import CliRunner

from diff_states import make_study, state, values
from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.bench.diff import output
from gradrank.bench.diff.compare import compare
from gradrank.bench.diff.output import plain
from gradrank.bench.diff.state import MethodResults
from rendered import Document


@pytest.fixture
def comparison():
    """A comparison with every kind of content, and a method name that contains HTML."""
    a = {"d": {"<b>&|": values(1), "same": values(2), "old": values(3)}, "e": {"m": MethodResults({"map": 0.5})}}
    b = {"d": {"<b>&|": values(1, ndcg=0.1), "same": values(2)}, "e": {"m": MethodResults({"map": 0.4})}}
    code = [{"d": {f"stage{i}": f"{i}{state}" for i in range(50)}} for state in "ab"]
    return compare(
        state("before", a, params={"d": {"models.m": {"rate": 0.1}}}, code=code[0], notices=("look here",)),
        state("after", b, params={"d": {"models.m": {"rate": 0.2}}}, code=code[1]),
    )


def test_json_holds_all_and_no_nan(comparison):
    def refuse(constant):
        raise AssertionError(constant)

    read = json.loads(json.dumps(plain(comparison)), parse_constant=refuse)
    assert len(read["rows"]) == len(comparison.rows)
    assert {row["verdict"] for row in read["rows"]} == {"better", "unchanged", "untested"}
    assert read["only_a"] == [["d", "old"]]
    assert read["moved"][0]["gained"][0]["gap"] == pytest.approx(0.1)
    assert next(row for row in read["rows"] if row["verdict"] == "untested")["wilcoxon_holm"] is None


def test_html_is_one_whole_file(comparison):
    document = Document(output.html_page(comparison))
    asked = [attributes.get(key) for _, attributes in document.tags for key in ("src", "href")]
    assert {each for each in asked if each and each[0] != "#"} == {"data:,"}
    assert "<b>&|" in document.text
    # Strip and axis of both data sets' one metric, queries of one method.
    assert sum(tag == "svg" for tag, _ in document.tags) == (2 + 1) + 2
    assert output.html_page(comparison) == output.html_page(comparison)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["diff", *arguments])


def test_command(tmp_path, monkeypatch):
    here = tmp_path / "a b"
    for name, shift in (("before", 0.1), ("after", 0.0)):
        make_study(here / name, shift)
    monkeypatch.chdir(here)
    done = run("before", "after/results", "--json", "--html", "x y.html")
    assert done.exit_code == 0, done.stderr
    assert {row["metric"] for row in json.loads(done.stdout)["rows"] if row["verdict"] == "worse"} == {"ndcg@10"}
    assert (here / "x y.html").read_text().startswith("<!doctype html>")
    done = run("before", "after", "--fail-on-regression", "ndcg@10:0.05")
    assert done.exit_code == 3
    assert "mq2007/lambdamart: NDCG@10" in done.stderr and "(worse)" in done.stderr
    assert run("before", "after", "--fail-on-regression", "ndcg@10:0.2").exit_code == 0
    for arguments, named in ((("after", "--fail-on-regression", "ndcg@10"), "ndcg@10"), (("nowhere",), "nowhere: ")):
        done = run("before", *arguments)
        assert isinstance(done.exception, GradrankError) and named in str(done.exception)
