"""Score files: LETOR (one score per line), TREC runs and Parquet. Every line is checked."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.results import FoldFolder
from gradrank.data.ids import text_ids
from gradrank.data.tables.parquet import read_parquet
from gradrank.evaluation.document_ids import DIGITS, document_ids
from gradrank.evaluation.judgements import (
    Judgements,
    collect,
    existing_file,
    first_document,
    group_queries,
    incomplete_judgements,
    lines,
)


def read_scores(path: Path | str, judgements: Judgements, split: str = "test") -> np.ndarray:
    """Return (n,) float64 scores of the rows of `judgements`; a higher score means a better rank.

    The file has one of these forms. A text file has one score per line, in row order. A TREC run has lines `qid Q0
    docid rank score tag`, in any order. A Parquet file has a column `score`. Its rows are in row order, or in any order
    if it also has columns `qid` and `docid`. If the file has a column `split`, only the rows whose value in this column
    is the argument `split` are read. If the file has a column `ranked`, documents with the value False have no rank.

    Raises GradrankError if a document has no score or two scores, if an id or the number of rows does not match the
    data, and if a score is not a finite number.
    """
    judgements, scores, ranked = _read_ranking(Path(path), judgements, split)
    if not ranked.all():
        rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids}).filter(~ranked)
        raise GradrankError(f"{path}: {len(rows)} documents have no score; the first is {first_document(rows)}")
    return scores


def read_ranking(
    path: Path | str, judgements: Judgements, split: str = "test"
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    """Read a ranking that may leave documents out, by the rules of trec_eval.

    Returns the judgements, the (n,) float64 scores, and (n,) booleans that are True for documents in the ranking. If
    the judgements are qrels, the returned judgements also contain the ranked documents that are not judged, with grade
    0. A note on stderr gives the number of ranked and of unjudged documents. The forms of the file and the errors are
    those of `read_scores`, except that documents may be without a score.
    """
    judgements, scores, ranked = _read_ranking(Path(path), judgements, split)
    if not ranked.all():
        unranked = len(judgements.qids) - len(np.unique(_query_of_row(judgements)[ranked]))
        _note(
            f"{path}: ranks {ranked.sum()} of {len(ranked)} documents. As in trec_eval, the other documents have no "
            "rank; the relevant ones among them count in recall and in the ideal ranking"
            + (
                f". {unranked} of {len(judgements.qids)} queries are not in the file and score 0 (as with trec_eval -c)"
                if unranked
                else ""
            )
        )
    return judgements, scores, ranked


def _read_ranking(path: Path, judgements: Judgements, split: str) -> tuple[Judgements, np.ndarray, np.ndarray]:
    path = existing_file(path)
    is_parquet = path.suffix == ".parquet"
    table, row = (_read_parquet(path, split), "row") if is_parquet else (_read_text(path), "line")
    if table.is_empty():
        raise GradrankError(f"{path}: the file has no scores")
    if "ranked" not in table.columns:
        table = table.with_columns(ranked=True)
    invalid = table.filter(pl.col("ranked") & (pl.col("score").is_null() | ~pl.col("score").is_finite()))
    if len(invalid):
        raise GradrankError(f"{path}, {row} {invalid['number'][0]}: {invalid['text'][0]!r} is not a finite number")
    if "docid" in table.columns:
        return _by_id(table, _with_ids(judgements, table, path), path, row)
    if not judgements.complete:
        raise GradrankError(f"{path}: the file has no document ids, which qrels require. Fix: give a TREC run")
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one score per document, in "
            "row order"
        )
    return judgements, table["score"].fill_null(0.0).fill_nan(0.0).to_numpy(), table["ranked"].to_numpy()


def _read_parquet(path: Path, split: str) -> pl.DataFrame:
    fold = FoldFolder(path.parent)
    if fold.finished and path == fold.scores_path:
        fold.check(path)
        table = pl.read_parquet(path)
    else:
        table = read_parquet(path)
    if "score" not in table.columns or not table["score"].dtype.is_numeric():
        raise GradrankError(f"{path}: expected a numeric column `score`; the columns are {', '.join(table.columns)}")
    if ("docid" in table.columns) != ("qid" in table.columns):
        raise GradrankError(f"{path}: expected both columns `qid` and `docid` or neither; one of them is missing")
    if "ranked" in table.columns and (table["ranked"].dtype != pl.Boolean or table["ranked"].null_count()):
        raise GradrankError(
            f"{path}: expected true or false in every row of column `ranked`, found type {table['ranked'].dtype} with "
            f"{table['ranked'].null_count()} missing values"
        )
    table = table.with_columns(pl.col("score").cast(pl.Float64)).with_row_index("number", offset=1)
    if "docid" in table.columns:
        table = table.with_columns(_ids(table, name, new, path) for name, new in (("qid", "query"), ("docid", "docid")))
    table = table.with_columns(text=pl.col("score").cast(pl.String))
    return table.filter(pl.col("split") == split) if "split" in table.columns else table


def _read_text(path: Path) -> pl.DataFrame:
    read = collect(lines(path), path)
    while len(read) and not read["text"][-1]:  # blank lines at the end are ignored
        read = read[:-1]
    if not len(read) or len(read["text"][0].split()) != 6:
        return read.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    groups = pl.col("text").str.extract_groups(r"^(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+$")
    fields = read.with_columns(groups.alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("1").is_null())
    if len(bad):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `qid Q0 docid rank score tag`, found {bad['text'][0][:60]!r}")
    return fields.select(
        "number",
        query=pl.col("1"),
        docid=pl.col("2"),
        text=pl.col("3"),
        score=pl.col("3").cast(pl.Float64, strict=False),
    )


def _with_ids(judgements: Judgements, table: pl.DataFrame, path: Path) -> Judgements:
    """Return judgements with document ids.

    If the data have no ids, the ids are the row numbers that `predict` and `export` write.
    """
    if judgements.docids is not None:
        return judgements
    if not table["docid"].str.contains(rf"^\d{{{DIGITS}}}$").all():
        raise GradrankError(
            f"{path}: the file has document ids, but the data have none. Fix: give one score per line in row order, or "
            f"use row numbers with {DIGITS} digits as ids, as `gradrank predict --form trec` writes them"
        )
    _note(f"{path}: the data have no document ids; the ids in the file are read as row numbers of the data, from 1")
    return replace(judgements, docids=document_ids(None, len(judgements.labels)))


def _by_id(
    table: pl.DataFrame, judgements: Judgements, path: Path, row: str
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    keys = ["query", "docid"]
    repeated = table.filter(~pl.struct(keys).is_first_distinct())
    if len(repeated):
        raise GradrankError(f"{path}, {row} {repeated['number'][0]}: {first_document(repeated)} has a second score")
    rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids, "label": judgements.labels})
    unknown = table.join(rows, on=keys, how="anti", maintain_order="left")
    if len(unknown) and judgements.complete:
        raise GradrankError(f"{path}, {row} {unknown['number'][0]}: {first_document(unknown)} is not in the data")
    duplicates = rows.filter(~pl.struct(keys).is_first_distinct())
    ambiguous = duplicates.join(table, on=keys, how="semi", maintain_order="left")
    if len(ambiguous):
        raise GradrankError(
            f"{path}: {first_document(ambiguous)} is in the data twice, so its scores cannot be matched by id. "
            "Fix: give one score per line in row order"
        )
    if len(unknown):
        rows = _with_unjudged(rows, unknown, path)
        judgements = incomplete_judgements(rows, path)
    scores = rows.join(table.filter("ranked"), on=keys, how="left", maintain_order="left")["score"]
    return judgements, scores.fill_null(0.0).to_numpy(), scores.is_not_null().to_numpy()


def _ids(table: pl.DataFrame, name: str, new: str, path: Path) -> pl.Series:
    ids = text_ids(table[name], name, path)
    if ids.null_count():
        raise GradrankError(f"{path}, row {table['number'][ids.is_null().arg_true()[0]]}: `{name}` is missing")
    return ids.alias(new)


def _query_of_row(judgements: Judgements) -> np.ndarray:
    return np.repeat(np.arange(len(judgements.qids)), np.diff(judgements.offsets))


def _with_unjudged(rows: pl.DataFrame, unknown: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the rows and the unjudged documents of judged queries, which get grade 0. Other queries are left out."""
    unjudged = unknown.filter(pl.col("query").is_in(rows["query"].implode()))
    other_queries = unknown["query"].n_unique() - unjudged["query"].n_unique()
    _note(
        f"{path}: {len(unjudged)} documents of the file are not judged and count as irrelevant, as in trec_eval"
        + (f". {other_queries} queries of the file have no judgements and are left out" if other_queries else "")
    )
    unjudged = unjudged.select("query", "docid", pl.lit(0, rows.schema["label"]).alias("label"))
    return group_queries(pl.concat([rows, unjudged]).with_row_index("number")).drop("number")


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
