"""Ranking of new data with a trained fold: all forms of input and output, and input in pieces."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data import reader
from gradrank.data.reader import TrainingSchema, read_new
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_scores as read_run
from gradrank.models.single_feature import SingleFeature
from gradrank.ranker import table_slices
from gradrank.ranker.predict import predict
from gradrank.training import trained_fold
from gradrank.training.trained_fold import TrainedFold

WIDTH = 4
QIDS = [7, 7, 7, 3, 12, 12, 12, 12]
FEATURES = np.array([[(3 * row + column * column) % 5 / 4 for column in range(WIDTH)] for row in range(8)])


class AboveMean(SingleFeature):
    """A listwise model: the score is the first feature minus its mean over the query."""

    name = "above_mean"

    def score(self, features, offsets):
        means = np.add.reduceat(features[:, 0].astype(np.float64), offsets[:-1]) / np.diff(offsets)
        return features[:, 0] - np.repeat(means, np.diff(offsets))


@pytest.fixture
def fold(tmp_path, monkeypatch) -> Path:
    """A trained fold whose model depends on where a query begins and ends."""
    monkeypatch.setattr(trained_fold, "get_model", lambda name: {"above_mean": AboveMean}[name])
    folder = tmp_path / "results/toy/methods/above_mean/fold1"
    (folder / "model").mkdir(parents=True)
    AboveMean(feature=0, sign=1).save(folder / "model")
    write_json(folder / "spec.json", {"model": "above_mean", "features": WIDTH})
    return folder


def line(row: int, sparse: bool, comment: str) -> str:
    values = enumerate(FEATURES[row], start=1)
    kept = [f"{number}:{value}" for number, value in values if value or not sparse]
    return " ".join(["0", f"qid:{QIDS[row]}", *kept]) + comment + "\n"


@pytest.fixture
def dense(tmp_path) -> Path:
    path = tmp_path / "new data.txt"
    path.write_text("".join(line(row, False, f" #docid = GX{row} inc = 1 prob = 0.5") for row in range(8)))
    return path


@pytest.fixture
def parquet(tmp_path) -> Path:
    path = tmp_path / "new.parquet"
    columns = {f"f{i + 1}": FEATURES[:, i].astype(np.float32) for i in range(WIDTH)}
    pl.DataFrame({"qid": QIDS, "docid": [f"GX{row}" for row in range(8)], **columns}).write_parquet(path)
    return path


def expected() -> list[float]:
    first = FEATURES[:, 0].astype(np.float32).astype(np.float64)
    bounds = [(0, 3), (3, 4), (4, 8)]
    return [value for start, stop in bounds for value in first[start:stop] - first[start:stop].mean()]


def read_scores(path: Path) -> list[float]:
    return [float(text) for text in path.read_text().splitlines()]


def test_text_sparse_text_and_parquet_give_the_same_scores_in_input_order(fold, dense, parquet, tmp_path):
    sparse = tmp_path / "sparse.txt"
    sparse.write_text("".join(line(row, True, "") for row in range(8)))
    assert "1:" not in sparse.read_text().splitlines()[0]  # or it would be read as dense
    for number, data in enumerate((dense, sparse, parquet)):
        out = tmp_path / f"scores{number}.txt"
        assert predict(fold, data, out) == 8
        assert read_scores(out) == expected()


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("kind", ["dense", "parquet"])
def test_pieces_are_whole_queries_and_change_nothing(fold, kind, rows, tmp_path, request, monkeypatch):
    data = request.getfixturevalue(kind)
    monkeypatch.setattr(reader, "BATCH_ROWS", rows)
    pieces = list(reader.batches(read_new(data, TrainingSchema(WIDTH))))
    assert np.concatenate([np.repeat(piece.qids, np.diff(piece.offsets)) for piece in pieces]).tolist() == QIDS
    assert len(pieces) == 1 if rows == 100 else len(pieces) > 1
    predict(fold, data, tmp_path / "scores.txt")
    assert read_scores(tmp_path / "scores.txt") == expected()


def test_trec_run_has_the_best_document_first_and_ties_in_input_order(fold, dense, tmp_path):
    predict(fold, dense, tmp_path / "run.txt", "trec")
    fields = [text.split(" ") for text in (tmp_path / "run.txt").read_text().splitlines()]
    best = sorted(range(8), key=lambda row: ([7, 3, 12].index(QIDS[row]), -expected()[row], row))
    assert [int(field[0]) for field in fields] == QIDS
    assert [field[2] for field in fields] == [f"GX{row}" for row in best]
    assert [int(field[3]) for field in fields] == [1, 2, 3, 1, 1, 2, 3, 4]
    assert [float(field[4]) for field in fields] == [expected()[row] for row in best]
    assert {(field[1], field[5]) for field in fields} == {("Q0", "above_mean")}


def test_documents_without_id_are_called_by_their_row_here_and_in_evaluation(fold, tmp_path, monkeypatch, capsys):
    data = tmp_path / "plain.txt"
    data.write_text("".join(line(row, False, "") for row in range(8)))
    monkeypatch.setattr(reader, "BATCH_ROWS", 2)
    predict(fold, data, tmp_path / "run.txt", "trec")
    fields = [text.split(" ") for text in (tmp_path / "run.txt").read_text().splitlines()]
    assert sorted(field[2] for field in fields) == [f"{row:010}" for row in range(1, 9)]
    by_id = {int(field[2]): float(field[4]) for field in fields}
    assert [by_id[row] for row in range(1, 9)] == expected()
    assert "8 documents have no id" in capsys.readouterr().err
    assert read_run(tmp_path / "run.txt", read_judgements(data)).tolist() == expected()


@pytest.mark.parametrize("docids", [["a", "a"], ["a b", "c"]])
def test_ids_that_a_trec_run_cannot_hold_are_refused(fold, docids, tmp_path):
    columns = {f"f{i + 1}": [0.0, 1.0] for i in range(WIDTH)}
    pl.DataFrame({"qid": [5, 5], "docid": docids, **columns}).write_parquet(tmp_path / "ids.parquet")
    with pytest.raises(GradrankError, match=r"query 5: document id '(a|a b)'.*or the form csv, parquet or jsonl"):
        predict(fold, tmp_path / "ids.parquet", tmp_path / "run.txt", "trec")
    assert not (tmp_path / "run.txt").exists()


@pytest.mark.parametrize(
    ("width", "of_text", "of_table"),
    [
        (3, "has feature 4, but the model was trained on 3 features", "column 'f4'"),
        (5, r"trained on 5 features; feature 5 is missing", "no column 'f5', a feature that the model"),
    ],
)
def test_a_missing_and_an_additional_feature_are_named(fold, dense, parquet, width, of_text, of_table, tmp_path):
    write_json(fold / "spec.json", {"model": "above_mean", "features": width})
    sparse = tmp_path / "sparse.txt"
    sparse.write_text(f"0 qid:1 2:0.5\n0 qid:1 {width + 2}:1\n")
    for data, reason in (
        (dense, of_text),
        (parquet, of_table),
        (sparse, f"has feature {width + 2}, but the model was trained on {width} features"),
    ):
        with pytest.raises(GradrankError, match=reason):
            predict(fold, data, tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()


NAMED = {
    "features": 3,
    "names": ["f1", "f10", "f2"],
    "columns": {"query": "who asked", "label": "clicks", "ignore": ["url"]},
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_a_model_ranks_what_it_was_trained_on_by_the_names_of_its_features(fold, tmp_path, suffix):
    write_json(fold / "spec.json", {"model": "above_mean", **NAMED})
    table = pl.DataFrame(
        {"clicks": 0, "f2": FEATURES[:, 1], "url": "http://", "f10": FEATURES[:, 2], "f1": FEATURES[:, 0]}
        | {"who asked": [f"0{qid}" for qid in QIDS]}
    )
    plain, path = tmp_path / f"new{suffix.removesuffix('.gz')}", tmp_path / f"new{suffix}"
    if suffix == ".parquet":
        table.write_parquet(plain)
    else:
        table.write_csv(plain, separator="\t" if suffix == ".tsv" else ",")
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))
    predict(fold, path, tmp_path / "out.txt")
    assert read_scores(tmp_path / "out.txt") == expected()
    ranker = TrainedFold.load(fold)
    for each in (table, table.to_arrow(), table.to_pandas(), table.to_pandas().set_index("url")):
        np.testing.assert_array_equal(ranker.predict(each), expected())
    with pytest.raises(GradrankError, match=r"no column 'f10', a feature .* \(did you mean 'F10'\?\)"):
        ranker.predict(table.rename({"f10": "F10"}).to_pandas())


def test_rows_of_sparse_text_may_be_short_where_those_in_training_could(fold, tmp_path):
    (tmp_path / "short.txt").write_text("0 qid:7 1:0.5\n0 qid:7 1:1 3:2\n")
    with pytest.raises(GradrankError, match="feature 2 is missing"):
        predict(fold, tmp_path / "short.txt")
    write_json(fold / "spec.json", {"model": "above_mean", "features": WIDTH, "sparse": True})
    assert predict(fold, tmp_path / "short.txt", tmp_path / "out.txt") == 2
    assert read_scores(tmp_path / "out.txt") == [-0.25, 0.25]


def test_bad_line_late_in_the_file_leaves_no_output(fold, dense, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "BATCH_ROWS", 1)
    dense.write_text(dense.read_text() + "0 qid:40 1:0 2:0 3:x 4:0\n")
    (tmp_path / "out.txt").write_text("older\n")
    with pytest.raises(GradrankError, match="line 9"):
        predict(fold, dense, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "older\n"


def test_parquet_that_is_no_ranking_data_is_refused(fold, parquet, tmp_path):
    write_json(fold / "spec.json", {"model": "above_mean", "features": WIDTH, "missing": "keep"})
    table = pl.read_parquet(parquet)
    faults = {
        "no query column": table.drop("qid"),
        "no column 'f4'": table.rename({"f4": "f9"}),
        "row 3, column 'qid': query 7 comes back": table[[0, 3, 1]],
        "no rows": table.head(0),
        "row 1, column 'qid': has no query id": table.with_columns(qid=pl.lit(None, pl.Int64)),
        "column 'f2' is String, not numbers": table.with_columns(f2=pl.lit("0.5")),
        "query id 'new york'": table[:3].with_columns(qid=pl.lit("new york")),
        "'qid' and 'query' may each be the query column": table.with_columns(query=pl.lit("new york")),
        "row 1, column 'f3': expected a finite number": table.with_columns(f3=pl.lit(float("-inf"))),
        "feature 2 is nan": table.with_columns(f2=pl.lit(float("nan"), pl.Float32)),
    }
    for message, frame in faults.items():
        frame.write_parquet(tmp_path / "bad.parquet")
        with pytest.raises(GradrankError, match=message):
            predict(fold, tmp_path / "bad.parquet", tmp_path / "out.txt", "trec")
    with pytest.raises(GradrankError, match="no column 'F1'"):
        predict(fold, parquet, tmp_path / "out.txt", columns=reader.Columns(ignore=("F1",)))


def test_document_ids_of_any_type_are_text(fold, parquet, tmp_path):
    table = pl.read_parquet(parquet)
    for docids in (range(8), [f"{row}".encode() for row in range(8)]):
        table.with_columns(docid=pl.Series(docids)).write_parquet(tmp_path / "ids.parquet")
        predict(fold, tmp_path / "ids.parquet", tmp_path / "run.txt", "trec")
        fields = [text.split(" ") for text in (tmp_path / "run.txt").read_text().splitlines()]
        assert sorted(field[2] for field in fields) == list("01234567")


def test_a_value_beyond_float32_is_the_largest_as_where_data_are_parsed(parquet):
    table = pl.read_parquet(parquet).with_columns(f2=pl.lit(-1e39), f4=pl.lit(True))
    table.write_parquet(parquet)
    (batch,) = reader.batches(read_new(parquet, TrainingSchema(WIDTH)))
    assert (batch.features[:, 1] == -np.finfo(np.float32).max).all() and (batch.features[:, 3] == 1).all()


def test_a_changed_byte_of_parquet_is_refused_or_changes_a_value(fold, parquet, tmp_path):
    content, path = parquet.read_bytes(), tmp_path / "changed.parquet"
    for place in range(4, len(content), 41):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            assert predict(fold, path, tmp_path / "out.txt") == 8
        except GradrankError as error:
            assert str(error)


def test_a_specification_that_claims_a_trillion_features_takes_no_memory_for_them(fold):
    write_json(fold / "spec.json", {"model": "above_mean", "features": 10**12})
    with pytest.raises(GradrankError, match=r"spec\.json: features: "):
        TrainedFold.load(fold)


def test_what_is_not_a_model_or_a_file_or_a_form_is_named(fold, dense, tmp_path):
    with pytest.raises(GradrankError, match=r"above_mean: not a trained model.*fold1"):
        predict(fold.parent, dense)
    with pytest.raises(GradrankError, match=r"absent\.txt: no such file"):
        predict(fold, tmp_path / "absent.txt")
    with pytest.raises(GradrankError, match="form 'xml': expected 'letor', 'csv', 'parquet', 'jsonl', 'trec'"):
        predict(fold, dense, form="xml")
    with pytest.raises(GradrankError, match=r"form 'parquet': cannot be printed.*--out"):
        predict(fold, dense, form="parquet")


def test_a_reader_that_stops_early_is_no_error(tmp_path):
    """The reader closes the pipe early, like `gradrank predict ... | head -1`."""
    folder = tmp_path / "fold1"
    (folder / "model").mkdir(parents=True)
    SingleFeature(feature=0, sign=1).save(folder / "model")
    write_json(folder / "spec.json", {"model": "single_feature", "features": 1})
    (tmp_path / "long.txt").write_text("".join(f"0 qid:{i} 1:{i}.25\n" for i in range(50_000)))
    script = "import gradrank.ranker.predict as p; p.predict(p.Path('fold1'), p.Path('long.txt'))"
    run = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "0.25\n"
    run.stdout.close()
    errors = run.stderr.read()
    run.stderr.close()
    assert (run.wait(), errors) == (0, "")


READERS = {
    "csv": lambda path: pl.read_csv(path, infer_schema=False).cast({"score": pl.Float64, "rank": pl.Int64}),
    "parquet": pl.read_parquet,
    "jsonl": pl.read_ndjson,
}


def ranked() -> list[int]:
    """Return the rows with the best document of each query first."""
    return sorted(range(8), key=lambda row: ([7, 3, 12].index(QIDS[row]), -expected()[row], row))


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_tables_have_the_ids_in_the_columns_of_the_data(fold, form, rows, tmp_path, monkeypatch):
    write_json(fold / "spec.json", {"model": "above_mean", **NAMED})
    monkeypatch.setattr(reader, "BATCH_ROWS", rows)
    asked = [f"new shoes {qid}" for qid in QIDS]
    table = {"clicks": 0, "f1": FEATURES[:, 0], "f10": FEATURES[:, 2], "f2": FEATURES[:, 1]}
    names = {"who asked": asked, "product_id": [f"shoe, {row}" for row in range(8)]}
    pl.DataFrame(table | names).write_parquet(tmp_path / "new.parquet")
    out = tmp_path / f"out.{form}"
    assert predict(fold, tmp_path / "new.parquet", out, form) == 8
    found, order = READERS[form](out), ranked()
    assert found.columns == ["who asked", "product_id", "score", "rank"]
    assert found["who asked"].to_list() == asked
    assert found["product_id"].to_list() == [f"shoe, {row}" for row in order]
    assert found["score"].to_list() == [expected()[row] for row in order]
    assert found["rank"].to_list() == [1, 2, 3, 1, 1, 2, 3, 4]


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("kind", ["dense", "parquet"])
def test_query_ids_of_tables_are_numbers_where_those_of_the_data_are(fold, form, kind, tmp_path, request):
    out = tmp_path / f"out.{form}"
    predict(fold, request.getfixturevalue(kind), out, form)
    found = READERS[form](out)
    assert found.columns == ["qid", "docid", "score", "rank"]
    assert found["qid"].to_list() == [str(qid) for qid in QIDS] if form == "csv" else QIDS
    assert found["docid"].to_list() == [f"GX{row}" for row in ranked()]


def test_a_large_parquet_file_is_read_in_slices_of_whole_queries(fold, parquet, tmp_path, monkeypatch):
    table = pl.read_parquet(parquet).with_columns(pl.col("qid").cast(pl.String))
    table.write_parquet(parquet, row_group_size=2)
    for form in READERS:
        whole, sliced = tmp_path / f"whole.{form}", tmp_path / f"sliced.{form}"
        monkeypatch.setattr(table_slices, "SLICE_VALUES", 1000)
        predict(fold, parquet, whole, form)
        for rows in (1, 2, 3, 4):
            monkeypatch.setattr(table_slices, "SLICE_VALUES", rows * table.width)
            assert predict(fold, parquet, sliced, form) == 8
            assert READERS[form](sliced).equals(READERS[form](whole))
    bad = table.with_columns(f3=pl.Series([*[0.0] * 7, float("inf")]))
    bad.write_parquet(parquet)
    monkeypatch.setattr(table_slices, "SLICE_VALUES", 4 * table.width)
    with pytest.raises(GradrankError, match=r"new\.parquet, rows 5 to 8: .*row 4, column 'f3'"):
        predict(fold, parquet, tmp_path / "sliced.csv", "csv")
    assert READERS["csv"](tmp_path / "sliced.csv").equals(READERS["csv"](tmp_path / "whole.csv"))
    table[[0, 3, 1]].write_parquet(parquet)
    with pytest.raises(GradrankError, match="row 3, column 'qid': query 7 comes back"):
        predict(fold, parquet, tmp_path / "sliced.csv", "csv")


def csv_content(suffix: str, qids: list, header: bool = True) -> bytes:
    """Return a CSV or TSV file with line ends, separators and quotes in the ids of the documents."""
    ids = [f'shoe "{row}",\t{"new" if row % 2 else "old"}\n{row}' for row in range(8)]
    features = {f"f{i + 1}": FEATURES[:, i].astype(np.float32) for i in range(WIDTH)}
    table = pl.DataFrame({"qid": qids, "docid": ids, **features})
    text = table.write_csv(separator="\t" if ".tsv" in suffix else ",", include_header=header).encode()
    return gzip.compress(text) if suffix.endswith(".gz") else text


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("block", [64, 200, 1 << 20])
@pytest.mark.parametrize("qids", [QIDS, [7, 7, 7, "red shoes", 12, 12, 12, 12]], ids=["numbers", "text"])
def test_a_large_csv_file_is_read_in_slices_of_whole_queries(fold, suffix, block, qids, tmp_path, monkeypatch):
    data = tmp_path / f"new{suffix}"
    data.write_bytes(csv_content(suffix, [str(qid) for qid in qids]))
    monkeypatch.setattr(table_slices, "BLOCK_BYTES", block)
    schema = TrainingSchema(WIDTH)
    for form in READERS:
        whole, sliced = tmp_path / f"whole.{form}", tmp_path / f"sliced.{form}"
        monkeypatch.setattr(table_slices, "SLICE_VALUES", 1000)
        assert table_slices.table_slices(data, schema, None) is None
        predict(fold, data, whole, form)
        for rows, count in ((1, 3), (2, 2), (4, 2)):
            monkeypatch.setattr(table_slices, "SLICE_VALUES", rows * (WIDTH + 2))
            slices = table_slices.table_slices(data, schema, None)
            assert slices is not None and len([*slices.batches]) == count
            assert predict(fold, data, sliced, form) == 8
            assert READERS[form](sliced).equals(READERS[form](whole))


def test_a_csv_file_without_header_has_slices(fold, tmp_path, monkeypatch):
    data = tmp_path / "new.csv"
    data.write_bytes(csv_content(".csv", QIDS, header=False))
    columns = reader.Columns(query="1", docid="2", header=False)
    schema = TrainingSchema(WIDTH, ["3", "4", "5", "6"], columns=columns)
    monkeypatch.setattr(table_slices, "SLICE_VALUES", 1)
    slices = table_slices.table_slices(data, schema, None)
    assert slices is not None
    assert [batch.qids.tolist() for batch in slices.batches] == [[7], [3], [12]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"12,", b"7,", "query 7 comes back after other queries"),
        (b"12,", b",", "has no query id"),
        (b"0.5\n", b"inf\n", r"line \d+, column 'f4': expected a number"),
        (b"0.5\n", b"0.5,1\n", r"line \d+: 7 fields"),
        (b"\n12,", b'\n12,5" ', "a quote"),
        (b"0.5\n", b"0.5\n\n", None),
    ],
)
def test_a_large_csv_file_has_the_errors_of_a_small_one(fold, old, new, message, tmp_path, monkeypatch):
    data, out = tmp_path / "new.csv", tmp_path / "out.csv"
    content = csv_content(".csv", QIDS)
    assert old in content
    data.write_bytes(content.replace(old, new))
    monkeypatch.setattr(table_slices, "SLICE_VALUES", 1)
    if message is None:  # empty lines do not count
        assert predict(fold, data, out) == 8
        return
    with pytest.raises(GradrankError, match=rf"new\.csv.*{message}"):
        predict(fold, data, out)
    assert not out.exists()


def test_the_tables_can_be_evaluated(fold, dense, tmp_path):
    for form in ("csv", "parquet"):
        predict(fold, dense, tmp_path / f"scores.{form}", form)
        assert read_run(tmp_path / f"scores.{form}", read_judgements(dense)).tolist() == expected()


def test_a_column_of_ids_that_is_called_as_a_column_of_the_output_is_refused(fold, parquet, tmp_path):
    pl.read_parquet(parquet).rename({"docid": "rank"}).write_parquet(parquet)
    with pytest.raises(GradrankError, match=r"column 'rank': the output has a column of this name. Fix: rename"):
        predict(fold, parquet, tmp_path / "out.csv", "csv", reader.Columns(docid="rank"))
    assert not (tmp_path / "out.csv").exists()
