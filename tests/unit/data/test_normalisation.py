"""Normalisation of features, compared with plain loops, and its effect on reading, training and prediction."""

import itertools
import json
import math

import numpy as np
import polars as pl
import pytest

from gradrank.bench.folds.job import train
from gradrank.data.normalisation import BLOCK_ROWS, Normaliser
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from gradrank.ranker.predict import predict
from gradrank.training.trained_fold import TrainedFold

SIZES = (1, 5, 12, 3, 1, 40)
OFFSETS = np.r_[0, np.cumsum(SIZES)]


def features(seed=0, rows=int(OFFSETS[-1])):
    """Return features of different scale, a constant one, one with missing values and one that is always missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 6)) * [1.0, 1e30, 1e-30, 1.0, 1.0, 1.0] + [0.0, 0.0, 0.0, 0.1, 5.0, 0.0]
    x[:, 3] = 0.1
    x[rng.random(rows) < 0.3, 4] = np.nan
    x[:, 5] = np.nan
    return x.astype(np.float32)


def min_max(x, offsets):
    """Return LETOR's query-level normalisation, one value at a time."""
    out = np.empty_like(x)
    for a, b in itertools.pairwise(offsets):
        for j in range(x.shape[1]):
            present = [float(value) for value in x[a:b, j] if not math.isnan(value)]
            for i in range(a, b):
                value = float(x[i, j])
                low, high = (min(present), max(present)) if present else (0.0, 0.0)
                is_constant = low == high and not math.isnan(value)
                out[i, j] = 0.0 if is_constant else (value - low) / (high - low) if present else math.nan
    return out


def test_query_is_min_max_within_each_query():
    x = features()
    normalised = Normaliser("query")(x, OFFSETS)
    np.testing.assert_array_equal(normalised, min_max(x, OFFSETS))
    assert normalised.dtype == np.float32
    assert np.nanmin(normalised) == 0.0 and np.nanmax(normalised) == 1.0
    np.testing.assert_array_equal(np.isnan(normalised), np.isnan(x))


def test_global_is_the_z_score_of_the_training_part():
    x, new = features(), features(1)
    normaliser = Normaliser.of_training_part(x)
    for j in range(6):
        present = [float(value) for value in x[:, j] if not math.isnan(value)]
        varies = bool(present) and min(present) < max(present)
        mean = math.fsum(present) / len(present) if varies else 0.0
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in present) / len(present)) if varies else 1.0
        expected = (
            (new[:, j].astype(np.float64) - mean) / deviation if varies else np.where(np.isnan(new[:, j]), np.nan, 0.0)
        )
        np.testing.assert_allclose(normaliser(new, OFFSETS)[:, j], expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["query", "global"])
def test_values_do_not_depend_on_blocks_of_rows_or_on_writing_in_place(method):
    x = features(rows=3 * BLOCK_ROWS)
    offsets = np.r_[0, np.sort(np.random.default_rng(0).choice(np.arange(1, len(x)), 5000, replace=False)), len(x)]
    normaliser = Normaliser.of_training_part(x) if method == "global" else Normaliser("query")
    whole = normaliser(x, offsets)
    pieces = [normaliser(x[a:b], np.array([0, b - a])) for a, b in itertools.pairwise(offsets)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))
    assert normaliser(x, offsets, out=x) is x
    np.testing.assert_array_equal(x, whole)


def test_extreme_values_stay_finite():
    x = np.array([[-3e38], [3e38], [0.0]], np.float32)
    np.testing.assert_array_equal(Normaliser("query")(x, np.array([0, 3]))[:, 0], np.float32([0.0, 1.0, 0.5]))
    tiny = Normaliser.of_training_part(np.array([[0.0], [1e-30]], np.float32))
    assert np.isfinite(tiny(x, np.array([0, 3]))).all()


@pytest.mark.parametrize("method", ["query", "global"])
def test_the_entry_of_spec_json_gives_the_same_bits(method):
    normaliser = Normaliser.of_training_part(features()) if method == "global" else Normaliser("query")
    again = Normaliser.of(json.loads(json.dumps(normaliser.entry())), 6)
    np.testing.assert_array_equal(again(features(1), OFFSETS), normaliser(features(1), OFFSETS))


@pytest.mark.parametrize(
    "entry",
    [{}, {"method": "none"}, {"method": "query", "mean": [0]}, {"method": "global", "mean": [0], "deviation": [1]}],
)
def test_a_malformed_entry_is_refused(entry):
    with pytest.raises((TypeError, ValueError)):
        Normaliser.of(entry, 6)


def table(seed=0, queries=25):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(queries), 6)
    x = rng.normal(size=(len(qid), 4)) * [1.0, 100.0, 1e-3, 0.0] + rng.normal(size=(queries, 1))[qid]
    return pl.DataFrame(
        {"qid": qid, "label": np.digitize(x[:, 0] + x[:, 1] / 100, [0, 1]), **dict(zip("abcd", x.T, strict=True))}
    )


@pytest.fixture(params=["query", "global"])
def stored(request, tmp_path):
    table().write_csv(tmp_path / "data.csv")
    parse(tmp_path / "data.csv", tmp_path / "stored", seed=1, dataset="mine", normalise=request.param)
    return StoredCollection.open(tmp_path / "stored")


@pytest.mark.parametrize("model", ["regression", "lambdamart", "combsum"])
def test_predicting_the_rows_of_the_test_part_gives_the_scores_of_the_fold(stored, model, tmp_path):
    results = tmp_path / "results"
    params = {"models": ["regression", "lambdamart"]} if model == "combsum" else {}
    for name in params.get("models", ()):
        train(name, stored.path, 2, {}, 1, results / "methods" / name / "fold2")
    train(model, stored.path, 2, params, 1, results / "methods" / model / "fold2", members=results)
    fold = results / "methods" / model / "fold2"
    scores = pl.read_parquet(fold / "scores.parquet").filter(split="test")["score"].to_list()
    part = stored.read(stored.fold(2)["test"])
    rows = table().filter(pl.col("qid").is_in(part.qids.tolist()))
    assert rows["a"].cast(pl.Float32).to_list() == part.features[:, 0].tolist()
    rows.write_csv(tmp_path / "new.csv")
    rows.write_parquet(tmp_path / "new.parquet")
    lines = [f"{y} qid:{qid} 1:{a!r} 2:{b!r} 3:{c!r} 4:{d!r}" for qid, y, a, b, c, d in rows.iter_rows()]
    (tmp_path / "new.txt").write_text("\n".join(lines) + "\n")
    for form in ("csv", "parquet", "txt"):
        predict(fold, tmp_path / f"new.{form}", tmp_path / "out")
        assert [float(line) for line in (tmp_path / "out").read_text().split()] == scores
    loaded = TrainedFold.load(fold)
    assert loaded.score(part.features, part.offsets).tolist() == scores
    loaded_again = TrainedFold(loaded.model, loaded.spec, loaded.members)
    assert loaded_again.score(part.features, part.offsets).tolist() == scores


def test_a_job_trains_on_normalised_features_with_the_statistics_of_its_training_part(stored, monkeypatch, tmp_path):
    from gradrank.models.regression import Regression

    seen = {}
    original = Regression.fit.__func__

    def fit(cls, training, vali, *arguments):
        seen.update(train=training, vali=vali)
        return original(cls, training, vali, *arguments)

    monkeypatch.setattr(Regression, "fit", classmethod(fit))
    train("regression", stored.path, 3, {}, 1, tmp_path / "fold3")
    raw = {split: stored.read(stored.fold(3)[split]) for split in ("train", "vali")}
    mean, deviation = (getattr(np, name)(raw["train"].features.astype(np.float64), axis=0) for name in ("mean", "std"))
    for split, part in raw.items():
        z_scores = (part.features - mean) / np.where(deviation > 1e-12, deviation, np.inf)
        expected = min_max(part.features, part.offsets) if stored.description["normalise"] == "query" else z_scores
        np.testing.assert_allclose(seen[split].features, expected, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(seen["train"].features, raw["train"].features)


def test_other_parts_do_not_influence_the_statistics_of_a_fold(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, seed in ((first, 5), (second, 6)):
        folder.mkdir()
        for name, of_part in (("train", 1), ("vali", 2 * seed), ("test", 3 * seed)):
            table(of_part).write_csv(folder / f"{name}.csv")
        parse(folder, folder / "stored", seed=1, dataset="mine", normalise="global")
    entries = [StoredCollection.open(folder / "stored").preparation(1, ()).entries() for folder in (first, second)]
    assert entries[0] == entries[1]


def test_by_default_features_are_not_normalised(tmp_path):
    table().write_csv(tmp_path / "data.csv")
    parse(tmp_path / "data.csv", tmp_path / "stored", seed=1, dataset="mine")
    assert StoredCollection.open(tmp_path / "stored").preparation(1, ()).entries() == {}
    train("regression", tmp_path / "stored", 1, {}, 1, tmp_path / "fold1")
    assert "normalise" not in (tmp_path / "fold1/spec.json").read_text()
