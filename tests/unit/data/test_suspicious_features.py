"""Features that may be outcomes, or whose values merge in float32, are reported wherever the data are read."""

import warnings

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank import Ranker
from gradrank.bench.cli import app
from gradrank.data.checks import feature_warnings, order_counts
from gradrank.data.exact_values import merges
from gradrank.data.tables.roles import may_be_outcome

QUERIES, ROWS = 40, 6
QID = np.repeat(np.arange(QUERIES), ROWS)
LABELS = np.random.default_rng(0).integers(0, 3, QUERIES * ROWS)
COUNTS = np.full(QUERIES, ROWS)

OUTCOMES = [
    "click_bool",
    "gross_bookings_usd",
    "is_purchased",
    "dwell_time",
    "position",
    "clickBool",
    "dwellTime",
    "isPurchased",
    "ispurchased",
    "click1",
    "Clicks-2",
    "num_clicks",
    "add_to_cart",
    "addedToCart",
    "was_selected",
    "hasClick",
    "is.clicked",
    "rank",
    "display_position",
    "converted",
]
FEATURES = [
    "composition",
    "disposition",
    "click_model_prior",
    "click_rate_30d",
    "ctr",
    "page_rank",
    "pagerank",
    "term_position",
    "position_in_title",
    "book_title",
    "notebooked",
    "clickstreams",
    "bm25",
    "price",
    "freshness",
    "is_new",
    "historical_purchases",
    "predicted_conversion",
]


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_word_for_an_outcome_is_found_within_a_name(name):
    assert may_be_outcome(name)


@pytest.mark.parametrize("name", FEATURES)
def test_ordinary_names_are_not_outcomes(name):
    assert not may_be_outcome(name)


def leaking(share: float = 1.0) -> np.ndarray:
    """Return a feature that orders a share of the queries ideally."""
    noise = np.random.default_rng(1).random((2, len(QID)))
    return np.where(share > QID / QUERIES, LABELS + 0.5 * noise[0], 3 * noise[1]).astype(np.float32)


def reported(feature: np.ndarray) -> bool:
    others = np.random.default_rng(2).normal(size=(len(QID), 5))
    features = np.c_[others, feature].astype(np.float32)
    found = feature_warnings(None, None, [order_counts(features, LABELS, COUNTS)], [])
    assert all("feature 6" in text and "feature 5" not in text for text in found)
    return bool(found)


@pytest.mark.parametrize(
    ("feature", "is_reported"),
    [
        (leaking(), True),
        (-leaking(), True),
        (np.where(LABELS == 0, np.nan, leaking()), True),  # the outcome is missing without a click
        (np.where(LABELS == 0, np.nan, -leaking()), True),
        (leaking(0.95), True),
        (leaking(0.5), False),
        (np.ones(len(QID)), False),
        (np.full(len(QID), np.nan), False),
        (LABELS > 0, False),  # documents of the grades 1 and 2 stay in any order
    ],
)
def test_a_feature_that_orders_nearly_all_queries_is_reported(feature, is_reported):
    assert reported(feature) == is_reported


@pytest.mark.parametrize(("queries", "rows"), [(3, 4), (19, 2), (100, 2), (30, 5), (300, 10)])
def test_random_features_are_not_reported(queries, rows):
    draw = np.random.default_rng(3)
    for _ in range(20):
        labels = np.tile(np.arange(rows) % 2, queries)
        features = draw.normal(size=(queries * rows, 50))
        assert not feature_warnings(None, None, [order_counts(features, labels, np.full(queries, rows))], [])


SECONDS = 1_700_000_000 + np.random.default_rng(4).integers(0, 86_400, len(QID))
FRACTIONS = np.random.default_rng(5).random(len(QID))


@pytest.mark.parametrize(
    ("values", "is_merged"),
    [
        (SECONDS, True),
        (-SECONDS, True),
        (SECONDS.astype(np.uint64), True),
        (SECONDS.astype(np.float64), True),
        (SECONDS + FRACTIONS, True),
        (np.where(QID == 0, np.nan, SECONDS), True),
        (SECONDS.astype(np.int64) * 10**9, True),
        (1 + 1e-9 * FRACTIONS, True),
        (1e-50 * FRACTIONS, True),
        (SECONDS - 1_700_000_000, False),
        (np.where(QID < 20, 2**24, 2**24 + 2), False),  # both are exact
        (SECONDS // 1024 * 1024, False),
        (FRACTIONS, False),
        (FRACTIONS * 1e12, False),
        (FRACTIONS.astype(np.float32), False),
        (0.1 * np.round(10 * FRACTIONS) + np.spacing(QID.astype(float)), False),  # rounding errors of float64
        (np.full(len(QID), np.nan), False),
        (FRACTIONS > 0.5, False),
    ],
)
def test_distinct_values_that_become_equal_are_noticed(values, is_merged):
    assert merges(np.asarray(values), QID) == is_merged
    order = np.random.default_rng(6).permutation(len(QID))
    assert merges(np.asarray(values)[order], QID[order]) == is_merged


TABLE = pl.DataFrame(
    {
        "qid": QID,
        "label": LABELS,
        "plain": FRACTIONS,
        "was_clicked": FRACTIONS > 0.5,
        "time": SECONDS,
        "copy": -leaking(),
    }
)
TOLD = ("was_clicked", "'time'", "'copy'")


@pytest.mark.parametrize("form", ["csv", "parquet", "txt"])
def test_every_command_that_reads_the_data_warns(form, tmp_path):
    path, told = tmp_path / f"data.{form}", TOLD
    if form == "txt":
        rows = TABLE.select("label", "qid", "time", "copy").iter_rows()
        path.write_text("".join(f"{label} qid:{qid} 1:{time} 2:{copy}\n" for label, qid, time, copy in rows))
        told = ("feature 1", "feature 2 (40")
    else:
        getattr(TABLE, f"write_{form}")(path)
    stored = tmp_path / "stored"

    def output(*words: object) -> str:
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exit_code == 0, result.output
        return result.output

    for words in (
        ("inspect", path),
        ("parse", path, "--out", stored, "--seed", 1),
        ("inspect", stored),
        ("train", "--model", "single_feature", "--data", stored, "--seed", 1, "--out", tmp_path / "fold1"),
    ):
        text = output(*words)
        assert all(each in text for each in ("WARNING", *told)) and "plain' (" not in text
    if form != "txt":
        keep = [word for name in ("was_clicked", "copy") for word in ("--keep", name)]
        text = output("inspect", path, *keep)
        assert "was_clicked'," not in text and "'copy'" in text  # an order in the data is reported in any case


def test_a_ranker_warns_at_fit():
    features = TABLE.drop("qid", "label")
    with pytest.warns(UserWarning) as caught:
        Ranker("regression", random_state=1).fit(features, LABELS, qid=QID)
    texts = " ".join(str(each.message) for each in caught)
    assert all(each in texts for each in TOLD) and "'plain'" not in texts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ranker("regression", random_state=1).fit(features.select("plain"), LABELS, qid=QID)
