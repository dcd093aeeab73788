"""Click logs, simulated users, estimated propensities and values from clicks."""

import doctest
import re
from math import log2
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank import clicks
from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.clicks import ClickLog, estimate_propensities, evaluate, relevance_probabilities, simulate

ROOT = Path(__file__).parents[3]
QUERIES, DOCUMENTS = 40, 12
DRAW = np.random.default_rng(0)
Y = DRAW.integers(0, 3, QUERIES * DOCUMENTS)
QID = np.repeat(np.arange(QUERIES), DOCUMENTS)
SCORES = Y * 0.3 + DRAW.normal(size=len(Y))
ROWS = {
    "session": [1, 1, 2, 2],
    "query_id": ["a"] * 4,
    "doc": [7, 8, 8, 7],
    "rank": [1, 2, 1, 2],
    "click": [1, 0, 1, 0],
}
IDEAL = pl.DataFrame({"qid": QID, "docid": np.arange(len(Y)), "score": Y + DRAW.random(len(Y)) / 2}).select(
    "qid", "docid", rank=pl.col("score").rank("ordinal", descending=True).over("qid").cast(pl.Int64)
)


def made(**changes):
    return simulate(Y, SCORES, **({"qid": QID, "sessions": 40_000, "seed": 1} | changes))


@pytest.mark.parametrize("name", clicks.__all__)
def test_the_examples_run(name):
    for example in doctest.DocTestFinder(recurse=False).find(getattr(clicks, name), name):
        assert not doctest.DocTestRunner().run(example).failed


def test_the_code_of_the_page_runs(capsys):
    (code,) = re.findall("```python\n(.*?)```", (ROOT / "docs/clicks.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "docs/clicks.md", "exec"), {})
    assert "dcg@10 = " in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_files_and_frames_are_the_same_log(tmp_path, suffix):
    frame, path = pl.DataFrame(ROWS), tmp_path / f"log.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[suffix](path)
    log = ClickLog.read(path)
    assert log.rows.equals(ClickLog.read(frame).rows) and log.has_sessions and log.depth == 2
    log.write(tmp_path / "copy.parquet")
    assert ClickLog.read(tmp_path / "copy.parquet").rows.equals(log.rows)


def test_counts_are_the_sums_of_sessions():
    rows = ClickLog.read(pl.DataFrame(ROWS)).aggregated().rows
    expected = {"docid": [7, 7, 8, 8], "position": [1, 2, 1, 2], "clicks": [1, 0, 1, 0], "impressions": [1] * 4}
    assert rows.select(*expected).cast(pl.Int64).to_dict(as_series=False) == expected
    assert not ClickLog.read(rows).has_sessions


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"rank": [0, 2, 1, 2]}, ["position", "1 rows: 1"]),
        ({"rank": [1, 1, 1, 2]}, ["position twice", "2 rows: 1, 2"]),
        ({"doc": [7, 7, 8, 7]}, ["document twice"]),
        ({"click": [2, 0, 1, 0]}, ["more clicks than impressions"]),
        ({"click": [0.5, 0, 1, 0], "rank": [1, 2, -1, 2]}, ["number of clicks", "position is not"]),
        ({"doc": [7, None, 8, 7]}, ["docid is missing"]),
    ],
)
def test_rows_that_contradict_each_other_are_refused_together(changes, messages):
    with pytest.raises(GradrankError) as caught:
        ClickLog.read(pl.DataFrame(ROWS | changes))
    assert all(message in str(caught.value) for message in [*messages, "Fix:"])


def test_columns_are_named_by_the_caller_where_names_say_nothing():
    frame = pl.DataFrame(ROWS).rename({"click": "c"})
    with pytest.raises(GradrankError, match="clicks: no column"):
        ClickLog.read(frame)
    assert ClickLog.read(frame, {"clicks": "c"}).rows.equals(ClickLog.read(pl.DataFrame(ROWS)).rows)


def test_a_log_of_one_ranking_per_query_is_warned_about():
    with pytest.warns(GradrankWarning, match="separate relevance from position"):
        log = ClickLog.read(made(sessions=100).log.rows)
    with pytest.raises(GradrankError, match="cannot be separated"):
        estimate_propensities(log)


@pytest.mark.parametrize("eta", [0.0, 1.0, 2.0])
def test_click_rates_are_those_of_position_based_users(eta):
    result = made(eta=eta, noise=0.1, sessions=200_000)
    rows = result.log.rows.with_columns(gamma=pl.Series(result.relevance[result.log.rows["docid"].to_numpy()]))
    rate = (
        rows.group_by("position").agg((pl.col("clicks").sum() / pl.col("gamma").sum()).alias("theta")).sort("position")
    )
    np.testing.assert_allclose(rate["theta"], np.arange(1, 11) ** -eta, atol=0.02)
    np.testing.assert_allclose(result.propensities, np.arange(1, 11) ** -eta)


def test_users_of_the_cascade_click_once():
    clicked = made(users="cascade").log.rows.group_by("session").agg(pl.col("clicks").sum())["clicks"]
    assert clicked.max() == 1 and made(users="cascade").propensities is None


@pytest.mark.parametrize("users", ["trust_bias", "dependent_click", "dynamic_bayesian"])
@pytest.mark.parametrize("exploration", ["none", "swap", "shuffle", "plackett_luce"])
def test_a_seed_determines_the_log_and_each_session_shows_ten_documents_once(users, exploration):
    first, again = (made(users=users, exploration=exploration, sessions=500) for _ in range(2))
    assert first.log.rows.equals(again.log.rows)
    shown = first.log.rows.group_by("session").agg(pl.col("docid").n_unique(), pl.col("position").max())
    assert shown["docid"].to_list() == [10] * 500 == shown["position"].cast(int).to_list()


def test_relevance_is_between_the_noise_and_one():
    np.testing.assert_allclose(relevance_probabilities([0, 1, 2], 0.1), [0.1, 0.1 + 0.9 / 3, 1.0])
    assert relevance_probabilities([0, 1, 2], "perfect").tolist() == [0, 0.5, 1]
    with pytest.raises(GradrankError, match="grades 0 to 2"):
        relevance_probabilities([3], "perfect")


@pytest.mark.parametrize(
    ("exploration", "method"), [("shuffle", "randomised"), ("swap", "harvest"), ("plackett_luce", "harvest")]
)
def test_intervals_of_identified_propensities_contain_the_truth(exploration, method):
    result = made(exploration=exploration, sessions=60_000)
    table = estimate_propensities(result.log, method, samples=60).table
    truth = pl.Series(result.propensities)
    inside = (table["low"] - 0.005 <= truth) & (truth <= table["high"] + 0.005)
    assert inside.sum() >= 9 and table["identified"].all()


def test_the_likelihood_of_the_position_based_model_finds_the_truth():
    result = made(exploration="plackett_luce", sessions=60_000)
    found = estimate_propensities(result.log, "position_based", samples=0).values()
    np.testing.assert_allclose(found, result.propensities, atol=0.02)


def test_positions_that_nothing_connects_are_not_identified():
    rows = pl.DataFrame({"qid": [1] * 4, "docid": [1, 1, 2, 3], "position": [1, 2, 3, 4], "clicks": [5, 2, 1, 1]})
    log = ClickLog.read(rows.with_columns(impressions=pl.lit(10)))
    table = estimate_propensities(log, samples=0).table
    assert table["identified"].to_list() == [True, True, False, False]
    assert table["propensity"].to_list() == [1.0, pytest.approx(0.4), None, None]


@pytest.mark.parametrize("measure", ["dcg", "click_rate"])
@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_the_value_of_a_new_ranking_is_in_the_interval(measure, estimator):
    gamma = relevance_probabilities(Y)
    ranking = IDEAL.with_columns(relevance=pl.lit(0.3))
    weights = [1 / log2(rank + 1) if measure == "dcg" else 1 / rank for rank in range(1, 11)]
    top = IDEAL.filter(pl.col("rank") <= 10)
    per_document = gamma[top["docid"].to_numpy()] * np.array(weights)[top["rank"].to_numpy() - 1]
    truth = per_document.sum() / QUERIES
    hits = 0
    for seed in range(10):
        result = made(exploration="plackett_luce", seed=seed, sessions=4_000)
        found = evaluate(result.log, ranking, result.propensities, measure=measure, estimator=estimator)
        hits += found.low <= truth <= found.high
    assert hits >= 8


def test_a_document_that_is_never_shown_has_the_relevance_of_the_model():
    rows = pl.DataFrame({"qid": [1], "docid": [1], "position": [1], "clicks": [5], "impressions": [10]})
    log = ClickLog.read(
        rows.vstack(pl.DataFrame({"qid": [1], "docid": [2], "position": [2], "clicks": [1], "impressions": [10]}))
    )
    ranking = pl.DataFrame({"qid": [1, 1], "docid": [3, 1], "rank": [1, 2], "relevance": [0.8, 0.1]})
    ips, dr = (evaluate(log, ranking, [1.0, 0.5], estimator=name) for name in ("ips", "dr"))
    assert ips.value == pytest.approx(0.5 / log2(3)) and ips.not_shown == 0.5
    assert dr.value == pytest.approx(0.8 + 0.5 / log2(3))


def test_self_normalised_values_do_not_depend_on_the_scale_of_the_propensities():
    result = made(exploration="plackett_luce", sessions=4_000)
    values = [
        evaluate(result.log, IDEAL, result.propensities * scale, estimator="snips", clip=1e-6).value
        for scale in (1, 0.5)
    ]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"propensities": [1.0]},
        {"estimator": "none"},
        {"clip": 0.0},
        {"ranking": IDEAL.drop("rank")},
        {"estimator": "dr"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes):
    result = made(sessions=100, exploration="swap")
    arguments = {"log": result.log, "ranking": IDEAL, "propensities": result.propensities} | changes
    with pytest.raises(GradrankError, match="Fix:"):
        evaluate(**arguments)
