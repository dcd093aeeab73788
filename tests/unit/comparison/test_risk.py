"""URisk and GeoRisk against loops over their formulas, and the values of a comparison by segment."""

import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.comparison.rankings.comparison import compare
from gradrank.comparison.risk import geo_risk, u_risk
from gradrank.comparison.statistics import holm, mean_interval

DRAW = np.random.default_rng(0)
VALUES = {name: DRAW.random(30) * (DRAW.random(30) < 0.8) for name in "abc"}
QID = np.repeat(np.arange(30), 10)
Y = DRAW.integers(0, 3, 300)
RANKINGS = {name: Y * weight + DRAW.normal(size=300) for name, weight in (("a", 0.3), ("b", 0.6), ("c", 0.7))}


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
def test_the_formulas(alpha):
    a, b = VALUES["a"].tolist(), VALUES["b"].tolist()
    won = sum(x - y for x, y in zip(a, b, strict=True) if x > y)
    lost = sum(y - x for x, y in zip(a, b, strict=True) if x < y)
    assert u_risk(VALUES["a"], VALUES["b"], alpha) == pytest.approx((won - (1 + alpha) * lost) / 30, rel=1e-12)
    total = sum(map(sum, VALUES.values()))
    risks = geo_risk(VALUES, alpha)
    for name, own in VALUES.items():
        risk = 0.0
        for query, value in enumerate(own):
            expected = sum(own) * sum(each[query] for each in VALUES.values()) / total
            if expected > 0:
                z = (value - expected) / math.sqrt(expected)
                risk += z if z > 0 else (1 + alpha) * z
        expected = math.sqrt(sum(own) / 30 * NormalDist().cdf(risk / 30))
        assert risks[name] == pytest.approx(expected, rel=1e-12)


def test_without_aversion_u_risk_is_the_mean_difference():
    assert u_risk(VALUES["a"], VALUES["b"], 0) == pytest.approx(np.mean(VALUES["a"] - VALUES["b"]))
    assert np.isnan(u_risk(np.array([np.nan]), np.array([1.0])))


def test_the_risk_of_a_comparison():
    result = compare(RANKINGS, Y, qid=QID, metric=["map", "p@3"], baseline="a")
    table = result.risk(alpha=2)
    assert table.select("metric", "ranking").rows() == [(m, r) for m in ("map", "p@3") for r in "abc"]
    of_map = {name: result.per_query.filter(metric="map")[name].to_numpy() for name in "abc"}
    row = table.row(1, named=True)
    assert row["u_risk"] == u_risk(of_map["b"], of_map["a"], 2) and row["geo_risk"] == geo_risk(of_map, 2)["b"]
    assert table["u_risk"][0] is None
    with pytest.raises(GradrankError, match="alpha"):
        result.risk(alpha=-1)


def test_segments_have_intervals_and_one_correction():
    result = compare(RANKINGS, Y, qid=QID, metric="map", baseline="a")
    table = result.segments(lambda query: "even" if query % 2 == 0 else "odd")
    assert table.select("segment", "a").rows() == [("even", "b"), ("even", "c"), ("odd", "b"), ("odd", "c")]
    np.testing.assert_array_equal(table["p_corrected"], holm(table["p"].to_list()))
    gaps = (result.per_query["b"] - result.per_query["a"]).to_numpy()[1::2]
    row = table.row(2, named=True)
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(mean_interval(gaps), abs=1e-9)
    named = {query: "even" if query % 2 == 0 else "odd" for query in range(30)}
    assert result.segments(named).equals(table)
    del named[3]
    with pytest.raises(GradrankError, match="query 3"):
        result.segments(named)


@pytest.fixture
def judged():
    """Return judgements as a frame with a column of segments, runs that also rank unjudged documents, and the dict."""
    docid = [f"d{row}" for row in range(300)]
    qid = [f"q{query}" for query in QID]
    language = ["de" if query % 3 else "en" for query in QID]
    frame = pl.DataFrame({"qid": qid, "docid": docid, "label": Y, "language": language})
    unjudged = pl.DataFrame({"qid": ["q1"], "docid": ["new"], "score": [9.0]})
    runs = {
        name: pl.concat([frame.select("qid", "docid", score=pl.Series(scores)), unjudged])
        for name, scores in RANKINGS.items()
    }
    return frame, runs, dict(zip(qid, language, strict=True))


def test_a_column_of_the_judgements_has_the_segments(judged, tmp_path):
    frame, runs, by = judged
    expected = compare(runs, frame.drop("language"), metric="map").segments(by)
    frame.write_csv(tmp_path / "judgements.csv")
    frame.write_parquet(tmp_path / "judgements.parquet")
    frame.write_ndjson(tmp_path / "judgements.jsonl")
    files = [tmp_path / f"judgements.{suffix}" for suffix in ("csv", "parquet", "jsonl")]
    for y in (frame, frame.lazy(), frame.to_dict(as_series=False), *files):
        result = compare(runs, y, metric="map", segment="language")
        assert result.segments().equals(expected)
    assert "segment" in str(result) and "the 6 rows of this table" in str(result)
    assert result.segments(lambda query: "all")["difference"].to_list() == result.table["difference"].to_list()


def test_the_command_prints_the_segments(judged, tmp_path):
    frame, runs, _ = judged
    frame.rename({"qid": "search"}).write_csv(tmp_path / "judgements.csv")
    for name in "ab":
        runs[name].write_csv(tmp_path / f"{name}.csv")
    paths = [str(tmp_path / f"{name}.csv") for name in "ab"]
    options = ["--data", str(tmp_path / "judgements.csv"), "--query", "search", "--segment", "language"]
    done = CliRunner().invoke(app, ["compare", *paths, *options, "--metric", "map"])
    assert done.exit_code == 0, done.output
    table = compare({name: runs[name] for name in "ab"}, frame, metric="map", segment="language")
    assert done.stdout.strip() == str(table).strip()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segment": "languages"}, "y: no column 'languages' .did you mean 'language'"),
        ({"y": {"q1": {"d1": 1}}}, "y: no column 'language'"),
        (
            {"y": [1, 0], "qid": [1, 1]},
            "segment: the judgements have no column 'language', because they are not a table",
        ),
    ],
)
def test_a_missing_column_of_segments_is_named(judged, change, message):
    frame, runs, _ = judged
    with pytest.raises(GradrankError, match=rf"{message}.*Fix:"):
        compare(runs, **{"y": frame, "segment": "language"} | change)


def test_a_query_has_one_segment(judged):
    frame, runs, _ = judged
    mixed = frame.with_columns(language=pl.when(docid="d0").then(pl.lit("fr")).otherwise("language"))
    with pytest.raises(GradrankError, match=r"query q0 has the segments 'en' and 'fr' in column 'language'.*Fix:"):
        compare(runs, mixed, segment="language")
    missing = frame.with_columns(language=pl.when(pl.col("qid") != "q4").then("language"))
    with pytest.raises(GradrankError, match=r"query 'q4' has no segment.*Fix:"):
        compare(runs, missing, segment="language").segments()
