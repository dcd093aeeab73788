"""The statistics of the factorial study: known effects are recovered, and without effects there are no claims."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from gradrank.comparison.variance import Runs, query_term
from studies.factorial.compute import best_within, front
from studies.factorial.contrasts import contrasts, deviations, matrix
from studies.factorial.effects import DRAWS, Cells, Terms, draw, estimate, intervals
from studies.factorial.front_plot import front_plot
from studies.factorial.pooling import mean_of, random_effects
from studies.factorial.scopes import NO_EVIDENCE, analyse

SCORERS, LOSSES = ["linear", "net", "trees"], ["ranknet", "softmax", "lambdarank", "approx_ndcg"]
QUERIES, FOLDS = 100, 5


def simulated(rng, effects=0.0, chance=0.01, tuning=0.01, queries=QUERIES, tuners=2, seeds=1, factors=1.0):
    """Return the cells of one collection.

    Queries differ in difficulty, which all cells share, and in what a cell achieves. Each tuner and seed shifts the
    mean of its run. effects: (R, C) true means of the cells. tuning, chance: standard deviations of these shifts.
    factors: (R, C) factors of both deviations.
    """
    shape = len(SCORERS), len(LOSSES)
    means = np.full(shape, 0.4) + effects
    difficulty = rng.normal(0, 0.3, queries)
    of_cells = rng.normal(0, 0.15, (*shape, 1, 1, queries))
    of_runs = rng.normal(0, tuning, (*shape, tuners, 1, 1)) + rng.normal(0, chance, (*shape, tuners, seeds, 1))
    of_runs *= np.broadcast_to(factors, shape)[:, :, None, None, None]
    values = means[:, :, None, None, None] + difficulty + of_cells + of_runs
    return Cells(values, np.sort(np.arange(queries) % FOLDS) + 1)


EFFECTS = np.array([-0.05, 0.0, 0.05])[:, None] + np.array([0.0, 0.06, -0.06, 0.0])
INTERACTING = EFFECTS + 0.06 * np.outer([1, -1, 0], [0, 0, 1, -1])


def by_names(rows, question):
    return {(row["first"], row["second"]): row for row in rows if row["question"] == question}


def test_the_effects_add_up_to_the_means():
    """The mean, the effects of scorers and losses and the interactions give every cell again."""
    means = np.random.default_rng(0).normal(size=(3, 4))
    values = {
        (each.question, each.first, each.second): float(np.sum(each.weights * means))
        for each in (*contrasts(SCORERS, LOSSES), *deviations(SCORERS, LOSSES))
    }
    for (i, scorer), (j, loss) in product(enumerate(SCORERS), enumerate(LOSSES)):
        total = means.mean() + values["scorer", scorer, ""] + values["loss", loss, ""]
        assert total + values["interaction", scorer, loss] == pytest.approx(means[i, j], abs=1e-12)
    assert values["scorer", "linear", "net"] == pytest.approx(means[0].mean() - means[1].mean())
    np.testing.assert_allclose(matrix(contrasts(SCORERS, LOSSES)).sum(axis=1), 0, atol=1e-12)


def test_known_effects_are_recovered():
    rng = np.random.default_rng(1)
    collections = {name: simulated(rng, INTERACTING, queries=1000, tuners=5) for name in "abcd"}
    found = analyse(collections, SCORERS, LOSSES)
    for scope in ("a", "mean"):
        of_scorers, of_losses = (by_names(found.scopes[scope], question) for question in ("scorer", "loss"))
        assert of_scorers["linear", "trees"]["verdict"] == "worse"
        assert of_scorers["linear", "trees"]["difference"] == pytest.approx(-0.1, abs=0.02)
        assert of_losses["softmax", "lambdarank"]["verdict"] == "better"
        assert of_losses["softmax", "lambdarank"]["difference"] == pytest.approx(0.12, abs=0.03)
        assert of_losses["ranknet", "approx_ndcg"]["verdict"] == NO_EVIDENCE, "their means are equal"
        claimed = {names for names, row in by_names(found.scopes[scope], "interaction").items() if row["p"] < 0.001}
        assert claimed == set(product(["linear", "net"], ["lambdarank", "approx_ndcg"]))
    (share,) = (row for row in found.shares["a"] if row["question"] == "scorer")
    assert share["deviation"] == pytest.approx(0.05, rel=0.2)
    (share,) = (row for row in found.shares["a"] if row["question"] == "interaction")
    assert share["deviation"] == pytest.approx(np.sqrt(4 * 0.06**2 / 6), rel=0.2)


UNEQUAL = {
    "equal": 1.0,
    "one loss": [1, 1, 1, 5],
    "one scorer": [[1], [1], [5]],
    "one scorer and one loss": np.outer([1, 1, 5], [1, 1, 1, 5]),
}


@pytest.mark.parametrize("factors", UNEQUAL.values(), ids=UNEQUAL.keys())
def test_without_effects_there_is_no_claim_in_95_of_100_simulations(factors):
    """Each simulation is a whole page with three collections and all its scopes, and counts if it has any claim.

    factors: the runs of some combinations vary more than those of others.
    """
    rng, pages, count = np.random.default_rng(2), 200, 0
    for _ in range(pages):
        collections = {name: simulated(rng, chance=0.02, tuning=0.02, factors=factors) for name in "abc"}
        scopes = analyse(collections, SCORERS, LOSSES, draws=2).scopes  # no decision depends on the draws
        rows = [row for scope in scopes.values() for row in scope]
        count += any(row["verdict"] != NO_EVIDENCE for row in rows)
    assert count / pages <= 0.05


@pytest.mark.parametrize("tuners", [1, 2, 4])
def test_intervals_cover_the_true_contrasts(tuners):
    """The 95% bootstrap interval covers the truth in about 95% of the simulations, in which chance is large.

    A single tuner shows no variance of tuning, so only the seeds matter there.
    """
    rng, weights = np.random.default_rng(3), matrix(contrasts(SCORERS, LOSSES))
    true, covered, count = weights @ INTERACTING.ravel(), 0, 60
    for seed in range(count):
        tuning, seeds = (0.0, 3) if tuners == 1 else (0.02, 1)
        cells = simulated(rng, INTERACTING, chance=0.03, tuning=tuning, tuners=tuners, seeds=seeds)
        low, high = intervals(draw(cells, weights, seed, DRAWS))
        covered += np.mean((low <= true) & (true <= high))
    assert 0.91 <= covered / count <= 0.99


def test_the_variance_of_queries_is_that_of_the_contest():
    cells = simulated(np.random.default_rng(4), tuners=1)
    weights = matrix(contrasts(SCORERS, LOSSES))
    terms = estimate(cells, weights)
    for k in (0, 5, 15):
        term = query_term(weights[k] @ cells.per_query, cells.folds)
        assert terms.variances[k, 0] == pytest.approx(term.variance) and terms.freedoms[0] == term.freedom
    first = Runs(cells.values[0, 0], cells.folds)
    assert cells.means[0, 0] == pytest.approx(first.mean)
    assert not terms.variances[:, 1:].any(), "one run per cell shows no variance of runs"


def test_equal_collections_have_the_mean_of_one():
    terms = estimate(simulated(np.random.default_rng(5)), matrix(contrasts(SCORERS, LOSSES)))
    both, pooled = mean_of([terms, terms]), random_effects([terms, terms])
    np.testing.assert_allclose(both.estimates, terms.estimates)
    np.testing.assert_allclose(both.errors, terms.errors / np.sqrt(2))
    np.testing.assert_allclose(pooled.means, terms.estimates)
    np.testing.assert_allclose(pooled.errors, terms.errors / np.sqrt(2))
    assert not pooled.tau.any() and np.isnan(pooled.new_low).all()


def test_random_effects_by_exact_fractions():
    effects = [Fraction(value, 1000) for value in (329, 385, 220, 219, 226, -125, 111)]
    errors = [Fraction(value, 1000) for value in (197, 203, 275, 143, 188, 98, 39)]
    weights = [1 / error**2 for error in errors]
    common = sum(w * d for w, d in zip(weights, effects, strict=True)) / sum(weights)
    q = sum(w * (d - common) ** 2 for w, d in zip(weights, effects, strict=True))
    tau2 = (q - 6) / (sum(weights) - sum(w**2 for w in weights) / sum(weights))
    adjusted = [1 / (error**2 + tau2) for error in errors]
    mean = sum(u * d for u, d in zip(adjusted, effects, strict=True)) / sum(adjusted)
    assert tau2 > 0
    terms = [
        Terms(np.array([float(d)]), np.array([[float(e) ** 2]]), np.array([50]))
        for d, e in zip(effects, errors, strict=True)
    ]
    pooled = random_effects(terms)
    assert pooled.means[0] == pytest.approx(float(mean)) and pooled.tau[0] ** 2 == pytest.approx(float(tau2))
    ratio = sum(u * (d - mean) ** 2 for u, d in zip(adjusted, effects, strict=True)) / 6
    assert pooled.errors[0] ** 2 == pytest.approx(float(max(Fraction(1), ratio) / sum(adjusted)))
    assert pooled.new_low[0] < pooled.low[0] < pooled.means[0] < pooled.high[0] < pooled.new_high[0]


def test_effects_that_differ_between_collections_are_no_claim_for_others():
    """One collection has a large effect and the others have none: nothing follows for other collections."""
    rng = np.random.default_rng(6)
    collections = {name: simulated(rng, EFFECTS * (name == "a"), queries=500) for name in "abcd"}
    found = analyse(collections, SCORERS, LOSSES).scopes
    assert by_names(found["a"], "scorer")["linear", "trees"]["verdict"] == "worse"
    assert by_names(found["b"], "scorer")["linear", "trees"]["verdict"] == NO_EVIDENCE
    assert by_names(found["beyond"], "scorer")["linear", "trees"]["verdict"] == NO_EVIDENCE
    assert by_names(found["beyond"], "scorer")["linear", "trees"]["tau"] > 0.02


def test_the_pareto_front():
    values = {"slow": (0.5, 9.0), "fast": (0.3, 1.0), "worse": (0.2, 2.0), "middle": (0.4, 2.0), "equal": (0.5, 9.5)}
    assert front(values) == ["fast", "middle", "slow"]
    for name, (value, seconds) in values.items():
        faster = [other for other, own in values.items() if other != name and own[1] <= seconds]
        assert (name in front(values)) == all(values[other][0] < value for other in faster)


def test_the_last_bits_of_a_mean_decide_nothing():
    """0.1 + 0.2 and 0.3 are one value; names with equal values and seconds are all on the front."""
    values = {"b": (0.3, 1.0), "a": (0.1 + 0.2, 1.0), "slower": (0.1 + 0.2, 2.0), "worse": (0.25, 0.7 + 0.3)}
    assert front(values) == ["a", "b"]


def test_the_plot_has_a_dot_for_every_combination_and_names_the_front():
    values = {("linear", "softmax"): (0.3, 0.2), ("net", "softmax"): (0.4, 1.5), ("net", "ranknet"): (0.35, 30.0)}
    drawing = front_plot(values, front(values), "NDCG@10", "")
    assert drawing.count("<circle") == 3
    assert [name for name in values if " with ".join(name) in drawing] == front(values)
    assert all(f">{tick}</text>" in drawing for tick in ("0.5", "1", "2", "5", "10", "20"))


def test_what_seconds_buy():
    table = pl.DataFrame(
        {"fold": [1, 1, 1, 2, 2, 2], "trial": [0, 1, 2] * 2, "seconds": [1.0, 2.0, 3.0] * 2}
        | {"vali_ndcg@10": [0.3, None, 0.5, 0.4, 0.2, 0.1]}
    )
    assert best_within([table], 0.5) is None
    assert best_within([table], 5.0) == pytest.approx(0.35)
    assert best_within([table], 6.0) == pytest.approx(0.45)
