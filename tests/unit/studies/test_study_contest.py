"""The page of a small contest that is run here: two collections, the second without tuning."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.studies.common.study import Inputs
from gradrank.studies.contest.page import build
from gradrank.studies.contest.results import HEADLINE, read_entries, read_entry_trials
from gradrank.tuning.evaluate_refits import evaluate_refits
from gradrank.tuning.folders import Contest
from gradrank.tuning.freeze import freeze
from gradrank.tuning.refits import refit
from gradrank.tuning.score_trials import score_trials
from gradrank.tuning.selection import select
from gradrank.tuning.trials import Plan, tune

METHODS = ("ranknet_linear", "regression", "single_feature", "fusion")
TUNED, FROZEN, FOLDS, SEEDS = "synthetic_net", "synthetic_poly", 5, 2


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Inputs:
    root = tmp_path_factory.mktemp("contest")
    contest = Contest(root / "results/studies/contest")
    for name, target in ((TUNED, "net"), (FROZEN, "poly")):
        generate(target, 20, 10, 1, root / name)
        parse(root / name, root / "data" / name, seed=1, dataset=name)
    for dataset in (TUNED, FROZEN):
        data = root / "data" / dataset
        for method in METHODS:
            plan = Plan(4, 2, METHODS[:-1] if method == "fusion" else ())
            for number, fold in contest.tuned(dataset, method).folds(FOLDS).items():
                if dataset == FROZEN:
                    freeze(fold, contest.tuned(TUNED, method).folds(FOLDS).values())
                else:
                    tune(method, data, number, plan, 7, fold)
                    select(fold)
                refit(contest, fold, number, data, SEEDS, 7)
            evaluate_refits(contest, method, data, SEEDS, "letor4")
    for method in METHODS:
        score_trials(contest, method, root / "data" / TUNED, "letor4")
    settings = {"datasets": [TUNED], "frozen": [FROZEN], "methods": METHODS}
    settings |= {"trials": 4, "tuners": 2, "seeds": SEEDS, "conventions": dict.fromkeys((TUNED, FROZEN), "letor4")}
    return Inputs(root / "results", root / "data", contest.folder, settings)


@pytest.fixture(scope="module")
def rows(inputs) -> dict:
    """Return the rows of each table by its id."""
    return {item.id: item.rows for section in build(inputs) for item in section.content if hasattr(item, "rows")}


def test_table_of_results(inputs, rows):
    """The table holds means over folds of the runs, and the constant score in its last rows."""
    *methods, last, expected = rows[f"results_{TUNED}"]
    assert {row["method"] for row in methods} == set(METHODS) and last["method"] == "constant score, file order"
    assert expected["method"] == "constant score, expected" and expected[HEADLINE] != last[HEADLINE]
    means = [row[HEADLINE] for row in methods]
    assert means == sorted(means, reverse=True) and last[HEADLINE] < means[0]
    table = pl.read_parquet(Contest(inputs.folder).tuned(TUNED, "regression").per_query_path)
    assert len(table) == 2 * SEEDS * 20
    mean = table.group_by("tuner", "seed", "fold").agg(pl.col(HEADLINE).mean())[HEADLINE].mean()
    row = next(row for row in methods if row["method"] == "regression")
    assert row[HEADLINE] == pytest.approx(mean) and row[f"{HEADLINE} half"] > 0


def test_every_two_methods_are_compared(rows):
    pairs = rows[f"pairs_{TUNED}"]
    assert len(pairs) == 6 and all(row["difference"] >= 0 for row in pairs)
    assert {row["verdict"] for row in pairs} <= {"better", "not separated"}
    matrix = {row["method"]: row for row in rows[f"probabilities_{TUNED}"]}
    for row in pairs:
        assert matrix[row["first"]][row["second"]] == pytest.approx(row["probability"])
        assert matrix[row["second"]][row["first"]] == pytest.approx(1 - row["probability"])


def test_default_tuned_and_one_for_all(inputs, rows):
    """The test values of the choices are recomputed from the files of score-trials."""
    entry = next(each for each in read_entries(inputs, TUNED) if each.method == "ranknet_linear")
    own = read_entry_trials(inputs, entry)
    tested = pl.read_parquet(Contest(inputs.folder).tuned(TUNED, "ranknet_linear").trials_test_path)

    def mean(trial_of):
        picked = [tested.filter(tuner=t, fold=f, trial=n)[HEADLINE].mean() for (t, f), n in trial_of.items()]
        return np.mean(picked)

    row = next(row for row in rows[f"choosing_{TUNED}"] if row["method"] == "ranknet_linear")
    keys = [(tuner, fold) for tuner in (1, 2) for fold in range(1, FOLDS + 1)]
    assert row["default"] == pytest.approx(mean(dict.fromkeys(keys, 0)))
    chosen = {(t, f): entry.choices[f].of(t).trial for t, f in keys}
    assert row["tuned"] == pytest.approx(mean(chosen)) and row["gain"] == pytest.approx(row["tuned"] - row["default"])
    everywhere = {each.tuner: each.trial for each in own.for_all}
    assert row["one"] == pytest.approx(mean({(t, f): everywhere[t] for t, f in keys}))
    assert row["leak"] == pytest.approx(row["one"] - row["tuned"])


def test_the_second_collection(inputs, rows):
    """Each tuner uses one configuration, chosen on the first collection; no trials are run on the second."""
    chosen = rows[f"chosen_{TUNED}"]
    assert f"choosing_{FROZEN}" not in rows and chosen
    own = {entry.method: entry for entry in read_entries(inputs, FROZEN)}
    first = [each.chosen for each in own["regression"].choices.values()]
    assert all(each == first[0] for each in first)
    assert not own["regression"].tuned[1].trials_path.exists()
    (tau,) = rows["agreement"]
    assert tau["low"] <= tau["tau"] <= tau["high"] and (tau["first"], tau["second"]) == (TUNED, FROZEN)


def test_a_run_of_another_choice_is_refused(inputs, tmp_path):
    copied = Contest(shutil.copytree(inputs.folder, tmp_path / "contest"))
    fold = copied.tuned(TUNED, "regression").fold(1)
    said = json.loads(fold.choice_path.read_text())
    said["chosen"][0]["params"]["l2"] = [123.0]
    write_json(fold.choice_path, said)
    with pytest.raises(GradrankError, match=r"tuner1/seed1.*refits\.json"):
        evaluate_refits(copied, "regression", inputs.data / TUNED, SEEDS, "letor4")
