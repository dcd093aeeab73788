"""The page of a small factorial study that is run here on two collections: two scorers with two losses."""

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.choice_values import evaluate_choices
from gradrank.bench.tuning.choices import write_choices
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.members import tuner_choices
from gradrank.bench.tuning.refits import Refits
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.bench.tuning.variants import add_variant
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.training.model import registered
from gradrank.training.registry import models
from gradrank.training.spaces import space_of
from made_project import SETTINGS
from recomputed import assert_recomputed
from studies.factorial import Settings, cell
from studies.factorial.page import build

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
