"""Every fault in params.yaml is named by its path, with the nearest valid name, before any job starts."""

from pathlib import Path

import pytest
import yaml

from gradrank.errors import GradrankError
from gradrank.learning.model import models
from gradrank.pipeline.params import check, load
from gradrank.pipeline.provenance import models_in_force

SHIPPED = Path(__file__).parents[3] / "params.yaml"


def raw(**changes):
    """The shipped file with top-level keys replaced."""
    return yaml.safe_load(SHIPPED.read_text()) | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sed": 1}, "sed: unknown key (did you mean 'seed'?)"),
        ({"seed": "x"}, "seed: Input should be a valid integer"),
        ({"seed": True}, "seed: expected a number or text, not true or false"),
        (
            {"models": {"lambdamart": {"learning_rate": [0.1, True]}}},
            "models.lambdamart.learning_rate: expected a number or text, not true or false",
        ),
        (
            {"models": {"lambdamart": {"num_leaves": 10_000_000}}},
            "less than or equal to 131072 (got 10000000)",
        ),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0 (got -1)"),
        ({"models": {"ranksv": {}}}, "models.ranksv: unknown model (did you mean 'ranksvm'?)"),
        (
            {"models": {"lambdamart": {"learning_rat": 0.1}}},
            "models.lambdamart.learning_rat: unknown key (did you mean 'learning_rate'?)",
        ),
        ({"models": {"lambdamart": {"learning_rate": "fast"}}}, "models.lambdamart.learning_rate: "),
        ({"models": {"lambdamart": {"learning_rate": -1}}}, "(got -1)"),
        ({"models": {"lambdamart": {"learning_rate": float("nan")}}}, "finite number"),
        ({"run": {"datasets": ["mq207"]}}, "unknown data set 'mq207' (did you mean 'mq2007'?)"),
        ({"run": {"datasets": ["mq2007"], "models": ["lamdamart"]}}, "(did you mean 'lambdamart'?)"),
        ({"run": {"datasets": []}}, "run.datasets: "),
        ({"run": {"datasets": ["mq2007"], "seeds": []}}, "run.seeds: Tuple should have at least 1 item"),
        (
            {"run": {"datasets": ["mq2007"], "seeds": [1, -2]}},
            "run.seeds.1: Input should be greater than or equal to 0",
        ),
        ({"run": {"datasets": ["mq2007"], "seeds": [1, 2, 1]}}, "run.seeds: a seed stands in it twice"),
        ({"study": {"datasets": ["mq2007"]}}, "`study` is now called `run`; rename the key"),
        ({"datasets": {}}, "datasets.synthetic_net: missing"),
        ({"datasets": 3}, "datasets: expected a mapping"),
        ({"models": [1]}, "models: expected a mapping"),
    ],
)
def test_fault_is_named_by_its_path(changes, message):
    with pytest.raises(GradrankError) as caught:
        check(raw(**changes))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"synthetic_net": {"queris": 4, "documents": 5}}, "(did you mean 'queries'?)"),
        ({"synthetic_net": {"queries": 1, "documents": 5}}, "greater than or equal to 5 (got 1)"),
        ({"mq2007": {"path": "x"}}, "datasets.mq2007: is in the catalogue"),
        ({"report": {"path": "x"}}, "datasets.report: a rule of the workflow has this name"),
        ({"all": {"path": "x"}}, "datasets.all: a rule of the workflow has this name"),
        ({"arsm": {"path": "x"}}, "datasets.arsm: a study has this name"),
        ({"studies": {"path": "x"}}, "datasets.studies: results/studies holds something else"),
        ({"My Data": {"path": "x"}}, "datasets.My Data: a data set's name"),
        ({"mine": {}}, "datasets.mine: unknown data set"),
        ({"mine": {"path": "/no/such/folder"}}, "datasets.mine.path: /no/such/folder does not exist (got"),
        ({"mine": {"path": "~/no/such"}}, f"datasets.mine.path: {Path.home()}/no/such does not exist"),
        ({"mine": {"path": "~nobody-at-all/x"}}, "write the folder out (got '~nobody-at-all/x')"),
        (
            {"mine": {"path": "/data/{fold}"}},
            "datasets.mine.path: Snakemake takes {...} in a path for a wildcard",
        ),
    ],
)
def test_fault_in_a_data_set(dataset, message):
    with pytest.raises(GradrankError) as caught:
        check(raw(datasets=raw()["datasets"] | dataset))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("evaluation", "message"),
    [
        ({"metrics": ["ndgc@10"]}, "unknown metric 'ndgc@10'"),
        ({"convention": "trec"}, "must contain the primary one, 'trec'"),
        (
            {"convention": "letor"},
            "evaluation.convention: unknown convention 'letor' (did you mean 'letor4'?)",
        ),
        ({"conventions": ["letor4", "treck"]}, "unknown convention 'treck' (did you mean 'trec'?)"),
    ],
)
def test_fault_in_evaluation(evaluation, message):
    with pytest.raises(GradrankError) as caught:
        check(raw(evaluation=raw()["evaluation"] | evaluation))
    assert message in str(caught.value)


def test_all_faults_are_named_at_once():
    with pytest.raises(GradrankError) as caught:
        check(raw(sed=1, seed="x", models={"ranksv": {}}))
    assert str(caught.value).count("\n  ") == 3
    assert str(caught.value).startswith("params.yaml:\n")


@pytest.mark.parametrize(
    "changes",
    [
        {
            "models": {"lambdamart": {"num_leaves": "x"}},
            "run": {"datasets": ["mq2007"], "models": ["lambdamart"]},
        },
        {"models": {"mine": {"model": "lamdamart"}}, "run": {"datasets": ["mq2007"], "models": ["mine"]}},
        {
            "models": {"lambdamart": {"learning_rate": [0.1, 0.2], "num_leaves": 0}},
            "run": {"datasets": ["mq2007"], "models": ["lambdamart-learning_rate=0.1"]},
        },
        {"datasets": raw()["datasets"] | {"mine": {"path": "/no"}}, "run": {"datasets": ["mine"]}},
        {"studies": {"arsm": {"models": ["deep"], "variants": {"deep": {"model": "arms"}}}}},
    ],
)
def test_one_fault_is_one_message(changes):
    with pytest.raises(GradrankError) as caught:
        check(raw(**changes))
    assert str(caught.value).count("\n  ") == 1, caught.value


def test_a_misspelt_variant_of_a_sound_sweep_is_named():
    changes = {
        "models": {"lambdamart": {"num_leaves": [7, 15]}},
        "run": {"datasets": ["mq2007"], "models": ["lambdamart-num_leaves=9"]},
    }
    with pytest.raises(GradrankError, match=r"unknown model .lambdamart-num_leaves=9. .did you mean"):
        check(raw(**changes))


def test_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.svm").touch()
    params = check(raw(datasets=raw()["datasets"] | {"mine": {"path": "~/mine.svm"}}))
    assert params.datasets["mine"].path == tmp_path / "mine.svm"


def test_shipped_file_resolves_every_model():
    params = load(SHIPPED)
    assert {variant.entry for variant in params.models.values()} >= set(models())
    assert params.model_names() == sorted(params.model_names())
    for variant in params.models.values():
        assert set(variant.params) == set(models()[variant.model].Params.model_fields)


def test_only_what_chance_plays_a_part_in_has_several_seeds():
    models = {
        "lambdamart": {"bagging_fraction": 1.0},
        "sampled": {"model": "lambdamart", "bagging_fraction": 0.5},
        "plain_pair": {"model": "fusion", "models": ["ranksvm", "lambdamart"]},
        "mixed_pair": {"model": "fusion", "models": ["ranksvm", "sampled"]},
        "pair_of_pairs": {"model": "fusion", "models": ["plain_pair", "mixed_pair"]},
        "theirs": {"scores": "runs/fold{fold}.txt"},
    }
    several = check(raw(models=models, run={"datasets": ["mq2007"], "models": [*models], "seeds": [7, 3]}))
    alone = dict.fromkeys(["lambdamart", "plain_pair", "theirs", "ranksvm", "regression"], (7,))
    both = dict.fromkeys(["sampled", "mixed_pair", "pair_of_pairs", "ranknet_two_layer"], (7, 3))
    assert {name: several.seeds_of(name) for name in alone | both} == alone | both
    one = check(raw(models=models, seed=5))
    assert one.seeds == (5,) and {one.seeds_of(name) for name in both} == {(5,)}


def test_a_record_names_seeds_only_where_they_are_not_the_one():
    def recorded(seed: int, **run) -> dict:
        params = check(raw(seed=seed, run={"datasets": ["mq2007"]} | run))
        return models_in_force(params, ["ranksvm", "lambdarank"])

    assert recorded(5, seeds=[5]) == recorded(5) and "seeds" not in recorded(5)
    assert recorded(5, seeds=[5, 6])["seeds"] == [5, 6] and recorded(5, seeds=[6])["seeds"] == [6]


def test_a_contest_is_told_each_data_set_s_own_convention(tmp_path):
    contest = {"datasets": ["mq2007"], "methods": ["mart"], "frozen": ["mine"]}
    changes = {"studies": {"contest": contest}}
    changes["datasets"] = raw()["datasets"] | {"mine": {"path": str(tmp_path), "convention": "standard"}}
    found = check(raw(**changes)).study_settings("contest")
    assert found["conventions"] == {"mq2007": "letor4", "mine": "standard"}
