"""The page of a small factorial study that is run here, and the statistics of the study.

The study has two collections, and two scorers with two losses. Known effects are recovered, and without effects there
are no claims.
"""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.choice_values import evaluate_choices
from gradrank.bench.tuning.choices import tuner_choices, write_choices
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.refits import Refits
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.bench.tuning.variants import add_variant
from gradrank.comparison.variance import Runs, query_term
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.training.model import registered
from gradrank.training.registry import models
from gradrank.training.spaces import space_of
from made_project import SETTINGS
from recomputed import assert_recomputed
from studies.factorial import Settings, cell
from studies.factorial.effects import (
    DRAWS,
    NO_EVIDENCE,
    Cells,
    Terms,
    analyse,
    contrasts,
    deviations,
    draw,
    estimate,
    intervals,
    matrix,
    mean_of,
    random_effects,
)
from studies.factorial.page import best_within, build, front, front_plot

DRAWN_SCORERS, DRAWN_LOSSES = ["linear", "net", "trees"], ["ranknet", "softmax", "lambdarank", "approx_ndcg"]
QUERIES, FOLDS = 100, 5


def simulated(rng, effects=0.0, chance=0.01, tuning=0.01, queries=QUERIES, tuners=2, seeds=1, factors=1.0):
    """Return the cells of one collection.

    Queries differ in difficulty, which all cells share, and in what a cell achieves. Each tuner and seed shifts the
    mean of its run. effects: (R, C) true means of the cells. tuning, chance: standard deviations of these shifts.
    factors: (R, C) factors of both deviations.
    """
    shape = len(DRAWN_SCORERS), len(DRAWN_LOSSES)
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
        for each in (*contrasts(DRAWN_SCORERS, DRAWN_LOSSES), *deviations(DRAWN_SCORERS, DRAWN_LOSSES))
    }
    for (i, scorer), (j, loss) in product(enumerate(DRAWN_SCORERS), enumerate(DRAWN_LOSSES)):
        total = means.mean() + values["scorer", scorer, ""] + values["loss", loss, ""]
        assert total + values["interaction", scorer, loss] == pytest.approx(means[i, j], abs=1e-12)
    assert values["scorer", "linear", "net"] == pytest.approx(means[0].mean() - means[1].mean())
    np.testing.assert_allclose(matrix(contrasts(DRAWN_SCORERS, DRAWN_LOSSES)).sum(axis=1), 0, atol=1e-12)


def test_known_effects_are_recovered():
    rng = np.random.default_rng(1)
    collections = {name: simulated(rng, INTERACTING, queries=1000, tuners=5) for name in "abcd"}
    found = analyse(collections, DRAWN_SCORERS, DRAWN_LOSSES)
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
        scopes = analyse(collections, DRAWN_SCORERS, DRAWN_LOSSES, draws=2).scopes  # no decision depends on the draws
        rows = [row for scope in scopes.values() for row in scope]
        count += any(row["verdict"] != NO_EVIDENCE for row in rows)
    assert count / pages <= 0.05


@pytest.mark.parametrize("tuners", [1, 2, 4])
def test_intervals_cover_the_true_contrasts(tuners):
    """The 95% bootstrap interval covers the truth in about 95% of the simulations, in which chance is large.

    A single tuner shows no variance of tuning, so only the seeds matter there.
    """
    rng, weights = np.random.default_rng(3), matrix(contrasts(DRAWN_SCORERS, DRAWN_LOSSES))
    true, covered, count = weights @ INTERACTING.ravel(), 0, 60
    for seed in range(count):
        tuning, seeds = (0.0, 3) if tuners == 1 else (0.02, 1)
        cells = simulated(rng, INTERACTING, chance=0.03, tuning=tuning, tuners=tuners, seeds=seeds)
        low, high = intervals(draw(cells, weights, seed, DRAWS))
        covered += np.mean((low <= true) & (true <= high))
    assert 0.91 <= covered / count <= 0.99


def test_the_variance_of_queries_is_that_of_the_contest():
    cells = simulated(np.random.default_rng(4), tuners=1)
    weights = matrix(contrasts(DRAWN_SCORERS, DRAWN_LOSSES))
    terms = estimate(cells, weights)
    for k in (0, 5, 15):
        term = query_term(weights[k] @ cells.per_query, cells.folds)
        assert terms.variances[k, 0] == pytest.approx(term.variance) and terms.freedoms[0] == term.freedom
    first = Runs(cells.values[0, 0], cells.folds)
    assert cells.means[0, 0] == pytest.approx(first.mean)
    assert not terms.variances[:, 1:].any(), "one run per cell shows no variance of runs"


def test_equal_collections_have_the_mean_of_one():
    terms = estimate(simulated(np.random.default_rng(5)), matrix(contrasts(DRAWN_SCORERS, DRAWN_LOSSES)))
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
    found = analyse(collections, DRAWN_SCORERS, DRAWN_LOSSES).scopes
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


pytest.importorskip("torch")

SCORERS, LOSSES, TUNERS, SEEDS, TRIALS = ("linear", "trees"), ("softmax", "approx_ndcg"), 2, 2, 2
DATASETS = ("synthetic_net", "synthetic_poly")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("factorial")
    contest = Contest(root / "results/studies/factorial")
    for name in DATASETS:
        generate(name.removeprefix("synthetic_"), 20, 12, 1, root / name)
        parse(root / name, root / "data" / name, seed=1, dataset=name)
    settings = Settings(
        datasets=DATASETS,
        scorers={key: {} for key in SCORERS},
        losses=LOSSES,
        trials=TRIALS,
        seeds=SEEDS,
        tuners=TUNERS,
    )
    models()
    try:
        for method in settings.methods:
            variant = settings.variant_of(method)
            few = {"rounds": 5} if method.startswith("trees") else {"epochs": 3}
            add_variant(method, json.dumps(variant | few))
        parts = [*product(DATASETS, settings.methods, range(1, TUNERS + 1))]
        for name, method, tuner in parts:
            tune(method, root / "data" / name, Plan(TRIALS, tuner), 7, contest.trials_path(name, method, tuner))
        write_choices(contest, parts, 20.0)
        for name, method, tuner in parts:
            data = root / "data" / name
            chosen = tuner_choices(contest, data, method, tuner, 20.0)
            evaluate_choices(contest, method, tuner, chosen, Refits(data, SEEDS, 7))
    finally:
        for method in settings.methods:
            registered.pop(method, None)
    values = settings.model_dump(mode="json") | {"conventions": dict.fromkeys(DATASETS, "letor4")}
    return Inputs(root / "results", root / "data", contest.folder, values)


@pytest.fixture(scope="module")
def rows(inputs) -> dict:
    """Return the rows of each table by its id."""
    return {item.id: item.rows for section in build(inputs) for item in section.content if hasattr(item, "rows")}


def mean(inputs, dataset, scorer, loss):
    """Return the mean over folds, computed in another way."""
    contest, found = Contest(inputs.folder), []
    for tuner in range(1, TUNERS + 1):
        table = pl.read_parquet(contest.values_path(dataset, cell(scorer, loss), tuner)).drop_nans("ndcg@10")
        found.append(table.group_by("seed", "fold").agg(pl.col("ndcg@10").cast(pl.Float64).mean())["ndcg@10"].mean())
    return np.mean(found)


def test_the_tables_have_the_means_of_the_values(inputs, rows):
    for dataset in DATASETS:
        by_cell = {(row["first"], row["second"]): row for row in rows[f"cells_{dataset}"]}
        assert by_cell.keys() == set(product(SCORERS, LOSSES))
        for names, row in by_cell.items():
            assert row["value"] == pytest.approx(mean(inputs, dataset, *names), abs=1e-12)
            assert row["low"] < row["value"] < row["high"]
        (of_scorers,) = rows[f"scorer_{dataset}"]
        first, second = (np.mean([by_cell[name, loss]["value"] for loss in LOSSES]) for name in SCORERS)
        assert of_scorers["difference"] == pytest.approx(first - second, abs=1e-12)
    differences = [rows[f"scorer_{dataset}"][0]["difference"] for dataset in DATASETS]
    assert rows["scorer_mean"][0]["difference"] == pytest.approx(np.mean(differences), abs=1e-12)
    assert len(rows["interaction_beyond"]) == 4


def test_another_script_recomputes_every_number(inputs):
    """The script reads only files that are in git, and imports neither gradrank nor a package of it."""
    write_study("factorial", inputs)
    contest = Contest(inputs.folder)
    contest.trials.pack()
    contest.values.pack()
    changes = [("scorer_mean", "low"), ("loss_beyond", "tau"), ("interaction_synthetic_net", "p")]
    changes += [("shares_synthetic_poly", "deviation"), ("pareto_synthetic_net", "seconds")]
    assert_recomputed("check_factorial.py", inputs.folder, changes)


def test_a_scorer_has_the_same_search_space_for_every_loss():
    """No setting of a loss is tuned, so that the loss is the same function for nets and for trees."""
    losses = ("ranknet", "lambdarank", "lambdaloss", "approx_ndcg")
    settings = Settings(datasets=("mq2007",), scorers={"linear": {}, "net": {}, "trees": {}}, losses=losses)
    for scorer in settings.scorers:
        spaces = [space_of(settings.model_class(cell(scorer, loss))) for loss in losses]
        assert all(space == spaces[0] for space in spaces) and spaces[0]
        assert not {"normalize", "temperature", "mu", "cutoff", "weighting"} & set(spaces[0])


def test_settings_take_any_scorer_and_loss_by_name():
    def settings(**changes):
        study = {
            "datasets": ["mq2007"],
            "scorers": {"net": {}, "trees": {}},
            "losses": ["ranknet", "listnet"],
        } | changes
        return check(SETTINGS | {"studies": {"factorial": study}}).studies["factorial"]

    assert settings().methods == ("net-ranknet", "net-listnet", "trees-ranknet", "trees-listnet")
    narrow = settings(scorers={"narrow": {"scorer": "net", "hidden": [8]}, "trees": {"rounds": 9}})
    assert narrow.variant_of("narrow-listnet") == (
        {"model": "softmax", "loss": "listnet", "scorer": "net", "hidden": [8], "select_by": "ndcg@10"}
    )
    small = settings(nets_by_dataset={"mq2007": {"batch_queries": 2}})
    assert small.variant_of("net-ranknet", "mq2007")["batch_queries"] == 2
    unchanged = small.variant_of("net-ranknet", "ohsumed") | small.variant_of("trees-ranknet", "mq2007")
    assert "batch_queries" not in unchanged
    assert narrow.variant_of("trees-ranknet") == {"model": "any_loss_trees", "loss": "ranknet", "rounds": 9}
    for wrong, message in (
        ({"scorers": {"net": {}, "forest": {}}}, "scorer 'forest'"),
        ({"scorers": {"net": {"epoch": 3}, "trees": {}}}, "epoch: unknown key"),
        ({"losses": ["ranknet", "listnett"]}, "unknown loss"),
        ({"losses": ["ranknet", "ranknet"]}, "duplicate name"),
        ({"nets_by_dataset": {"mq207": {"batch_queries": 2}}}, r"nets_by_dataset: unknown data set 'mq207' \(did you"),
        ({"nets_by_dataset": {"mq2007": {"batch": 2}}}, "scorer 'net' on mq2007: .*batch: unknown key"),
    ):
        with pytest.raises(GradrankError, match=message):
            settings(**wrong)
