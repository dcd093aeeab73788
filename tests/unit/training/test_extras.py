"""Tests of models that need optional extras: a plain install omits them, and installed ones follow the same rules."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config import params
from gradrank.bench.folds.job import train
from gradrank.cli.listings import list_models
from gradrank.training.registry import get_model
from made_rankings import linear_grades

EXTRAS = {"catboost": ("yetirank", "querysoftmax", "yetiloss", "stochasticrank"), "xgboost": ("xgboost_ndcg",)}
NAMES = [name for names in EXTRAS.values() for name in names]


@pytest.mark.parametrize(("extra", "name"), [(extra, name) for extra, names in EXTRAS.items() for name in names])
def test_a_plain_install_says_which_extra_a_model_needs(plain_install, capsys, monkeypatch, tmp_path, extra, name):
    monkeypatch.setenv("COLUMNS", "250")
    with pytest.raises(GradrankError, match=rf"{name}: .*{extra}.*pip install 'gradrank\[{extra}\]'"):
        train(name, tmp_path / "no.parquet", 1, {}, 1, tmp_path / "out")
    list_models(True)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} "))
    assert line.rstrip().endswith(f"pip install 'gradrank[{extra}]'")


def study(listed):
    sizes = {name: {"queries": 10, "documents": 10} for name in ("synthetic_net", "synthetic_poly")}
    chosen = {"datasets": ["mq2007"], "models": listed}
    return params.check({"seed": 1, "run": chosen, "datasets": sizes, "evaluation": {"metrics": ["map"]}})


def test_all_models_of_a_plain_install_are_without_extras(plain_install):
    names = study("all").model_names("synthetic_net")
    assert "lambdamart" in names and not set(NAMES) & set(names)


@pytest.mark.parametrize("name", EXTRAS["catboost"])
def test_catboost_writes_nothing_but_the_model(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cls = get_model(name)
    pytest.importorskip(cls.requires[0])
    data = linear_grades(1, 20, 15)
    model = cls.fit(data, linear_grades(2, 20, 15), cls.Params(rounds=9), 3, lambda step, **values: None)
    assert not list(tmp_path.iterdir())
    model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trees.json"]


def test_xgboost_refuses_gains_that_it_cannot_hold():
    cls, data = get_model("xgboost_ndcg"), linear_grades(1, 20, 15)
    pytest.importorskip("xgboost")
    data.labels[0] = 32
    with pytest.raises(GradrankError, match=r"xgboost_ndcg: grade 32 .*at most 31"):
        cls.fit(data, linear_grades(2, 20, 15), cls.Params(), 0, lambda step, **values: None)
