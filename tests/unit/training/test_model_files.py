"""Edited files of a model, with a valid stamp: each is refused, or gives finite scores if it is another valid model."""

import copy
import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_stamp
from gradrank.data.collection import Collection
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.registry import get_model, missing_packages, models
from gradrank.training.trained_fold import STAMP_KEYS, TrainedFold

QUICK = {"epochs": 2, "rounds": 3, "patience": 3, "passes": 2, "landmarks": 5, "members": 2, "starts": 1}
QUICK |= {"models": ("regression", "listnet"), "width": 4, "heads": 2, "feed_forward": 4, "blocks": 1}
NETS = ("attention_lambdaloss", "dasalc", "tabm", "realmlp", "ft_transformer")  # nets of other shapes, with one `load`
FEATURES = 4
MANY = 10  # with more arrays, half of the edits are made in every second array, and the others in the others
WRONG = (None, "x", [], {}, True, math.nan, math.inf, 10**400, [[[1]]])  # in place of a number, text, list or mapping


def loaders():
    """Return one model per function `load`, so that a new one is tested without a new test, and nets of each shape."""
    by_load = {cls.load.__func__: name for name, cls in reversed(models().items()) if not missing_packages(cls)}
    return sorted({*by_load.values(), *NETS})


@cache
def trained(name):
    rng, parts = np.random.default_rng(1), []
    for _ in range(2):
        x = rng.uniform(size=(48, FEATURES)).astype(np.float32)
        grades = np.digitize(x @ [3.0, 1.0, -1.0, 0.0], [1.0, 2.0]).astype(np.int32)
        parts.append(Collection(x, grades, np.arange(0, 49, 8), np.arange(1, 7)))
    cls = get_model(name)
    params = cls.Params(**{key: value for key, value in QUICK.items() if key in cls.Params.model_fields})
    members = [trained(member) for member in cls.members(params)]
    if members:
        columns = [member.score(parts[1].features, parts[1].offsets) for member in members]
        parts = [replace(parts[1], features=np.stack(columns, 1).astype(np.float32))] * 2
    model = cls.fit(*parts, params, 1, lambda step, **values: None)
    spec = {"model": name, "features": FEATURES, "params": params.model_dump(mode="json")}
    return TrainedFold(model, spec, members)


def saved(name, folder):
    folder.mkdir()
    trained(name).save(FoldFolder(folder))
    return FoldFolder(folder)


def sealed(fold, spec=None):
    spec = fold.spec() if spec is None else spec
    files = [path for path in fold.folder.rglob("*") if path.is_file() and path != fold.spec_path]
    write_stamp(fold.spec_path, {key: value for key, value in spec.items() if key not in STAMP_KEYS}, files)


def name_of(fold):
    return str(fold.spec()["model"])


def outcome(fold):
    """Return "refused" or "scored". All other outcomes are faults."""
    rows = np.random.default_rng(2).uniform(size=(6, FEATURES)).astype(np.float32)
    try:
        scores = TrainedFold.load(fold.folder).score(rows, np.array([0, 6]))
    except GradrankError as error:
        assert str(fold.folder) in str(error) or name_of(fold) in str(error), error
        return "refused"
    assert scores.shape == (6,) and np.isfinite(scores).all()
    return "scored"


def edits(value, path=()):
    """Yield (path, kind, edited value) for each value within a JSON value, for the first two items of each list."""
    for wrong in WRONG:
        if type(wrong) is not type(value) and not (isinstance(value, float) and value != value):
            yield path, f"{wrong!r:.20}", wrong
    if isinstance(value, dict):
        yield path, "an unknown key", value | {"unknown": 1}
        for key in value:
            yield path, f"without {key}", {other: inner for other, inner in value.items() if other != key}
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in inner:
        for at, kind, edited in edits(item, (*path, key)):
            changed = copy.copy(value)
            changed[key] = edited
            yield at, kind, changed


@pytest.mark.parametrize("name", loaders())
def test_an_edited_json_file_is_refused(name, tmp_path):
    fold = saved(name, tmp_path / "fold")
    for path in sorted(fold.model_path.glob("*.json")):
        text = path.read_text()
        for at, kind, edited in edits(json.loads(text)):
            if at[:1] == ("params",):
                continue  # other parameters of the training may be valid
            path.write_text(json.dumps(edited))
            sealed(fold)
            assert outcome(fold) == "refused" or kind == "None", (path.name, at, kind)
        path.write_text(text)
    sealed(fold)
    assert outcome(fold) == "scored"


@pytest.mark.parametrize("name", loaders())
def test_an_edited_specification_is_refused_or_scores(name, tmp_path):
    fold = saved(name, tmp_path / "fold")
    spec = {key: value for key, value in fold.spec().items() if key not in STAMP_KEYS}
    for key in ("model", "features", "names", "params", "columns", "normalise", "missing", "sparse", "convention"):
        for wrong in (*WRONG, -1, 0, 3, 5, 2**70, ["a", "b"], {"method": "global", "mean": [math.nan] * FEATURES}):
            sealed(fold, spec | {key: wrong})
            outcome(fold)
    files = {path.name for path in fold.model_path.iterdir()}
    knows_its_width = not trained(name).members and not files & {"terms.json", "single_feature.json"}
    for number in (FEATURES - 1, FEATURES + 1):
        sealed(fold, spec | {"features": number})
        assert outcome(fold) == "refused" or not knows_its_width


@pytest.mark.parametrize("name", loaders())
def test_edited_arrays_are_refused(name, tmp_path):
    from safetensors.numpy import save

    from gradrank.training.model_files import read_arrays

    fold = saved(name, tmp_path / "fold")
    for path in sorted(fold.model_path.glob("*.safetensors")):
        content = path.read_bytes()
        arrays, metadata = read_arrays(path)
        cases = [(arrays | {"unknown": np.ones(1)}, metadata), ({}, metadata), (arrays, {})]
        for number, (key, array) in enumerate(arrays.items()):
            other = np.float32 if array.dtype == np.float64 else np.float64
            invalid = array.copy()
            invalid.flat[0] = math.nan
            edited = [array[:-1], array[None, None], np.concatenate([array, array]), array.astype(np.int64), invalid]
            edited += [array.astype(other)] if len({item.dtype for item in arrays.values()}) > 1 else []
            if len(arrays) > MANY:
                edited = edited[number % 2 :: 2]
            cases += [(arrays | {key: np.ascontiguousarray(item)}, metadata) for item in edited]
            if key != "log_limit":  # the net is another valid one without it
                cases.append(({other: item for other, item in arrays.items() if other != key}, metadata))
        for key, text in metadata.items():
            if text[:1] == "{":
                described = [edited for _, kind, edited in edits(json.loads(text)) if kind != "None"]
                cases += [(arrays, metadata | {key: json.dumps(edited)}) for edited in described]
        for tensors, described in cases:
            path.write_bytes(save(tensors, metadata=described))
            sealed(fold)
            changed = [key for key in tensors.keys() | arrays.keys() if tensors.get(key) is not arrays.get(key)]
            assert outcome(fold) == "refused" or (not metadata and not described), (changed, described)
        path.write_bytes(content)
    sealed(fold)
    assert outcome(fold) == "scored"
