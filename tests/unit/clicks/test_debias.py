"""Labels and weights from clicks: unbiased by enumeration, and equal losses in both forms."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.clicks import ClickLog, debias, estimate_propensities, simulate
from gradrank.training.registry import find_loss

THETA = np.array([1.0, 0.5, 0.25])
BETA = np.array([0.2, 0.1, 0.05])
ALPHA = np.array([0.6, 0.4, 0.2])
GAMMA = np.array([0.2, 0.9, 0.5])
SCORES = np.array([0.3, -1.0, 0.7])
SHOWN = np.array([[0, 1, 2], [2, 0, 1]])  # the documents of two sessions
SESSIONS = {
    "session": np.repeat([0, 1], 3),
    "qid": np.zeros(6, int),
    "docid": SHOWN.ravel(),
    "position": np.tile([1, 2, 3], 2),
}


def log_of(clicks):
    return ClickLog(pl.DataFrame(SESSIONS | {"clicks": np.asarray(clicks, int), "impressions": np.ones(6, int)}))


def cost_of(found, loss="softmax", scores=SCORES):
    """Return the loss of the labels at some scores of the documents."""
    offsets = np.r_[0, np.cumsum(np.bincount(found.lists))]
    labels = found.labels if find_loss(loss).reads_labels == "numbers" else found.labels.astype(int)
    return find_loss(loss)(scores[found.rows], labels, offsets, weights=found.weights[offsets[:-1]])[0]


def expectation(value, probabilities):
    """Return the expectation of a value over all clicks of six impressions."""
    total = 0.0
    for clicks in product([0, 1], repeat=6):
        chance = np.prod(np.where(clicks, probabilities, 1 - probabilities))
        total += chance * (value(log_of(clicks)) if any(clicks) else 0.0)
    return total


PER_DOCUMENT = {  # loss of one relevant document, summed over documents with weights: two sessions, gamma
    loss: sum(
        2 * gamma * find_loss(loss)(SCORES, np.eye(3)[document].astype(label), np.array([0, 3]))[0]
        for document, gamma in enumerate(GAMMA)
    )
    for loss, label in (("softmax", float), ("pairwise_hinge", int), ("ranknet", int), ("lambdarank", int))
}


@pytest.mark.parametrize(
    ("form", "loss"),
    [
        ("documents", "softmax"),
        ("clicked_documents", "softmax"),
        ("clicked_documents", "pairwise_hinge"),
        ("clicked_documents", "ranknet"),
        ("clicked_documents", "lambdarank"),
    ],
)
def test_the_loss_has_the_expectation_of_true_relevance(form, loss):
    probabilities = np.tile(THETA, 2) * GAMMA[SHOWN.ravel()]
    found = expectation(lambda log: cost_of(debias(log, THETA, qid=[0] * 3, form=form), loss), probabilities)
    assert found == pytest.approx(PER_DOCUMENT[loss], rel=1e-9)


def test_without_propensities_the_loss_has_another_expectation():
    probabilities = np.tile(THETA, 2) * GAMMA[SHOWN.ravel()]
    found = expectation(lambda log: cost_of(debias(log, qid=[0] * 3)), probabilities)
    assert found < 0.7 * PER_DOCUMENT["softmax"]


def test_squared_errors_per_document_have_the_gradient_of_true_relevance():
    probabilities = np.tile(THETA, 2) * GAMMA[SHOWN.ravel()]
    gradient = expectation(lambda log: debias(log, THETA, qid=[0] * 3).labels - SCORES, probabilities)
    none = np.prod(1 - probabilities)  # a log without clicks is refused, and its labels are 0
    np.testing.assert_allclose(gradient - none * SCORES, GAMMA - SCORES)


def test_trust_bias_needs_the_affine_correction():
    # Estimates below 0 become 0, which biases few impressions; many give the probabilities themselves.
    rows = pl.DataFrame(SESSIONS).with_columns(impressions=pl.lit(10_000))
    rate = np.tile(ALPHA, 2) * GAMMA[SHOWN.ravel()] + np.tile(BETA, 2)
    counted = rows.drop("session").with_columns(clicks=pl.Series(np.round(10_000 * rate).astype(int)))
    log = ClickLog.read(counted.group_by("qid", "docid", "position").agg(pl.col("clicks", "impressions").sum()))
    np.testing.assert_allclose(debias(log, ALPHA, beta=BETA, qid=[0] * 3).labels, GAMMA, atol=1e-3)
    assert np.abs(debias(log, THETA, qid=[0] * 3).labels - GAMMA).max() > 0.05


@pytest.mark.parametrize("clip", [0.01, 0.9])
def test_the_doubly_robust_estimate_of_a_right_model_is_unbiased_with_any_clip(clip):
    probabilities = np.tile(THETA, 2) * GAMMA[SHOWN.ravel()]
    options = {"qid": [0] * 4, "docid": [0, 1, 2, 3], "relevance": [*GAMMA, 0.3], "clip": clip}

    def labels(log):
        return debias(log, THETA, **options).labels

    none = np.prod(1 - probabilities)  # `expectation` leaves out the log without clicks
    found = expectation(labels, probabilities) + none * labels(log_of([0] * 6))
    np.testing.assert_allclose(found, [*GAMMA, 0.3])


def test_the_doubly_robust_estimate_of_a_wrong_model_is_unbiased_without_clipping():
    wrong = debias(log_of([1, 0, 1, 0, 1, 0]), THETA, qid=[0] * 3, relevance=[0.5, 0.1, 0.9])
    np.testing.assert_allclose(wrong.labels, debias(log_of([1, 0, 1, 0, 1, 0]), THETA, qid=[0] * 3).labels)


def test_sessions_and_counts_give_the_same_labels():
    log = log_of([1, 0, 1, 0, 1, 0])
    for form in ("documents", "clicked_documents"):
        first, second = (debias(each, THETA, qid=[0] * 3, form=form) for each in (log, log.aggregated()))
        assert first.labels.tolist() == second.labels.tolist() and first.weights.tolist() == second.weights.tolist()


def test_rare_documents_are_clipped_and_documents_that_are_not_shown_are_left_out():
    made = simulate([2, 1, 0, 0], [3, 2, 1, 0], qid=[5] * 4, sessions=1000, seed=1, depth=3, eta=2.0)
    found = debias(made.log, made.propensities, qid=[5] * 4, clip=0.2)
    assert found.rows.tolist() == [0, 1, 2] and found.clipped > 0
    unclipped = debias(made.log, made.propensities, qid=[5] * 4)
    assert found.labels[2] == pytest.approx(unclipped.labels[2] * (1 / 9) / 0.2) and unclipped.clipped == 0


def test_estimated_propensities_are_taken_as_they_are():
    made = simulate([2, 1, 0], [3, 2, 1], qid=[5] * 3, sessions=20_000, seed=1, exploration="shuffle")
    theta = estimate_propensities(made.log, samples=0)
    found = debias(made.log, theta, qid=[5] * 3)
    np.testing.assert_allclose(found.labels, made.relevance, atol=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qid": [0] * 2}, "2 rows of the log show documents that X lacks .rows 3, 4"),
        ({"qid": [0] * 3, "docid": [0, 1, 1]}, "rows 1, 2, from 0"),
        ({"qid": ["a"] * 3}, "ids of one type"),
        ({"propensities": [1.0]}, "one number per position"),
        ({"propensities": [1.0, 0.0, 0.5]}, "position 2 has 0"),
        ({"propensities": [1.0, np.nan, 0.5]}, "position 2 has nan"),
        ({"beta": [0.5, 0.5, 0.8]}, "beta"),
        ({"clip": 0}, "clip"),
        ({"relevance": [0.5, 0.5, 1.2]}, "3 probabilities"),
        ({"form": "rows"}, "unknown form"),
        ({"beta": [0.0, 0.0, 0.0], "log": log_of([0] * 6)}, "no document has an estimated relevance"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, message):
    arguments = {"log": log_of([1, 0, 0, 0, 0, 1]), "propensities": THETA, "qid": [0] * 3} | changes
    with pytest.raises(GradrankError, match=message) as caught:
        debias(**arguments)
    assert "Fix:" in str(caught.value)
