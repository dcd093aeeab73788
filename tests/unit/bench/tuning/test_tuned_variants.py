"""Variants of registered models: fixed parameters leave the search space, and a scorer brings its own parameters."""

import json

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.tuning.variants import add_variant, variant_class, variant_modules
from gradrank.training.model import registered
from gradrank.training.registry import get_model, models
from gradrank.training.spaces import configuration, space_of, tuning_modules


def draws(cls, count=12):
    return [configuration(cls, 1, "mq2007", 1, number) for number in range(count)]


def test_fixed_parameters_are_in_every_configuration_and_not_drawn():
    cls = variant_class("small", {"model": "lambdamart", "num_leaves": 5, "rounds": 50})
    assert "num_leaves" not in space_of(cls) and "learning_rate" in space_of(cls)
    assert all(drawn["num_leaves"] == 5 and drawn["rounds"] == 50 for drawn in draws(cls))
    assert draws(cls) != draws(get_model("lambdamart")) and cls.__module__ == get_model("lambdamart").__module__
    assert draws(cls)[1:] != draws(variant_class("other", {"model": "lambdamart", "num_leaves": 5, "rounds": 50}))[1:]


def test_a_scorer_brings_its_parameters_and_a_loss_keeps_its_own():
    net, linear, attention = (
        variant_class(scorer, {"model": "approx_ndcg", "scorer": scorer}) for scorer in ("net", "linear", "attention")
    )
    assert set(space_of(net)) == set(space_of(get_model("approx_ndcg")))
    assert set(space_of(linear)) == {"learning_rate", "weight_decay", "temperature"}
    assert {"width", "heads", "blocks", "temperature"} < set(space_of(attention))
    assert not {"hidden", "mu", "weighting"} & set(space_of(attention)), "neither of nets nor of another loss"
    first = get_model("approx_ndcg").Params(**draws(attention)[0])
    published = get_model("attention_lambdaloss").Params()
    assert (first.dropout, first.epochs, first.loss) == (published.dropout, published.epochs, "approx_ndcg")
    for cls in (net, linear, attention):
        assert all(get_model("approx_ndcg").Params(**drawn).scorer == cls.name for drawn in draws(cls))


def test_every_scorer_and_loss_counts_for_the_digest_of_the_code():
    cells = [
        variant_class(f"{scorer}-{loss}", {"model": "softmax", "loss": loss, "scorer": scorer})
        for scorer in ("net", "attention")
        for loss in ("softmax", "ranknet")
    ]
    assert len({tuning_modules(cell) for cell in cells}) == 4
    assert "gradrank.models.tabm" in variant_modules({"model": "softmax", "scorer": "tabm"}), "it has the search space"
    assert len(variant_modules({"model": "softmax", "scorer": "linear"})) == 1


def test_a_variant_is_registered_for_the_process_alone():
    names = set(models())
    try:
        add_variant("cell", json.dumps({"model": "softmax", "loss": "xe_ndcg"}))
        assert get_model("cell").name == "cell" and set(models()) == names
        for taken in ("cell", "softmax"):
            with pytest.raises(GradrankError, match=r"--variant: .*Fix: "):
                add_variant(taken, json.dumps({"model": "softmax"}))
    finally:
        registered.pop("cell", None)
    with pytest.raises(GradrankError, match=r"cell\.epoch: unknown key.*Fix: "):
        variant_class("cell", {"model": "softmax", "epoch": 3})
