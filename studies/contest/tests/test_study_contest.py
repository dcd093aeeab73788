"""The page of a small contest that is run here: two collections, the second without tuning."""

import json

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.choices import write_choices
from gradrank.bench.tuning.divisions import evaluate_divisions
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.members import member_choices, tuner_choices
from gradrank.bench.tuning.refits import Refits, refit, train_members
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from recomputed import assert_recomputed, checked
from studies.contest.page import build
from studies.contest.results import HEADLINE, read_entries

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
    first = tuner_choices(contest, root / "data" / TUNED, "regression", 1, SECONDS)[0]
    out = contest.divisions_path(TUNED, "regression")
    evaluate_divisions("regression", first.params[first.one], root / "data" / TUNED, 3, 7, out)
    settings = {"datasets": [TUNED], "frozen": [FROZEN], "methods": tuple(METHODS), "seeds": SEEDS, "seconds": SECONDS}
    settings |= {"divisions": {"datasets": [TUNED], "methods": ["regression"], "count": 3}}
    settings |= {"conventions": dict.fromkeys((TUNED, FROZEN), "letor4")}
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
        assert sum(shares) == pytest.approx(1) and len(shares) == (4 if row["method"] == "regression" else 3)


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


def test_another_script_recomputes_every_number(inputs):
    """The script reads only files that are in git, and imports neither gradrank nor a package of it."""
    write_study("contest", inputs)
    record = {"params": {"settings": {"seconds": SECONDS}}}
    (inputs.folder / "provenance.json").write_text(json.dumps(record))
    changes = [(f"against_regression_{TUNED}", "p"), (f"whole_{FROZEN}", "gain half"), ("agreement", "low")]
    assert_recomputed("check_contest.py", inputs.folder, changes)
    path = inputs.folder / "choices.json"
    before = path.read_text()
    changed = json.loads(before)
    changed[f"{TUNED}/regression/fold2"]["tuner1"]["timed"] += 1
    path.write_text(json.dumps(changed))
    result = checked("check_contest.py", inputs.folder)
    path.write_text(before)
    assert result.returncode == 1 and "regression, fold 2, tuner 1: choices.json has" in result.stdout
