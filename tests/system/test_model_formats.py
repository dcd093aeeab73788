"""Every method, trained by a job and exported to every format by the command, with the check on new documents.

The data are tables with named features. Methods that accept missing values are trained and checked with missing values,
and methods that use weights are trained with weights. New documents include the float32 values at thresholds of trees,
just below them and just above them.
"""

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.bench.folds.job import train
from gradrank.data.layout import FoldOptions
from gradrank.data.parse import parse
from gradrank.data.tables.roles import Columns
from gradrank.export.lookup import find_format, format_names
from gradrank.training.contract.test_models import every_model, quick, random_part, with_gaps
from gradrank.training.contract.test_scoring_forms import near_thresholds
from gradrank.training.registry import get_model
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.trained_fold import TrainedFold

pytest.importorskip("onnx", reason="needs gradrank[onnx]")
pytest.importorskip("onnxruntime", reason="needs gradrank[onnx]")

NAMES = ("bm25", "click rate", "größe", "length", "page_rank")
LETOR = {"regression": {}, "single_feature": {}, "lambdamart": {"rounds": 60}, "mart": {"rounds": 30, "num_leaves": 40}}
LETOR |= {"mcrank": {"rounds": 10}, "prank_quadratic": {"epochs": 2}, "rankboost": {"rounds": 30}}
LETOR |= {"ranknet_kernel": {"landmarks": 100}, "softmax": {"epochs": 2}, "attention_lambdaloss": {"epochs": 1}}


class Exports(NamedTuple):
    """The formats that wrote a model, and per other format the formats that its refusal lists."""

    written: set[str]
    refused: dict[str, set[str]]


def export_to_all(fold: Path, data: Path, out: Path) -> Exports:
    """Export a fold to each format, and check each file on data. A format may refuse, but no check may fail."""
    written, refused = set(), {}
    for name in format_names():
        file = out / name / f"model{find_format(name).extension}"
        options = ["--to", name, "--out", str(file), "--check", str(data)]
        done = CliRunner().invoke(app, ["export-model", str(fold), *options])
        if done.exit_code == 0:
            assert re.fullmatch(r"[\d,]+ documents have the scores .*\n", done.stdout.splitlines(True)[-1])
            written.add(name)
            continue
        assert isinstance(done.exception, GradrankError), (name, done.exception)
        listed = re.search(r"cannot be exported.*(?:another format \((.*)\)|No format)", str(done.exception))
        assert listed, (name, done.exception)
        refused[name] = {*filter(None, (listed[1] or "").split(", "))}
        assert not file.exists()
    return Exports(written, refused)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("formats")


def table(part, path: Path, weighted: bool) -> Path:
    """Write random queries as a table."""
    qids = np.repeat(part.qids, np.diff(part.offsets))
    columns = {"qid": qids, "label": part.labels} | dict(zip(NAMES, part.features.T, strict=True))
    frame = pl.DataFrame(columns | ({"importance": 1.0 + qids % 3} if weighted else {})).fill_nan(None)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    return path


@cache
def stored(root: Path, missing: bool, weighted: bool) -> Path:
    """Return a stored collection with named features."""
    part = random_part(1, sizes=(12,) * 60)
    name = f"{'gaps' if missing else 'complete'}{'-weights' if weighted else ''}"
    file = table(with_gaps(part) if missing else part, root / f"{name}.parquet", weighted)
    columns = Columns(weight="importance") if weighted else Columns()
    parse(file, root / "parquet" / name, 1, name, columns=columns, options=FoldOptions(folds=3))
    return root / "parquet" / name


def new_documents(fold: TrainedFold, missing: bool, path: Path) -> Path:
    """Write documents with values at and next to the thresholds of the trees, in queries of 7 documents."""
    features = random_part(5).features
    with suppress(NoScoringForm):
        features = np.concatenate([features, np.clip(near_thresholds(fold.model.scoring_form(5)), -9.0, 9.0)])
    if missing:
        features[np.random.default_rng(0).random(features.shape) < 0.2] = np.nan
    columns = {"qid": np.arange(len(features)) // 7} | dict(zip(NAMES, features.T, strict=True))
    pl.DataFrame(columns).fill_nan(None).write_parquet(path)
    return path


def trained(root: Path, name: str) -> tuple[Path, bool]:
    """Train a method on the first fold, and return the fold, and whether the data have missing values."""
    cls = get_model(name)
    params = quick(cls)
    members = cls.members(params)
    missing = cls.takes_missing and not members
    data = stored(root, missing, cls.uses_weights is not None and not members)
    results = root / "results" / data.name
    fold = results / "methods" / name / "fold1"
    if not fold.exists():
        for member in members:
            train(member, data, 1, quick(get_model(member)).model_dump(), 1, results / "methods" / member / "fold1")
        train(name, data, 1, params.model_dump(), 1, fold, members=results)
    return fold, missing


@every_model
def test_each_format_writes_the_method_or_says_which_formats_do(cls, root, tmp_path):
    fold, missing = trained(root, cls.name)
    loaded = TrainedFold.load(fold)
    exports = export_to_all(fold, new_documents(loaded, missing, tmp_path / "new.parquet"), tmp_path)
    assert all(listed == exports.written for listed in exports.refused.values()), exports
    try:
        loaded.model.scoring_form(5)
    except NoScoringForm:
        assert not exports.written
    else:
        assert "onnx" in exports.written


@pytest.mark.parametrize("normalise", ["global", "query"])
@pytest.mark.parametrize("name", ["regression", "lambdamart", "prank_quadratic", "softmax", "ranknet_kernel"])
def test_the_normalisation_of_the_data_is_a_part_of_the_file(name, normalise, root, tmp_path):
    file = table(random_part(1, sizes=(12,) * 30), tmp_path / "table.parquet", False)
    parse(file, tmp_path / "stored", 1, "mine", normalise=normalise, options=FoldOptions(folds=3))
    train(name, tmp_path / "stored", 1, quick(get_model(name)).model_dump(), 1, tmp_path / "fold1")
    new = new_documents(TrainedFold.load(tmp_path / "fold1"), False, tmp_path / "new.parquet")
    exports = export_to_all(tmp_path / "fold1", new, tmp_path)
    assert "onnx" in exports.written and all(listed == exports.written for listed in exports.refused.values())


@pytest.mark.parametrize("name", LETOR)
def test_methods_that_are_trained_on_mq2007(name, mq2007, tmp_path):
    train(name, mq2007, 1, LETOR[name], 1, tmp_path / "fold1")
    (test,) = mq2007.glob("../../raw/mq2007/**/Fold1/test.txt")
    new = tmp_path / "new.txt"
    new.write_text("".join(test.read_text(encoding="utf-8").splitlines(True)[:2000]), encoding="utf-8")
    exports = export_to_all(tmp_path / "fold1", new, tmp_path)
    assert "onnx" in exports.written and all(listed == exports.written for listed in exports.refused.values())
