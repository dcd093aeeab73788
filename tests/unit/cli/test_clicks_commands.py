"""`gradrank clicks` simulates a log, estimates propensities from it and evaluates a ranking, as the functions do."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.bench.cli import answer, app
from gradrank.clicks import ClickLog, estimate_propensities

COLUMNS = ("position", "propensity", "low", "high", "identified", "truth")


def run(*arguments):
    result = CliRunner().invoke(app, ["clicks", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["gradrank", "clicks", *map(str, arguments)])
    with pytest.raises(SystemExit):
        answer()
    return capsys.readouterr().err


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The working folder, with data, a ranking and a simulated log."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    relevance = draw.integers(0, 3, 200)
    ids = {"qid": np.repeat(np.arange(1, 21), 10), "docid": [f"d{row}" for row in range(200)]}
    pl.DataFrame(ids | {"label": relevance, "a": draw.normal(size=200)}).write_csv("data.csv")
    pl.DataFrame(ids | {"score": relevance / 2 + draw.random(200) / 1000}).write_csv("new.csv")
    run(
        "simulate",
        "data.csv",
        "--sessions",
        5000,
        "--exploration",
        "shuffle",
        "--truth",
        "truth.json",
        "--out",
        "log.parquet",
    )
    return tmp_path


def test_a_log_is_simulated_estimated_and_evaluated(files):
    log = ClickLog.read("log.parquet")
    assert log.rows["session"].n_unique() == 5000 and log.rows["docid"].head(1)[0].startswith("d")
    printed = run(
        "estimate", "log.parquet", "--truth", "truth.json", "--samples", 10, "--out", "p.csv", "--plot", "p.svg"
    )
    assert printed.split("\n")[0].split("\t") == list(COLUMNS)
    table = pl.read_csv("p.csv")
    np.testing.assert_allclose(table["propensity"], estimate_propensities(log, samples=0).values())
    np.testing.assert_allclose(table["truth"], 1 / np.arange(1, 11))
    assert "<svg" in (files / "p.svg").read_text()
    found = run("evaluate", "log.parquet", "new.csv", "--propensities", "p.csv")
    value, low, high = map(float, re.findall(r"[\d.]+", found.partition("= ")[2])[:3])
    assert low < value < high and "ips" in found


def test_users_without_propensities_have_none_in_the_truth(files, capsys, monkeypatch):
    run("simulate", "data.csv", "--sessions", 50, "--users", "cascade", "--truth", "c.json", "--out", "c.parquet")
    assert json.loads((files / "c.json").read_text()) == {
        "users": "cascade",
        "propensities": None,
        "alpha": None,
        "beta": None,
    }
    assert "no propensities of 10 positions" in refused(
        capsys, monkeypatch, "estimate", "log.parquet", "--truth", "c.json"
    )


def test_columns_are_named(files):
    pl.read_parquet("log.parquet").rename({"clicks": "c", "position": "p"}).write_csv("named.csv")
    named = ["named.csv", "--column", "clicks=c", "--column", "position=p", "--samples", 0]
    assert run("estimate", *named) == run("estimate", "log.parquet", "--samples", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimate", "log.parquet", "--out", "log.parquet"], "the output is the input"),
        (["simulate", "data.csv", "--sessions", "5", "--out", "data.csv"], "the output is the input"),
        (["estimate", "log.parquet", "--column", "clicks"], "not a new column"),
        (["estimate", "data.csv"], "no column"),
        (["estimate", "none.csv"], "none.csv: cannot be read"),
        (["evaluate", "log.parquet", "new.csv", "--propensities", "new.csv"], "not a table of propensities"),
        (
            ["evaluate", "log.parquet", "new.csv", "--propensities", "p.csv", "--estimator", "dr"],
            "needs scores from 0 to 1",
        ),
    ],
)
def test_what_does_not_fit_is_refused(files, capsys, monkeypatch, arguments, message):
    pl.DataFrame({"position": range(1, 11), "propensity": 1 / np.arange(1, 11)}).write_csv("p.csv")
    before = {path: path.read_bytes() for path in files.iterdir()}
    error = refused(capsys, monkeypatch, *arguments)
    assert message in error and "Fix:" in error
    assert {path: path.read_bytes() for path in files.iterdir()} == before
