"""The command `gradrank compare`."""

import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.comparison.rankings.comparison import compare


@pytest.fixture
def files(tmp_path):
    """Qrels of four queries with three documents each, and three runs."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{q} 0 d{d} {int(d == q % 3)}\n" for q in range(4) for d in range(3)))
    for name, order in (("a", "012"), ("b_1", "201"), ("c", "120")):
        lines = (f"q{q} Q0 d{d} 0 {int(order[d])} x\n" for q in range(4) for d in range(3))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


def invoke(files, *options):
    """Run the command on the three runs."""
    runs = [str(files / name) for name in ("a.run", "b_1.run", "c.run")]
    return CliRunner().invoke(app, ["compare", *runs, "--data", str(files / "qrels.txt"), "--metric", "MRR", *options])


def test_the_command_prints_what_the_function_returns(files):
    rankings = {name: files / f"{name}.run" for name in ("a", "b_1", "c")}
    for options, arguments in (
        ({}, []),
        ({"baseline": "c"}, ["--baseline", "c"]),
        ({"convention": "trec", "margin": 0.2}, ["--convention", "trec", "--margin", "0.2"]),
        ({"test": "randomisation"}, ["--test", "randomisation"]),
    ):
        result = compare(rankings, files / "qrels.txt", metric="mrr", **options)
        done = invoke(files, *arguments, "--out", str(files / "out.parquet"))
        assert done.exit_code == 0
        assert done.stdout == f"{result!r}\n"
        assert pl.read_parquet(files / "out.parquet").equals(result.table)
    assert invoke(files, "--latex").stdout == f"{compare(rankings, files / 'qrels.txt', metric='mrr').to_latex()}\n"
    assert r"b\_1" in invoke(files, "--latex").stdout
    assert invoke(files, "--markdown").stdout.startswith("| a | b |")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--latex", "--markdown"], "--latex"),
        (["--baseline", "d"], "baseline"),
        (["--metric", "mpa"], "did you mean 'map'"),
        (["--convention", "trek"], "did you mean 'trec'"),
        (["--margin", "-1"], "margin"),
    ],
)
def test_malformed_options_are_refused(files, options, message):
    error = invoke(files, *options).exception
    assert isinstance(error, GradrankError)
    assert message in str(error)


def test_two_files_of_one_name_are_refused(files):
    run = str(files / "a.run")
    error = CliRunner().invoke(app, ["compare", run, run, "--data", str(files / "qrels.txt")]).exception
    assert isinstance(error, GradrankError)
    assert "'a'" in str(error)


def test_names_runs_metrics_and_html(files):
    runs = [f"x={files / 'a.run'}", f"x={files / 'b_1.run'}", f"y={files / 'c.run'}"]
    page = files / "page.html"
    options = ["--data", str(files / "qrels.txt"), "--metric", "MRR,P(rel=1)@2", "--baseline", "y", "--html", str(page)]
    done = CliRunner().invoke(app, ["compare", *runs, *options])
    given = {"x": [files / "a.run", files / "b_1.run"], "y": files / "c.run"}
    result = compare(given, files / "qrels.txt", metric=["mrr", "p@2"], baseline="y")
    assert done.stdout == f"{result!r}\n"
    assert "<svg" in page.read_text(encoding="utf-8")


def test_an_output_is_not_a_named_input(files):
    run = files / "a.run"
    done = CliRunner().invoke(
        app, ["compare", f"x={run}", f"y={files / 'c.run'}", "--data", str(files / "qrels.txt"), "--out", str(run)]
    )
    assert "the output is the input" in str(done.exception)
