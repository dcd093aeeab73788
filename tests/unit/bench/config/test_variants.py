"""Variants and sweeps of params.yaml: names, values and faults."""

from pathlib import Path

import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.config.variants import expand
from gradrank.training.registry import models

SHIPPED = yaml.safe_load((Path(__file__).parents[4] / "params.yaml").read_text())


def expanded(section):
    faults = []
    found = expand(section, "models.", faults)
    assert not faults
    return found


def study(models, listed="all", studies=None):
    own = {"datasets": ["mq2007"], "models": listed}
    return check(SHIPPED | {"models": models, "run": own, "studies": studies or {}})


def test_a_list_for_a_scalar_parameter_is_a_sweep():
    found = expanded({"lambdamart": {"learning_rate": [0.05, 1e-5], "num_leaves": [7, 15], "rounds": 9}})
    assert list(found) == [
        f"lambdamart-learning_rate={rate}-num_leaves={leaves}" for rate in ("0.05", "1e-05") for leaves in (7, 15)
    ]
    last = found["lambdamart-learning_rate=1e-05-num_leaves=15"]
    assert last.swept == {"learning_rate": 1e-5, "num_leaves": 15}
    assert (last.model, last.params["learning_rate"], last.params["rounds"]) == ("lambdamart", 1e-5, 9)


def test_a_sweep_of_too_many_variants_is_refused_at_once():
    faults = []
    sweep = {"num_leaves": list(range(2, 2000)), "min_data_in_leaf": list(range(1, 500))}
    assert expand({"lambdamart": sweep}, "models.", faults) == {}
    assert len(faults) == 1 and "997,002" in faults[0]


def test_a_list_for_a_list_parameter_is_its_value_and_a_grid_sweeps_it():
    plain = expanded({"ranknet_two_layer": {"hidden": [64, 32]}})
    assert list(plain) == ["ranknet_two_layer"] and plain["ranknet_two_layer"].params["hidden"] == [64, 32]
    swept = expanded({"ranknet_two_layer": {"grid": {"hidden": [[64, 32], [8]]}}})
    assert list(swept) == ["ranknet_two_layer-hidden=64x32", "ranknet_two_layer-hidden=8"]
    assert swept["ranknet_two_layer-hidden=8"].params["hidden"] == [8]


def test_a_named_variant_has_its_model_and_its_own_values():
    found = expanded({"lambdamart": None, "small": {"model": "lambdamart", "num_leaves": 7}})
    assert found["small"].model == "lambdamart"
    different = {k for k, v in found["small"].params.items() if found["lambdamart"].params[k] != v}
    assert different == {"num_leaves"}


def test_imported_scores_are_a_method_that_is_not_trained():
    params = study({"theirs": {"scores": "runs/fold{fold}.txt"}})
    assert (
        "theirs" in params.model_names("synthetic_net") and params.imported("theirs") and not params.members("theirs")
    )
    assert params.models["theirs"].params == {"scores": "runs/fold{fold}.txt"}


def test_a_fusion_of_imported_scores_is_refused():
    models = {"theirs": {"scores": "x"}, "fusion": {"models": ["ranksvm", "theirs"]}}
    with pytest.raises(GradrankError, match=r"models\.fusion: the scores of 'theirs' are imported"):
        study(models)


def test_one_fault_is_named_once_however_many_variants_have_it():
    with pytest.raises(GradrankError) as caught:
        study({"lambdamart": {"learning_rate": [0.1, 0.2], "num_leaves": 1}})
    assert str(caught.value).count("\n  ") == 1


def test_all_means_every_entry_of_models_but_no_variant_of_a_study():
    own = {"term_report": {"datasets": ["mq2007"], "models": ["ranksvm"], "variants": {"deep": {"model": "ranksvm"}}}}
    params = study({"lambdamart": {"num_leaves": [7, 15]}}, studies=own)
    names = params.model_names("synthetic_net")
    assert "lambdamart" not in names and "deep" not in names and "ranksvm" in names
    assert [name for name in names if name.startswith("lambdamart-")] == [
        "lambdamart-num_leaves=15",
        "lambdamart-num_leaves=7",
    ]
    assert params.study_models("term_report") == ["deep", "ranksvm"]
    assert params.model("deep") is models()["ranksvm"]


def test_a_sweep_among_a_fusions_models_stands_for_all_its_variants():
    swept = ("lambdamart-num_leaves=7", "lambdamart-num_leaves=15")
    sweep = {"lambdamart": {"num_leaves": [7, 15]}}
    for models_of in (["ranksvm", "lambdamart"], ["ranksvm", *swept]):
        params = study(sweep | {"combsum": {"models": models_of}}, ["combsum"])
        assert params.members("combsum") == tuple(params.models["combsum"].params["models"])
        assert params.members("combsum") == ("ranksvm", *swept)
    assert set(swept) < set(study(sweep).members("fusion")), "the default members of fusion include lambdamart"


def test_an_entry_or_one_of_its_variants_may_be_listed():
    sweep = {"lambdamart": {"num_leaves": [7, 15]}}
    assert len(study(sweep, ["lambdamart"]).model_names("synthetic_net")) == 2
    assert study(sweep, ["lambdamart-num_leaves=7"]).model_names("synthetic_net") == ["lambdamart-num_leaves=7"]
