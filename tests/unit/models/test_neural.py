"""The family of neural rankers: its members' losses, settings and spaces, and how these combine."""

from inspect import getsource, signature

import numpy as np
import pytest
from scipy.special import expit

from gradrank.training import losses
from gradrank.training.nets.neural import NeuralRanker
from gradrank.training.registry import find_loss, loss_names, models
from made_rankings import linear_grades, silent

MEMBERS = [cls for cls in models().values() if issubclass(cls, NeuralRanker)]
every_member = pytest.mark.parametrize("cls", MEMBERS, ids=lambda cls: cls.name)
NOT_THE_PAPER_S = {("lambdarank", "normalize")}  # chosen on validation, as its source says


def own_loss(cls):
    return cls.Params.model_fields["loss"].default


def fitted(name, **changes):
    cls = models()[name]
    return cls.fit(linear_grades(1, 12, 8), linear_grades(2, 12, 8), cls.Params(epochs=2, **changes), 3, silent)


def scores(name, **changes):
    data = linear_grades(4, 12, 8)
    return fitted(name, **changes).score(data.features, data.offsets)


@every_member
def test_a_member_has_every_setting_of_its_loss_with_the_loss_s_default(cls):
    for name, setting in signature(find_loss(own_loss(cls))).parameters.items():
        if name in ("scores", "labels", "offsets", "rng", "ties", "gains"):
            continue
        assert name in cls.Params.model_fields, name
        if (cls.name, name) not in NOT_THE_PAPER_S:
            assert cls.Params.model_fields[name].default == setting.default, name


def test_every_loss_has_a_name_of_its_own_but_those_whose_papers_train_otherwise():
    assert set(loss_names()) - {own_loss(cls) for cls in MEMBERS} == {"frank", "smoothrank", "squared_error", "xe_ndcg"}


@pytest.mark.parametrize("loss", loss_names())
@pytest.mark.parametrize("scorer", ["linear", "net", "attention", "dasalc", "tabm", "realmlp", "ft_transformer"])
def test_every_loss_trains_every_scorer(loss, scorer):
    found = scores("softmax", loss=loss, scorer=scorer, hidden=(8,), width=8, submodels=3)
    assert np.isfinite(found).all() and len(set(found)) > 1


def test_another_loss_has_its_own_settings():
    """Not this model's, which may mean another thing there: ListNet's temperature is that of the grades."""
    assert np.array_equal(scores("approx_ndcg", loss="listnet", temperature=3.0), scores("approx_ndcg", loss="listnet"))
    assert not np.array_equal(scores("approx_ndcg", temperature=3.0), scores("approx_ndcg"))


def test_several_outputs_are_questions_whose_answers_add_up(tmp_path):
    data, model = linear_grades(4, 12, 8), fitted("ordinal")
    outputs = model.net.outputs(data.features)
    assert outputs.shape == (data.rows, 2)
    np.testing.assert_allclose(model.score(data.features, data.offsets), expit(outputs).sum(axis=1), rtol=1e-6)
    model.save(tmp_path)
    again = type(model).load(tmp_path)
    np.testing.assert_array_equal(again.score(data.features, data.offsets), model.score(data.features, data.offsets))


def test_a_new_loss_is_one_file(tmp_path, monkeypatch):
    """Found by its name, and trained."""
    code = getsource(find_loss("squared_error").__wrapped__).replace("def squared_error", "def mine")
    (tmp_path / "mine.py").write_text(f"import numpy as np\n\nfrom gradrank.training.loss import loss\n\n\n{code}")
    monkeypatch.setattr(losses, "__path__", [*losses.__path__, str(tmp_path)])
    assert "mine" in loss_names()
    np.testing.assert_array_equal(scores("softmax", loss="mine"), scores("softmax", loss="squared_error"))
