"""The contract of a model, tested for every registered model on small generated data.

To test your own model, registered as `my_model` in the file models/my_model.py, run this in the folder that contains
models/:

    pip install pytest
    pytest --pyargs gradrank.training.contract.test_models -k my_model

A new model file is found without any other change. In a checkout of gradrank, run `pytest tests/contract -k my_model`.
The tests of a model are skipped if a package in its `requires` is not installed. The module test_model_weights tests
weights and is run in the same way.

The contract has these parts:
- Equal arguments of `fit` give models that are saved with equal bytes, with any number of threads. No saved file is a
  pickle.
- A loaded model has the scores of the saved model.
- The scores of a query depend neither on other queries nor on the order of its documents. Equal documents have equal
  scores.
- The callback reports validation measures, and the model with the best one is kept.
- Training changes no data and opens no file of the test part.
- Unusual data and extreme parameters give a model or a clear error.
- Every parameter has a source, and listing the models imports no large package.
"""

import math
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import pytest
from pydantic import ValidationError

from gradrank.base.errors import GradrankError
from gradrank.base.extensions import use_own_models
from gradrank.base.processor import use_threads
from gradrank.bench.folds.job import train
from gradrank.data.collection import Collection
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.training.model import Model
from gradrank.training.registry import missing_packages, models
from gradrank.training.selection import measure

use_own_models()  # so that the models in models/ of the working folder are tested, too

# Values that are sufficient for small data, for models that have a parameter of this name.
QUICK = {"epochs": 15, "rounds": 30, "patience": 30, "passes": 3, "landmarks": 50, "members": 5}
QUICK |= {"models": ("regression", "listnet")}  # members of fusion models
# Sizes that are sufficient for small data, for models whose default scorer is large. key: name of the scorer
QUICK_SCORERS = {
    "tabm": {"hidden": (32, 32), "submodels": 4},
    "realmlp": {"hidden": (64, 64)},
    "ft_transformer": {"width": 16, "heads": 2, "feed_forward": 16, "blocks": 2},
}


def case(cls, *values):
    """Return the parameters of one test, which is skipped if packages of the model are not installed."""
    missing = missing_packages(cls)
    skip = pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")
    return pytest.param(cls, *values, id="-".join([cls.name, *map(str, values)]), marks=skip)


every_model = pytest.mark.parametrize("cls", [case(cls) for cls in models().values()])


def training_code(cls, method="fit"):
    """Return the class that defines a method of a model of gradrank. For any other model: the model itself."""
    if not cls.__module__.startswith("gradrank.models."):
        return cls
    return next(base for base in cls.__mro__ if method in vars(base))


def first_of_each(cases):
    """Return the first value for each key. cases: pairs of a key and a value."""
    return list(dict(reversed(list(cases))).values())[::-1]


def first_models(key):
    """Return the first model for each key of a model, without those whose packages are not installed."""
    return first_of_each((key(cls), case(cls)) for cls in models().values() if not missing_packages(cls))


# One model for each training function: models with other losses, forms or defaults share the code that is tested.
every_training = pytest.mark.parametrize("cls", first_models(training_code))
# One model for each training function, scorer and definition of the scoring form.
every_form = pytest.mark.parametrize(
    "cls",
    first_models(
        lambda cls: (
            training_code(cls),
            training_code(cls, "scoring_form"),
            getattr(cls.Params(), "scorer", None),
            getattr(cls.Params(), "form", None),
        )
    ),
)


def random_part(seed, sizes=(12,) * 30, grades=3):
    """Return random queries whose grades are quantiles of a noisy linear function of five features.

    sizes: documents per query. grades: number of different grades. The first feature has the largest weight.
    """
    rng = np.random.default_rng(seed)
    features = rng.uniform(0.0, 1.0, (sum(sizes), 5)).astype(np.float32)
    value = features @ [4.0, 2.0, -1.0, 0.5, 0.0] + rng.normal(0.0, 0.3, len(features))
    labels = np.digitize(value, np.quantile(value, np.linspace(0.4, 0.95, grades - 1)))
    return collection(features, labels, sizes)


def collection(features, labels, sizes):
    return Collection(
        np.ascontiguousarray(features, dtype=np.float32),
        np.asarray(labels, dtype=np.int32),
        np.r_[0, np.cumsum(sizes)].astype(np.int64),
        np.arange(1, len(sizes) + 1, dtype=np.int64),
    )


def quick(cls, **changes):
    """Return parameters for small data: few steps, and both ends and the middle of each grid."""
    defaults = dict(cls.Params())
    grids = {
        name: (grid[0], grid[len(grid) // 2], grid[-1])
        for name, grid in defaults.items()
        if isinstance(grid, tuple) and len(grid) > 3 and isinstance(grid[0], float)
    }
    sizes = QUICK_SCORERS.get(defaults.get("scorer", ""), {})
    return cls.Params(**{k: v for k, v in QUICK.items() if k in defaults} | grids | sizes | changes)


@pytest.mark.parametrize("cls", [case(cls) for cls in models().values() if cls.takes_missing])
def test_a_model_that_takes_missing_values_ranks_with_them(cls):
    train, vali, test = (with_gaps(random_part(seed)) for seed in (1, 2, 3))
    scores = fit(cls, train, vali).score(test.features, test.offsets)
    assert np.isfinite(scores).all() and measure("ndcg@10", scores, test.labels, test.offsets) > 0.6


def with_gaps(part):
    """Return the documents of `part` without every fifth value of the second to fourth feature."""
    features = part.features.copy()
    features[:, 1:4].flat[::5] = np.nan
    return collection(features, part.labels, np.diff(part.offsets))


def fit(cls, train, vali, seed=1, callback=lambda step, **values: None, **changes):
    return cls.fit(train, vali, quick(cls, **changes), seed, callback)


def score(model, part):
    scores = model.score(part.features, part.offsets)
    assert scores.shape == (part.rows,) and scores.dtype == np.float64
    assert np.isfinite(scores).all()
    return scores


def saved(model, folder):
    folder.mkdir()
    model.save(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Trained(NamedTuple):
    """A trained model, its two parts after the training, and the steps and values that it reported."""

    model: Model
    train: Collection
    vali: Collection
    history: list[tuple[int, dict[str, float]]]


@cache
def trained(cls, time=1):
    """Return a model trained on ordinary data, cached for all tests. time: 2 trains once more with the same seed."""
    train, vali, history = random_part(1), random_part(2), []
    model = fit(cls, train, vali, callback=lambda step, **values: history.append((step, values)))
    return Trained(model, train, vali, history)


def fitted(cls):
    return trained(cls).model


@every_model
def test_beats_every_one_of_200_random_orders(cls):
    test = random_part(3)
    rng = np.random.default_rng(0)
    chance = max(measure("ndcg@10", rng.normal(size=test.rows), test.labels, test.offsets) for _ in range(200))
    assert measure("ndcg@10", score(fitted(cls), test), test.labels, test.offsets) > chance


@every_model
def test_equal_seeds_give_equal_bytes_with_any_number_of_threads(cls, tmp_path):
    first = saved(fitted(cls), tmp_path / "first")
    with use_threads(2):
        assert first and saved(trained(cls, 2).model, tmp_path / "again") == first


@every_model
def test_another_seed_gives_other_scores_where_the_model_says_so(cls):
    """The features have few values, because some models break ties between equal values at random."""
    parts = [random_part(seed) for seed in (1, 2, 3)]
    for part in parts:
        part.features[:] = np.round(part.features, 1)
    train, vali, test = parts
    first, second = (score(fit(cls, train, vali, seed=seed), test) for seed in (1, 2))
    differs = not np.array_equal(first, second)
    assert differs == cls.uses_seed(quick(cls)), f"uses_seed(params) of {cls.__name__} should say {differs}"


@every_model
def test_saved_model_scores_alike(cls, tmp_path):
    test = random_part(3)
    saved(fitted(cls), tmp_path / "model")
    np.testing.assert_array_equal(score(cls.load(tmp_path / "model"), test), score(fitted(cls), test))


@every_model
def test_nothing_saved_is_pickled(cls, tmp_path):
    for name, content in saved(fitted(cls), tmp_path / "model").items():
        assert name.endswith((".safetensors", ".json", ".txt")), name
        assert not content.startswith((b"\x80\x04", b"\x80\x05", b"PK")), name


@every_model
def test_the_model_with_the_best_validation_measure_is_kept(cls):
    history, vali = trained(cls).history, trained(cls).vali
    if "select_by" in cls.Params.model_fields:
        name = quick(cls).select_by
        best = max(values[f"vali_{name}"] for _, values in history)
        assert measure(name, score(fitted(cls), vali), vali.labels, vali.offsets) == best


@every_model
def test_scores_do_not_depend_on_other_queries(cls):
    test = random_part(3, sizes=(12, 1, 7))
    together = score(fitted(cls), test)
    for a, b in zip(test.offsets[:-1], test.offsets[1:], strict=True):
        alone = fitted(cls).score(test.features[a:b], np.array([0, b - a]))
        np.testing.assert_allclose(alone, together[a:b], rtol=1e-6, atol=1e-9)


@every_model
def test_scores_without_query_ids_are_those_with_query_ids_unless_the_model_scores_whole_queries(cls):
    test = random_part(3, sizes=(12, 1, 7, 20))
    without = fitted(cls).score(test.features, np.array([0, test.rows]))
    if not fitted(cls).scores_whole_queries:
        np.testing.assert_allclose(without, score(fitted(cls), test), rtol=1e-6, atol=1e-9)
    else:
        assert not np.allclose(without, score(fitted(cls), test), rtol=1e-3)


@every_model
def test_scores_follow_the_documents(cls):
    test = random_part(3, sizes=(12, 1, 7, 20))
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [a + rng.permutation(b - a) for a, b in zip(test.offsets[:-1], test.offsets[1:], strict=True)]
    )
    moved = fitted(cls).score(test.features[rows], test.offsets)
    np.testing.assert_allclose(moved, score(fitted(cls), test)[rows], rtol=1e-9, atol=1e-12)


@every_model
def test_equal_documents_of_a_query_tie(cls):
    test = random_part(3, sizes=(9, 14))
    test.features[[4, 8]] = test.features[1]
    test.features[[12, 22]] = test.features[10]
    scores = score(fitted(cls), test)
    assert scores[1] == scores[4] == scores[8] and scores[10] == scores[12] == scores[22]


@every_model
def test_training_leaves_its_data_alone(cls):
    for part, untouched in ((trained(cls).train, random_part(1)), (trained(cls).vali, random_part(2))):
        np.testing.assert_array_equal(part.features, untouched.features)
        np.testing.assert_array_equal(part.labels, untouched.labels)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a stored collection and its pairs, laid out as in a run."""
    folder = tmp_path_factory.mktemp("project")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "data/parquet/synthetic_net", seed=1, dataset="synthetic_net")
    write_pairs(folder / "data/parquet/synthetic_net", folder / "data/pairs/synthetic_net")
    return folder


@every_model
def test_a_job_of_it_opens_no_file_of_the_test_part(cls, project, tmp_path, monkeypatch):
    """The job raises an error if a model opens one: see gradrank.bench.folds.test_part_guard."""
    monkeypatch.chdir(project)
    data, stored_pairs, results = Path("data/parquet/synthetic_net"), Path("data/pairs/synthetic_net"), Path("results")
    for member in cls.members(quick(cls)):
        if not (results / "methods" / member).exists():
            train(member, data, 1, {}, 1, results / "methods" / member / "fold1")
    params = quick(cls).model_dump(mode="json")
    train(cls.name, data, 1, params, 1, tmp_path / "fold1", stored_pairs, results)
    assert (tmp_path / "fold1/spec.json").is_file()


@every_model
def test_history_counts_steps_and_holds_validation_measures(cls):
    steps = [step for step, _ in trained(cls).history]
    assert steps and steps == sorted(set(steps))
    for _, values in trained(cls).history:
        assert any(name.startswith("vali_") for name in values)
        assert all(math.isfinite(value) for value in values.values())


AWKWARD = {
    "one-document queries": {"sizes": ((1, 12, 1, 12, 12, 1, 12, 12), (1, 12, 1, 12))},
    "queries without relevant documents": {"equal": (slice(36), slice(12, 24))},
    "one training query": {"sizes": ((12,), (12,) * 4)},
    "a constant feature": {"scale": [1, 1, 1, 0, 1], "shift": [0, 0, 0, 7, 0]},
    "grades up to 30": {"grades": 31},
    "features of very different size": {"scale": [1, 1e6, 1e-6, 1, 1]},
    "validation without relevant documents": {"equal": (slice(0), slice(None))},
}
# All of them in one collection, with the constant feature of another size.
AWKWARD_TOGETHER = {
    "sizes": ((1, 12, 1, 12, 12, 1, 12, 12), (1, 12, 1, 12)),
    "equal": (slice(26), slice(1, 13)),
    "scale": [1, 1e6, 1e-6, 0, 1],
    "shift": [0, 0, 0, 7, 0],
    "grades": 31,
}
HOPELESS = {
    "all grades equal": {"equal": (slice(None), slice(0)), "grade": 1},
    "all features constant": {"scale": 0, "shift": 0.5},
}


def changed(sizes=((12,) * 8, (12,) * 4), grades=3, scale=1, shift=0, equal=(slice(0), slice(0)), grade=0):
    """Return a training and a validation part with scaled and shifted features.

    sizes: documents per query of each part. equal: the documents of each part whose grade becomes `grade`.
    """
    parts = [random_part(seed, of_part, grades) for seed, of_part in zip((4, 5), sizes, strict=True)]
    for part, rows in zip(parts, equal, strict=True):
        part.features[:] = part.features * scale + shift
        part.labels[rows] = grade
    return parts


def check_that_it_learns_from(cls, awkward):
    train, vali = changed(**awkward)
    model = fit(cls, train, vali)
    score(model, vali)
    score(model, collection(vali.features[:1], vali.labels[:1], (1,)))


@every_model
def test_awkward_data_is_learned_from(cls):
    check_that_it_learns_from(cls, AWKWARD_TOGETHER)


@every_training
@pytest.mark.parametrize("awkward", AWKWARD.values(), ids=AWKWARD)
def test_each_kind_of_awkward_data_is_learned_from(cls, awkward):
    check_that_it_learns_from(cls, awkward)


@every_training
@pytest.mark.parametrize("hopeless", HOPELESS.values(), ids=HOPELESS)
def test_hopeless_data_is_refused_or_harmless(cls, hopeless):
    train, vali = changed(**hopeless)
    try:
        score(fit(cls, train, vali), vali)
    except GradrankError as error:
        assert cls.name in str(error)  # the model, because a log can have messages of many jobs


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_training_refuses_features_that_are_not_finite(value):
    """Each training job checks its parts in this way before the model gets them."""
    part = random_part(1)
    part.check("as drawn")
    part.features[17, 2] = value
    with pytest.raises(GradrankError, match=r"here.*feature 3.*document 18"):
        part.check("here")


def ends(info):
    """Yield both ends of the range of a numeric parameter, and 1e6 for a float without an upper end."""
    number = type(info.default)
    if number not in (int, float):
        return
    bounds = {k: getattr(m, k) for m in info.metadata for k in ("ge", "gt", "le", "lt") if hasattr(m, k)}
    inside = 1 if number is int else 1e-9
    for key, shift in (("ge", 0), ("gt", inside), ("le", 0), ("lt", -inside)):
        if key in bounds:
            yield number(bounds[key] + shift)
    if number is float and not {"le", "lt"} & bounds.keys():
        yield 1e6


def definition(cls, field):
    """Return the class that defines a parameter. For a model that is not of gradrank: the model itself."""
    if not cls.__module__.startswith("gradrank.models."):
        return cls
    return next(base for base in cls.Params.__mro__ if field in vars(base).get("__annotations__", {}))


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    first_of_each(
        ((definition(cls, field), field, value), case(cls, field, value))
        for cls in models().values()
        for field, info in cls.Params.model_fields.items()
        for value in ends(info)
        if not missing_packages(cls)
    ),
)
def test_extreme_parameters_train_or_say_why_not(cls, field, value):
    train, vali = random_part(4, sizes=(8,) * 6), random_part(5, sizes=(8,) * 3)
    try:
        score(fit(cls, train, vali, **{field: value}), vali)
    except (GradrankError, ValidationError) as error:
        assert field in str(error)


@every_model
def test_parameters_have_sources_and_survive_json(cls):
    assert cls.summary and len(cls.summary) < 120
    for field, info in cls.Params.model_fields.items():
        assert info.description, f"{field} has no source"
    defaults = cls.Params()
    assert cls.Params.model_validate_json(defaults.model_dump_json()) == defaults
    with pytest.raises(ValidationError):
        cls.Params(no_such_parameter=1)


@every_model
def test_grids_refuse_negative_values(cls):
    for field, info in cls.Params.model_fields.items():
        if isinstance(info.default, tuple) and info.default and isinstance(info.default[0], int | float):
            with pytest.raises(ValidationError):
                cls.Params(**{field: [-1]})


def test_listing_the_models_imports_nothing_heavy():
    heavy = "{'torch', 'numba', 'lightgbm', 'sklearn', 'scipy', 'polars', 'catboost', 'xgboost'}"
    code = "import sys; from gradrank.training.registry import models; models(); "
    code += f"print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
