"""The commands `gradrank importance` and `gradrank explain`."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.job import train
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.explanations.importance import importance
from gradrank.explanations.pairs import explain_pair
from gradrank.training.trained_fold import TrainedFold

NAMES = ["bm25", "links", "age"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Text and a table with document ids, a table without them, their stored collections, and two trained models."""
    folder = tmp_path_factory.mktemp("explain")
    generate("poly", 30, 12, 1, folder / "raw")
    parse(folder / "raw", folder / "text", seed=1, dataset="artificial")
    train("regression", folder / "text", 1, {}, 1, folder / "of_text" / "fold1")
    random = np.random.default_rng(0)
    frame = pl.DataFrame(random.normal(size=(120, 3)), schema=NAMES).with_columns(
        qid=pl.Series([f"query {row // 6}" for row in range(120)]),
        label=pl.Series(random.integers(0, 3, 120)),
        docid=pl.Series([f"doc {row}" for row in range(120)]),
    )
    frame.write_parquet(folder / "data.parquet")
    parse(folder / "data.parquet", folder / "table", seed=1, dataset="own")
    frame.drop("docid").write_parquet(folder / "plain.parquet")
    parse(folder / "plain.parquet", folder / "plain", seed=1, dataset="own")
    train("regression", folder / "table", 1, {}, 1, folder / "of_table" / "fold1")
    return folder


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments):
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_pair_of_document_ids_is_explained_from_a_file_and_from_a_collection(made):
    fold = made / "of_table" / "fold1"
    features = pl.read_parquet(made / "data.parquet")[12:18].select(NAMES).to_numpy().astype(np.float32)
    expected = explain_pair(TrainedFold.load(fold), features, 3, 1)
    for data in (made / "data.parquet", made / "table"):
        out = made / "out.parquet"
        text = printed(*("explain", fold, data, "--query", "query 2", "--pair", "doc 15", "doc 13", "--out", out))
        assert pl.read_parquet(out).equals(expected.frame())
        assert "doc 15 and doc 13 are document ids" in text
        assert "query 2" in text
    first = printed("explain", fold, made / "data.parquet", "--query", "query 2")
    assert first == printed("explain", fold, made / "table", "--query", "query 2")


def test_documents_without_ids_have_row_numbers(made):
    fold, stored = made / "of_table" / "fold1", StoredCollection.open(made / "plain")
    expected = printed("explain", fold, made / "data.parquet", "--query", "query 2", "--pair", "doc 15", "doc 13")
    text = printed("explain", fold, made / "plain.parquet", "--query", "query 2", "--pair", 16, 14)
    assert "16 and 14 are row numbers" in text
    assert contributions(text) == contributions(expected)
    names = [name for part in stored.parts for name in pl.read_parquet(stored.part_file(part))["query"]]
    start = names.index("query 2")  # the parts have the queries in another order than the file
    text = printed("explain", fold, made / "plain", "--query", "query 2", "--pair", start + 4, start + 2)
    assert contributions(text) == contributions(expected)


def contributions(text: str) -> list[str]:
    """Return the words of the lines of the features."""
    return [line.split() for line in text.split("\n") if line.split(" ")[0] in NAMES]


def test_the_importance_of_a_collection_is_that_of_the_test_part(made):
    fold, stored = made / "of_text" / "fold1", StoredCollection.open(made / "text")
    out = made / "out.parquet"
    options = ("--metric", "NDCG@5", "--convention", "standard", "--repeats", 2, "--seed", 3)
    text = printed("importance", fold, made / "text", *options, "--out", out)
    data = stored.read(stored.fold(1)["test"])
    expected = importance(TrainedFold.load(fold), data, "ndcg@5", convention="standard", repeats=2, seed=3)
    assert text == f"{expected}\n"
    assert pl.read_parquet(out).equals(expected.frame())


def test_the_metric_is_that_of_the_evaluation_of_the_fold(made):
    folder, names = made / "of_text", ["err@10", "map"]
    job = {"model": "regression", "dataset": "artificial", "params": {}, "seed": 1}
    for number in range(2, 6):
        train("regression", made / "text", number, {}, 1, folder / f"fold{number}")
    spec = TrainedFold.load(folder / "fold1").spec
    evaluate_folds(folder, made / "text", job | {"params": spec["params"]}, ["letor4"], names)
    values = pl.read_parquet(folder / "per_query.parquet").filter(fold=1, split="test")
    for name in names:
        text = printed("importance", folder / "fold1", made / "text", "--metric", name, "--repeats", 1)
        assert f"Unchanged data: {values[name].mean():.4f}" in " ".join(text.split())


def test_groups_of_features_are_permuted_together(made):
    fold, data = made / "of_table" / "fold1", made / "data.parquet"
    out = made / "out.parquet"
    printed("importance", fold, data, "--group", "text=bm25", "--group", "rest=links,age", "--out", out)
    assert set(pl.read_parquet(out)["feature"]) == {"text", "rest"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "data.parquet", "--query", "query 99"], r"no query 'query 99' \(did you mean"),
        (["explain", "table", "--query", "nothing"], "no query 'nothing'"),
        (["explain", "table", "--query", "query 2", "--pair", "doc 1", "doc 13"], "no document 'doc 1'"),
        (["explain", "table", "--query", "query 2", "--pair", "doc 13", "doc 13"], "different documents"),
        (["importance", "data.parquet", "--group", "text"], "NAME=F1,F2"),
        (["importance", "data.parquet", "--group", "a=age", "--group", "a=links"], "once"),
        (["importance", "data.parquet", "--group", "a=agee"], "did you mean 'age'"),
        (["importance", "data.parquet", "--metric", "ndgc"], "did you mean"),
        (["importance", "data.parquet", "--convention", "letor5"], "did you mean"),
        (["importance", "missing.parquet"], "no such file"),
    ],
)
def test_malformed_arguments_are_refused(made, arguments, message):
    command, data, *options = arguments
    error = invoke(command, made / "of_table" / "fold1", made / data, *options).exception
    assert isinstance(error, GradrankError)
    with pytest.raises(GradrankError, match=message):
        raise error
