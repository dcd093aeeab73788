"""Models behind extras: left out by a plain install, and under our rules of selection where installed."""

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.inventory import list_models
from gradrank.learning.job import train
from gradrank.learning.model import get_model
from gradrank.pipeline import params

EXTRAS = {
    "catboost": ("yetirank", "querysoftmax", "yetiloss", "stochasticrank"),
    "xgboost": ("xgboost_ndcg",),
}
NAMES = [name for names in EXTRAS.values() for name in names]


def drawn(seed, queries=20, documents=15):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * documents, 5)).astype(np.float32)
    value = (
        features @ [1.0, 0.5, -0.5, 0.0, 0.0]
        + features[:, 0] * features[:, 1]
        + rng.normal(size=len(features))
    )
    labels = np.digitize(value, np.quantile(value, [0.6, 0.9])).astype(np.int32)
    offsets = np.arange(0, len(features) + 1, documents)
    return Collection(features, labels, offsets, np.arange(queries))


@pytest.mark.parametrize(
    ("extra", "name"), [(extra, name) for extra, names in EXTRAS.items() for name in names]
)
def test_a_plain_install_says_which_extra_a_model_needs(
    plain_install, capsys, monkeypatch, tmp_path, extra, name
):
    monkeypatch.setenv("COLUMNS", "250")
    with pytest.raises(GradrankError, match=rf"{name} needs {extra}: pip install 'gradrank\[{extra}\]'"):
        train(name, tmp_path / "no.parquet", 1, {}, 1, tmp_path / "out")
    list_models(None)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} "))
    assert line.rstrip().endswith(f"pip install 'gradrank[{extra}]'")


def study(listed):
    sizes = {name: {"queries": 10, "documents": 10} for name in ("synthetic_net", "synthetic_poly")}
    chosen = {"datasets": ["mq2007"], "models": listed}
    return params.check({"seed": 1, "run": chosen, "datasets": sizes, "evaluation": {"metrics": ["map"]}})


def test_all_models_of_a_plain_install_are_without_extras(plain_install):
    names = study("all").model_names("synthetic_net")
    assert "lambdamart" in names and not set(NAMES) & set(names)


def fitted(name, **changes):
    """The model, its history, and the validation part that chose it."""
    cls, vali, history = get_model(name), drawn(2), {}
    pytest.importorskip(cls.requires[0])

    def callback(step, **values):
        history[step] = values

    model = cls.fit(drawn(1), vali, cls.Params(rounds=40, select_by="map", **changes), 3, callback)
    return model, {step: values["vali_map"] for step, values in history.items()}, vali


@pytest.mark.parametrize("name", EXTRAS["catboost"])
def test_catboost_writes_nothing_but_the_model(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, _, _ = fitted(name)
    assert not list(tmp_path.iterdir())
    model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trees.cbm"]
    described = get_model(name).load(tmp_path).trees.get_metadata()
    assert described["model_guid"] == described["train_finish_time"] == ""  # both differ from run to run


def test_xgboost_refuses_gains_that_it_cannot_hold():
    cls, data = get_model("xgboost_ndcg"), drawn(1)
    pytest.importorskip("xgboost")
    data.labels[0] = 32
    with pytest.raises(GradrankError, match=r"xgboost_ndcg: a grade of 32; .* at most 31"):
        cls.fit(data, drawn(2), cls.Params(), 0, lambda step, **values: None)
