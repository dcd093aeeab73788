"""A failed check leaves no file and replaces none, for every format and every engine."""

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.reader import Batch
from gradrank.export.engines import engine_names
from gradrank.export.export import checked_export
from gradrank.export.lookup import find_format, format_names
from gradrank.training.trained_fold import TrainedFold

NEEDED = {"onnx": "onnxruntime", "safetensors": "safetensors"}
METHODS = {"lambdamart": {"rounds": 5}, "regression": {}}


class OtherScores(TrainedFold):
    """A fold in which the last document has another score than in the model."""

    def score(self, features, offsets):
        scores = super().score(features, offsets)
        scores[-1] += 1.0
        return scores


@pytest.fixture(scope="module")
def folds():
    """Folds with other scores than their models. key: the method."""
    features, grades, qid = rows()
    fitted = {method: gradrank.Ranker(method, random_state=1, **given) for method, given in METHODS.items()}
    trained = {method: ranker.fit(features, grades, qid=qid).fold_ for method, ranker in fitted.items()}
    return {method: OtherScores(fold.model, fold.spec) for method, fold in trained.items()}


def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 3)).astype(np.float32)
    return (
        features,
        np.clip(np.round(features[:, 0] + rng.normal(size=300) + 1), 0, 3).astype(int),
        np.repeat(np.arange(30), 10),
    )


def batch() -> Batch:
    features, _, _ = rows()
    return Batch(features, np.arange(0, 301, 10), np.arange(30), pl.Series([None] * 300, dtype=pl.String))


def check_that_nothing_is_written(fold, to, out, engine=None):
    with pytest.raises(GradrankError, match=r"query 29, document 10 has the score"):
        checked_export(fold, to, out, engine=engine, rows=[batch()])
    assert not [*out.parent.iterdir()]
    out.write_text("earlier\n")
    with pytest.raises(GradrankError, match=r"query 29, document 10 has the score"):
        checked_export(fold, to, out, engine=engine, rows=[batch()])
    assert [path.read_text() for path in out.parent.iterdir()] == ["earlier\n"]


@pytest.mark.parametrize("to", format_names())
def test_a_failed_check_of_a_format_leaves_no_file(to, folds, tmp_path):
    if to in NEEDED:
        pytest.importorskip(NEEDED[to])
    method = "lambdamart" if to in ("lightgbm", "xgboost-json") else "regression"
    check_that_nothing_is_written(folds[method], to, tmp_path / f"model{find_format(to).extension}")


ENGINES = [*engine_names(), "opensearch@2.19", "opensearch@3.3", "opensearch@3.6", "solr@9.2"]


@pytest.mark.parametrize(
    ("engine", "method"),
    [(engine, method) for engine in ENGINES for method in METHODS if (engine, method) != ("vespa", "regression")],
)
def test_a_failed_check_of_an_engine_leaves_no_file(engine, method, folds, tmp_path):
    check_that_nothing_is_written(folds[method], None, tmp_path / "model.json", engine)
