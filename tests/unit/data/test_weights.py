"""Weights of a user's own data: columns, checks and storage."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.parse import parse
from gradrank.data.reader import TrainingSchema, read_new
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns

WEIGHT = Columns(weight="w")


def table(queries=10, weights=None, seed=0):
    """Return three documents per query, with the (n,) weights, by default random ones."""
    rng = np.random.default_rng(seed)
    rows = 3 * queries
    return pl.DataFrame(
        {
            "qid": np.repeat(np.arange(queries), 3),
            "label": rng.integers(0, 3, rows),
            "w": rng.uniform(0, 2, rows) if weights is None else weights,
            "a": rng.normal(size=rows),
            "b": rng.normal(size=rows),
        }
    )


def parsed(tmp_path, frame, form="csv", columns=WEIGHT):
    path = tmp_path / f"data.{form}"
    frame.write_csv(path) if form == "csv" else frame.write_parquet(path)
    description = parse(path, tmp_path / "stored", seed=1, dataset="mine", columns=columns)
    return StoredCollection.open(tmp_path / "stored"), description


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_weights_follow_their_documents_into_every_part(tmp_path, form):
    frame = table()
    stored, description = parsed(tmp_path, frame, form)
    weight_of = dict(zip(frame["a"].cast(pl.Float32), frame["w"], strict=True))
    for fold in stored.folds:
        for parts in fold.values():
            part = stored.read(parts)
            assert part.features.shape[1] == 2 and part.weights.dtype == np.float64
            assert part.weights.tolist() == [weight_of[value] for value in part.features[:, 0].tolist()]
    weight_role = next(role for role in description["roles"] if role["role"] == "weight")
    assert (weight_role["column"], weight_role["low"]) == ("w", frame["w"].min())


def test_permuted_and_selected_collections_keep_the_weights_of_their_documents(tmp_path):
    stored, _ = parsed(tmp_path, table())
    part = stored.read(stored.parts)
    rng = np.random.default_rng(1)
    rows = np.lexsort((rng.random(part.rows), part.query_of_row))
    chosen = rng.random(part.queries) < 0.5
    kept = part.take(rows).select_queries(chosen)
    expected = part.weights[rows][chosen[part.query_of_row]]
    assert len(expected) and kept.weights.tolist() == expected.tolist()


def test_without_a_declaration_there_are_no_weights_and_the_column_is_no_feature(tmp_path):
    stored, _ = parsed(tmp_path, table().drop("w"), columns=Columns())
    assert stored.read(stored.parts).weights is None
    with pytest.raises(GradrankError, match="`weight: weight`"):
        parsed(tmp_path, table().rename({"w": "weight"}), columns=Columns())


HOSTILE = {"negative": "-1", "nan": "nan", "infinite": "inf", "too large": "1e999", "text": "heavy", "missing": ""}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_a_bad_weight_in_text_is_one_error_with_file_line_and_column(tmp_path, value):
    frame = table().with_columns(pl.col("w").cast(pl.String))
    frame[7, "w"] = value
    with pytest.raises(GradrankError, match=r"data\.csv: line 9, column 'w': expected a weight"):
        parsed(tmp_path, frame)
    assert not (tmp_path / "stored").exists()


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, None])
def test_a_bad_weight_in_parquet_is_one_error_with_file_row_and_column(tmp_path, value):
    frame = table()
    frame[7, "w"] = value
    with pytest.raises(GradrankError, match=r"data\.parquet: row 8, column 'w': expected a weight"):
        parsed(tmp_path, frame, "parquet")


def test_weights_of_another_type_are_an_error(tmp_path):
    with pytest.raises(GradrankError, match="'w' is Date, not weights"):
        parsed(tmp_path, table().with_columns(w=pl.date(2020, 1, 1)), "parquet")


def test_a_training_part_without_any_weight_is_an_error(tmp_path):
    with pytest.raises(GradrankError, match=r"data\.csv: row \d+: all weights of the training part"):
        parsed(tmp_path, table(weights=np.zeros(30)))
    folder = tmp_path / "splits"
    folder.mkdir()
    for number, name in enumerate(("train", "vali", "test")):
        table(seed=number, weights=np.ones(30) * (name != "train")).write_csv(folder / f"{name}.csv")
    with pytest.raises(GradrankError, match=r"train\.csv: row 1: all weights of the training part"):
        parse(folder, tmp_path / "stored", seed=1, dataset="mine", columns=WEIGHT)
    table(seed=0).write_csv(folder / "train.csv")
    table(seed=1, weights=np.zeros(30)).write_csv(folder / "vali.csv")  # only the training part uses weights
    parse(folder, tmp_path / "stored", seed=1, dataset="mine", columns=WEIGHT)


@pytest.mark.parametrize("missing_in", ["train", "test"])
def test_every_file_has_the_column_of_weights(tmp_path, missing_in):
    for number, name in enumerate(("train", "vali", "test")):
        frame = table(seed=number)
        (frame.drop("w") if name == missing_in else frame).write_csv(tmp_path / f"{name}.csv")
    with pytest.raises(GradrankError, match=rf"{missing_in}\.csv: no column 'w'"):
        parse(tmp_path, tmp_path / "stored", seed=1, dataset="mine", columns=WEIGHT)


def test_the_description_names_the_first_query_with_different_weights(tmp_path):
    even = np.repeat(np.arange(1.0, 11.0), 3)
    assert "uneven_weights" not in parsed(tmp_path, table(weights=even))[1]
    uneven = even.copy()
    uneven[[2, 14]] += 1.0
    assert parsed(tmp_path, table(weights=uneven))[1]["uneven_weights"] == "0"
    uneven[2] -= 1.0
    assert parsed(tmp_path, table(weights=uneven))[1]["uneven_weights"] == "4"


def test_text_has_no_column_of_weights(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("".join(f"{row % 2} qid:{row // 2} 1:{row}\n" for row in range(20)))
    with pytest.raises(GradrankError, match="column 'w' is declared, but this file is text"):
        parse(path, tmp_path / "stored", seed=1, dataset="mine", columns=WEIGHT)


@pytest.mark.parametrize("weights", ["as in training", "text", None])
def test_new_data_may_have_the_column_of_weights_or_not(tmp_path, weights):
    schema = TrainingSchema(2, ["a", "b"], columns=WEIGHT)
    frame = table()
    if weights is None:
        frame = frame.drop("w")
    elif weights == "text":
        frame = frame.with_columns(w=pl.lit("heavy"))
    assert read_new(frame, schema).width == 2
