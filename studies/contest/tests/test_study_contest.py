"""The page of a small contest that is run here, and the statistics of the contest on simulated runs.

The contest has two collections, the second without tuning. The simulated runs have known variances, and are also
checked against brute force.
"""

import json
import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.choices import member_choices, tuner_choices, write_choices
from gradrank.bench.tuning.divisions import DividedMethod, evaluate_divisions
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.refits import Refits, refit, train_members
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.comparison.variance import Runs, half_width, query_term
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from recomputed import assert_recomputed, checked
from studies.contest.comparisons import Estimates, half_widths, pooled_variance
from studies.contest.page import build
from studies.contest.results import HEADLINE, best_of_weights, expected_best, read_entries

DRAWN_FOLDS, QUERIES = 5, 30  # queries per fold
FOLD_OF = np.repeat(np.arange(DRAWN_FOLDS), QUERIES)
# Standard deviations of queries, of a method on a query, of a run on a fold, and of tuners.
EASY, OWN, SEED, TUNER = 0.3, 0.1, 0.02, 0.01


def simulated(rng, easy, mean=0.4, tuner=TUNER, seed=SEED, tuners=2, seeds=3):
    """Return the runs of a method. easy: (q,) effects of the queries that all methods share."""
    shift = rng.normal(0, tuner, (tuners, 1, 1)) + rng.normal(0, seed, (tuners, seeds, DRAWN_FOLDS))
    values = mean + easy + rng.normal(0, OWN, len(FOLD_OF)) + shift[:, :, FOLD_OF]
    return Runs(values, FOLD_OF)


def queries(rng):
    return rng.normal(0, EASY, len(FOLD_OF))


def test_components_are_recovered():
    rng = np.random.default_rng(1)
    found = [simulated(rng, queries(rng), tuners=8).variances for _ in range(400)]
    query, seed = (EASY**2 + OWN**2) / len(FOLD_OF), SEED**2 / DRAWN_FOLDS
    assert np.mean([each.query.variance for each in found]) == pytest.approx(query, rel=0.03)
    assert np.mean([each.seed.variance for each in found]) == pytest.approx(seed, rel=0.03)
    between = np.mean([each.between.variance - each.seed.variance / 3 for each in found])
    assert between == pytest.approx(TUNER**2, rel=0.1)
    assert {*found[0].shares()} == {"queries", "seeds", "tuning"}
    assert sum(found[0].shares().values()) == pytest.approx(1)


def test_variance_over_queries_is_the_bootstraps():
    rng = np.random.default_rng(2)
    folds = np.repeat([1, 2], [40, 60])  # folds of unequal size count alike
    values = rng.random(100) * folds
    drawn = [np.mean([rng.choice(own, len(own)).mean() for own in (values[:40], values[40:])]) for _ in range(20_000)]
    assert query_term(values, folds).variance == pytest.approx(np.var(drawn), rel=0.05)


def test_interval_of_the_mean_holds_all_three():
    """With two tuners that differ much, the interval has to be wide; an interval over queries only is too narrow."""
    rng = np.random.default_rng(4)
    held, alone = [], []
    for _ in range(600):
        runs = simulated(rng, queries(rng), tuner=0.03)
        held.append(abs(runs.mean - 0.4) < runs.half_width)
        alone.append(abs(runs.mean - 0.4) < half_width([runs.variances.query]))
    assert np.mean(held) >= 0.92 and np.mean(alone) < 0.86


def test_the_pooled_variance_is_that_of_one_tuner_whatever_the_number_of_tuners():
    rng = np.random.default_rng(15)
    found = [
        pooled_variance([simulated(rng, queries(rng), tuners=count, seeds=2) for count in (2, 2, 2, 5, 5, 5)]).variance
        for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(TUNER**2 + SEED**2 / DRAWN_FOLDS / 2, rel=0.06)
    alone = simulated(rng, queries(rng), tuners=1)
    assert pooled_variance([alone]).variance == 0 and pooled_variance([alone]).freedom == 0


def test_intervals_of_means_hold_for_methods_with_two_tuners():
    """Tuners that agree by chance, or because they chose the same, do not make an interval narrow."""
    rng, held, equal = np.random.default_rng(16), [], []
    for _ in range(300):
        runs = {name: simulated(rng, queries(rng), tuner=0.03, seeds=2) for name in "abcdef"}
        same = simulated(rng, queries(rng), tuners=1, seeds=1).values
        halves = half_widths(runs | {"same": Runs(np.repeat(same, 2, axis=0), FOLD_OF)})
        held += [abs(own.mean - 0.4) < halves[name] for name, own in runs.items()]
        equal.append(halves["same"] / Runs(same, FOLD_OF).half_width)
    assert np.mean(held) >= 0.93 and min(equal) > 1


VARIANCES = [(0.0, 0.0), (0.002, 0.02), (0.01, 0.02), (0.05, 0.01)]  # deviations of tuners and of seeds


def contests(count, means, seed, tuner=TUNER, deviation=SEED, tuners=2):
    """Yield the estimates of simulated contests. means: the true mean of each method."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        easy = queries(rng)
        runs = {
            name: simulated(rng, easy, mean, tuner=tuner, seed=deviation, tuners=tuners) for name, mean in means.items()
        }
        yield Estimates(runs)


def share(flags):
    """Return the share of true values, and two standard errors of a share of .05 for as many simulations."""
    flags = list(flags)
    return np.mean(flags), 2 * np.sqrt(0.05 * 0.95 / len(flags))


@pytest.mark.parametrize(("tuner", "seed"), VARIANCES)
def test_family_wise_errors_of_equal_methods(tuner, seed):
    """At most 5 of 100 contests of equal methods call one better or worse, for any variance as the largest one."""
    many_to_one, pairs = [], []
    for found in contests(400, dict.fromkeys("abcdef", 0.4), 5, tuner, seed):
        many_to_one.append(any(row["verdict"] != "no evidence" for row in found.against("a")))
        pairs.append(any(row["verdict"] != "no evidence" for row in found.pairs()))
    for flags in (many_to_one, pairs):
        error, spare = share(flags)
        assert error <= 0.05 + spare


def test_the_family_wise_error_is_not_far_below_its_level():
    error, _ = share(
        any(row["corrected"] < 0.05 for row in found.against("a"))
        for found in contests(500, dict.fromkeys("abcdef", 0.4), 6, 0.0, 0.0)
    )
    assert error > 0.015, "a test that never rejects has no power"


@pytest.mark.parametrize("margin", [0.005, 0.01])
def test_methods_that_differ_by_the_margin_are_not_called_equal(margin):
    """The true difference is the margin, so equality within it is wrong, in at most 5 of 100 contests."""
    precise = {"tuner": 0.0, "deviation": 0.0}
    means = {"a": 0.4, "b": 0.4 + margin, "c": 0.4 - margin}
    rng_error, spare = share(
        any(row[f"equivalent_{margin}"] < 0.05 for row in found.against("a"))
        for found in contests(600, means, 8, **precise)
    )
    assert rng_error <= 0.05 + spare


def few(rng, mean, own):
    """Return a deterministic method. own: standard deviation of the method on a query."""
    return Runs((mean + rng.normal(0, own, len(FOLD_OF)))[None, None], FOLD_OF)


def test_equivalence_has_its_level_at_the_margin_and_finds_equal_methods():
    """For methods with a small variance, the one-sided test at the margin rejects in 5 of 100 cases."""
    rng = np.random.default_rng(9)
    at_margin, at_zero = [], []
    for _ in range(2000):
        a, b, c = few(rng, 0.41, 0.01), few(rng, 0.40, 0.01), few(rng, 0.40, 0.01)
        found = Estimates({"a": a, "b": b, "c": c})
        at_margin.append(found.of("a", "b").p_equivalent(0.01) < 0.05)
        at_zero.append(found.of("b", "c").p_equivalent(0.01) < 0.05)
    assert np.mean(at_margin) == pytest.approx(0.05, abs=0.015) and np.mean(at_zero) > 0.99


def test_not_worse_by_the_margin_has_its_level():
    """`a` is worse than the best by exactly the margin, so it may be called not worse in 5 of 100 contests."""
    rng = np.random.default_rng(10)
    wrong, right = [], []
    for _ in range(2000):
        runs = {"a": few(rng, 0.40, 0.01), "b": few(rng, 0.405, 0.01), "c": few(rng, 0.41, 0.01)}
        rows = {row["method"]: row for row in Estimates(runs).not_worse()}
        wrong.append(rows["a"]["shown_0.01"] == "yes")
        right.append(rows["c"]["shown_0.01"] == "yes")
    assert np.mean(wrong) <= 0.05 + 0.01 and np.mean(right) > 0.99


@pytest.mark.parametrize(("tuner", "seed"), [(0.0, 0.0), (0.005, 0.01)])
def test_the_detectable_difference_is_detected_in_four_of_five_contests(tuner, seed):
    """The share of significant results is 80% if the true difference is the detectable one of a usual contest."""
    setting = {"tuner": tuner, "deviation": seed, "tuners": 5}
    usual = [found.against("a")[0]["detectable"] for found in contests(60, {"a": 0.4, "b": 0.4}, 11, **setting)]
    means = {"a": 0.4, "b": 0.4 + float(np.median(usual))}
    power, _ = share(found.against("a")[0]["verdict"] == "better" for found in contests(500, means, 12, **setting))
    assert power == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("deviation", [0.005, 0.02, 0.05])
def test_two_seeds_of_one_method_are_not_separated(deviation):
    """Two entries are the same method, trained with other seeds: the queries' values are equal but for the seeds."""
    rng, separated = np.random.default_rng(13), []
    for _ in range(500):
        values = 0.4 + queries(rng) + rng.normal(0, OWN, len(FOLD_OF))
        runs = {}
        for name in "ab":
            shift = rng.normal(0, deviation, (2, 3, DRAWN_FOLDS))
            runs[name] = Runs(values + shift[:, :, FOLD_OF], FOLD_OF)
        separated.append(Estimates(runs).against("a")[0]["verdict"] != "no evidence")
    error, spare = share(separated)
    assert error <= 0.05 + spare


def test_one_hundred_percent_equal_methods_are_equal():
    values = np.random.default_rng(14).random((1, 1, len(FOLD_OF)))
    own = Estimates({"a": Runs(values, FOLD_OF), "b": Runs(values, FOLD_OF)}).of("a", "b")
    assert own.p == 1 and own.p_equivalent(0.005) == 0 and own.difference == 0


def test_expected_best_is_that_of_every_sample():
    values = np.random.default_rng(10).integers(0, 4, 7).astype(float)  # with ties
    for n, expected in enumerate(expected_best(values), start=1):
        assert expected == pytest.approx(np.mean([max(sample) for sample in combinations(values, n)]), abs=1e-12)
    assert np.all(np.diff(expected_best(values)) >= -1e-12)
    assert best_of_weights(31, 16).sum() == pytest.approx(1, abs=1e-12)


DIVIDED = ("ranknet_linear", "regression", "fusion")  # the divisions of one method are not finished
METHODS = {"ranknet_linear": 2, "regression": 3, "single_feature": 1, "fusion": 2}  # numbers of tuners
TUNED, FROZEN, FOLDS, SEEDS, SECONDS = "synthetic_net", "synthetic_poly", 5, 2, 1e-9


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Inputs:
    root = tmp_path_factory.mktemp("contest")
    contest = Contest(root / "results/studies/contest")
    for name, target in ((TUNED, "net"), (FROZEN, "poly")):
        generate(target, 20, 10, 1, root / name)
        parse(root / name, root / "data" / name, seed=1, dataset=name)
    parts = [(TUNED, method, tuner) for method, count in METHODS.items() for tuner in range(1, count + 1)]
    for _, method, tuner in parts:
        among = tuple(METHODS)[:-1] if method == "fusion" else ()
        tune(method, root / "data" / TUNED, Plan(4, tuner, among), 7, contest.trials_path(TUNED, method, tuner))
    write_choices(contest, parts, SECONDS)
    for dataset, adopted in ((TUNED, ""), (FROZEN, TUNED)):
        data = root / "data" / dataset
        settings = Refits(data, SEEDS, 7)
        for _, method, tuner in parts:
            chosen = tuner_choices(contest, data, method, tuner, SECONDS, adopted)
            members = member_choices(contest, data, chosen, SECONDS, adopted)
            train_members(contest, members, dict.fromkeys(members, settings))
            refit(contest, method, tuner, chosen, settings)
    data = root / "data" / TUNED
    first = {method: tuner_choices(contest, data, method, 1, SECONDS)[0] for method in METHODS}
    divided = {method: DividedMethod(method, choice.params[choice.one], 7) for method, choice in first.items()}
    members = tuple(own for method, own in divided.items() if method != "fusion")
    divided["fusion"] = replace(divided["fusion"], members=members)
    for method in DIVIDED:
        evaluate_divisions(contest, divided[method], data, 3)
    settings = {"datasets": [TUNED], "frozen": [FROZEN], "methods": tuple(METHODS), "seeds": SEEDS, "seconds": SECONDS}
    settings |= {"divisions": {"datasets": [TUNED], "methods": [*METHODS], "count": 3}}
    settings |= {"conventions": dict.fromkeys((TUNED, FROZEN), "letor4")}
    for packed in (contest.trials, contest.values, contest.divisions):
        packed.pack()
    return Inputs(root / "results", root / "data", contest.folder, settings)


@pytest.fixture(scope="module")
def rows(inputs) -> dict:
    """Return the rows of each table by its id."""
    return {item.id: item.rows for section in build(inputs) for item in section.content if hasattr(item, "rows")}


def values(inputs, method, tuner=1, dataset=TUNED):
    return pl.read_parquet(Contest(inputs.folder).values_path(dataset, method, tuner))


def mean_over_folds(table) -> float:
    return table.group_by("tuner", "seed", "fold").agg(pl.col(HEADLINE).cast(pl.Float64).mean())[HEADLINE].mean()


def test_table_of_results(inputs, rows):
    """The table holds means over folds of the choices of all tuners, recomputed from the files in git."""
    table = rows[f"results_{TUNED}"]
    assert [row[HEADLINE] for row in table] == sorted((row[HEADLINE] for row in table), reverse=True)
    for row in table:
        found = []
        for tuner in range(1, METHODS[row["method"]] + 1):
            own = values(inputs, row["method"], tuner).filter(whole=False).drop_nulls("map")
            found.append(own.with_columns(tuner=pl.lit(tuner)))
        assert row[HEADLINE] == pytest.approx(mean_over_folds(pl.concat(found)), abs=1e-12)
        assert row[f"{HEADLINE} half"] > 0


def test_deterministic_methods_have_one_seed(inputs):
    assert values(inputs, "regression")["seed"].unique().to_list() == [1]
    assert sorted(values(inputs, "fusion")["seed"].unique()) == [1, 2], "its members use random numbers"


def test_every_question_has_a_table(rows):
    others = {"ranknet_linear", "single_feature", "fusion"}
    assert {row["method"] for row in rows[f"against_regression_{TUNED}"]} == others
    assert len(rows[f"pairs_{TUNED}"]) == 6 and all(row["difference"] >= 0 for row in rows[f"pairs_{TUNED}"])
    assert len(rows[f"best_{TUNED}"]) == 4 and f"against_ranksvm_{TUNED}" not in rows


def test_the_selected_trials_have_values(inputs, rows):
    """With no time for a second trial, the choice at equal time is the default."""
    row = next(row for row in rows[f"choosing_{TUNED}"] if row["method"] == "ranknet_linear")
    (entry,) = (entry for entry in read_entries(inputs, TUNED) if entry.method == "ranknet_linear")
    assert row["timed"] == row["default"] and row["gain"] == pytest.approx(row["tuned"] - row["default"])
    one = []
    for tuner, choices in enumerate(entry.choices, start=1):
        table = values(inputs, "ranknet_linear", tuner).filter(whole=False, seed=1)
        one += [table.filter(fold=choice.fold, trial=choice.one)[HEADLINE].mean() for choice in choices]
    assert row["one"] == pytest.approx(np.mean(one)) and row["leak"] == pytest.approx(row["one"] - row["tuned"])


def test_training_on_the_validation_part_changes_the_values(rows):
    table = {row["method"]: row for row in rows[f"whole_{TUNED}"]}
    assert table["fusion"]["whole"] is None and table["fusion"]["train"] > 0
    assert table["single_feature"]["gain"] != 0, "its feature is selected again"
    assert table["regression"]["gain"] == pytest.approx(table["regression"]["whole"] - table["regression"]["train"])
    assert table["regression"]["gain"] != 0


def test_shares_of_the_variance(rows):
    for row in rows[f"variances_{TUNED}"]:
        shares = [row[name] for name in ("queries", "seeds", "tuning", "training") if row[name] is not None]
        assert sum(shares) == pytest.approx(1) and len(shares) == (4 if row["method"] in DIVIDED else 3)


def division_means(inputs, method):
    table = pl.read_parquet(Contest(inputs.folder).divisions_path(TUNED, method))
    groups = table.group_by("division", "group").agg(pl.col(HEADLINE).cast(pl.Float64).mean())
    return groups.group_by("division").agg(pl.col(HEADLINE).mean()).sort("division")[HEADLINE].to_numpy()


def test_comparisons_cover_the_training_queries_and_mark_those_that_do_not(inputs, rows):
    """The variance of a difference has the one over divisions, without that of the seeds, as a further term."""
    entries = {entry.method: entry.runs() for entry in read_entries(inputs, TUNED)}
    without = Estimates(entries)
    for row in rows[f"against_regression_{TUNED}"]:
        method, own = row["method"], without.of(row["method"], "regression")
        if method not in DIVIDED:
            assert row["unmeasured"] == "†" and row["training"] is None
            assert row["error"] == pytest.approx(own.error) and row["freedom"] == pytest.approx(own.freedom)
            continue
        gaps = division_means(inputs, method) - division_means(inputs, "regression")
        added = max(0.0, np.var(gaps, ddof=1) - entries[method].variances.seed.variance)
        assert row["error"] ** 2 == pytest.approx(own.error**2 + added) and row["unmeasured"] is None
        assert row["training"] == pytest.approx(added / (own.error**2 + added))
        spread = own.error**4 / own.freedom + added**2 / 2
        assert row["freedom"] == pytest.approx((own.error**2 + added) ** 2 / spread)
    assert any(row["training"] for row in rows[f"against_regression_{TUNED}"])


def test_each_division_has_a_seed_of_its_own(inputs):
    """A method without random numbers is the same for every seed; the divisions have other training queries."""
    scores = [
        pl.read_parquet(inputs.folder / f"runs/divisions/{TUNED}/ranknet_linear/division{number}.parquet")
        for number in (1, 2, 3)
    ]
    assert all(not table["test"].is_nan().any() and not table["vali"].is_nan().any() for table in scores)
    assert len({table["test"].sum() for table in scores}) == 3
    assert len(set(division_means(inputs, "fusion"))) == 3


def test_the_second_collection(inputs, rows):
    """Each tuner uses one configuration, chosen on the first collection; no trials are run on the second."""
    assert f"choosing_{FROZEN}" not in rows and rows[f"chosen_{TUNED}"]
    own = {entry.method: entry for entry in read_entries(inputs, FROZEN)}
    first = [choice.configuration for choice in own["regression"].choices[0]]
    assert all(each == first[0] for each in first) and len(first) == FOLDS
    assert not Contest(inputs.folder).trials_path(FROZEN, "regression", 1).exists()
    (tau,) = rows["agreement"]
    assert tau["low"] <= tau["tau"] <= tau["high"] and (tau["first"], tau["second"]) == (TUNED, FROZEN)


def test_a_choice_that_is_not_in_choices_json_is_not_scored(inputs, tmp_path):
    contest = Contest(inputs.folder)
    before = contest.choices_path.read_text()
    changed = json.loads(before)
    changed[f"{TUNED}/regression/fold2"]["tuner1"]["trial"] += 1
    try:
        contest.choices_path.write_text(json.dumps(changed))
        with pytest.raises(GradrankError, match=r"choices\.json: synthetic_net/regression/fold2: .*Fix: "):
            tuner_choices(contest, inputs.data / TUNED, "regression", 1, SECONDS)
    finally:
        contest.choices_path.write_text(before)


def test_the_page_is_the_same_without_the_parts(inputs, tmp_path):
    """In a fresh clone, a contest has only the packed files and the choices."""
    clone = tmp_path / "contest"
    clone.mkdir()
    for name in ("choices.json", "trials.parquet", "values.parquet", "divisions.parquet"):
        shutil.copy(inputs.folder / name, clone / name)
    pages = []
    for folder in (inputs.folder, clone):
        write_study("contest", replace(inputs, folder=folder))
        pages.append([(folder / name).read_bytes() for name in ("page.md", "numbers.json")])
    assert pages[0] == pages[1] and b"divisions/synthetic_net/regression.parquet" in pages[0][0]


def test_another_script_recomputes_every_number(inputs):
    """The script reads only files that are in git, and imports neither gradrank nor a package of it."""
    write_study("contest", inputs)
    record = {"params": {"settings": {"seconds": SECONDS}}}
    (inputs.folder / "provenance.json").write_text(json.dumps(record))
    changes = [
        (f"against_regression_{TUNED}", "p"),
        (f"against_regression_{TUNED}", "training"),
        (f"whole_{FROZEN}", "gain half"),
        ("agreement", "low"),
    ]
    assert_recomputed("check_contest.py", inputs.folder, changes)
    path = inputs.folder / "choices.json"
    before = path.read_text()
    changed = json.loads(before)
    changed[f"{TUNED}/regression/fold2"]["tuner1"]["timed"] += 1
    path.write_text(json.dumps(changed))
    result = checked("check_contest.py", inputs.folder)
    path.write_text(before)
    assert result.returncode == 1 and "regression, fold 2, tuner 1: choices.json has" in result.stdout
