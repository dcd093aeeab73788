"""Score files: LETOR (one score per line), TREC runs and tables (see run_tables.py). Every line is checked."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_numbers import merged_text
from gradrank.data.pipes import readable_path
from gradrank.measures.document_ids import DIGITS, document_ids
from gradrank.measures.judgements import (
    Judgements,
    collect,
    existing_file,
    first_document,
    group_queries,
    incomplete_judgements,
    lines,
)
from gradrank.measures.run_tables import check_merged, is_run_table, read_run_table


def read_scores(path: Path | str, judgements: Judgements, split: str = "test") -> np.ndarray:
    """Return (n,) float64 scores of the rows of `judgements`; a higher score means a better rank.

    The file has one of these forms. A text file has one score per line, in row order. A TREC run has lines `qid Q0
    docid rank score tag`, in any order. A table (Parquet, or CSV or TSV with a header) has a column `score`. Its rows
    are in row order, or in any order if it also has columns `qid` and `docid`. Other common names of these columns are
    recognised (data/tables/column_names.py). If the table has a column `split`, only the rows whose value in it is the
    argument `split` are read. If the file has a column `ranked`, documents with the value False have no rank.

    Raises GradrankError if a document has no score or two scores, if an id or the number of rows does not match the
    data, and if a score is not a finite number.
    """
    judgements, scores, ranked = _read_ranking(readable_path(path), judgements, split)
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
    judgements, scores, ranked = _read_ranking(readable_path(path), judgements, split)
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
    if is_run_table(path):
        table, raw = read_run_table(path, judgements, split)
    else:
        table, raw = _read_text(path), None

    def place(rows: pl.DataFrame) -> str:
        """Return the position in the file of the first of `rows`."""
        number = rows["number"][0]
        return f"line {number}" if raw is None else raw.location(number - 1)

    if table.is_empty():
        raise GradrankError(f"{path}: the file has no scores")

    if "ranked" not in table.columns:
        table = table.with_columns(ranked=True)
    invalid = table.filter(pl.col("ranked") & (pl.col("score").is_null() | ~pl.col("score").is_finite()))
    if len(invalid):
        raise GradrankError(
            f"{path}, {place(invalid)}: {invalid['text'][0]!r} is not a finite number. Fix: give every document a "
            "finite score, or leave it out of a run with ids"
        )
    if "docid" in table.columns:
        return _by_id(table, _with_ids(judgements, table, path), path, place)
    if not judgements.complete:
        raise GradrankError(f"{path}: the file has no document ids, which qrels require. Fix: give a TREC run")
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one score per document, in "
            "row order"
        )
    return judgements, table["score"].fill_null(0.0).fill_nan(0.0).to_numpy(), table["ranked"].to_numpy()


def _read_text(path: Path) -> pl.DataFrame:
    read = collect(lines(path), path)
    while len(read) and not read["text"][-1]:  # blank lines at the end are ignored
        read = read[:-1]
    if not len(read) or len(read["text"][0].split()) != 6:
        check_merged(merged_text(read["text"]), str(path))
        return read.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    groups = pl.col("text").str.extract_groups(r"^(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+$")
    fields = read.with_columns(groups.alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("1").is_null())
    if len(bad):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `qid Q0 docid rank score tag`, found {bad['text'][0][:60]!r}")
    check_merged(merged_text(fields["3"]), str(path))
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
    table: pl.DataFrame, judgements: Judgements, path: Path, place: Callable[[pl.DataFrame], str]
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    keys = ["query", "docid"]
    repeated = table.filter(~pl.struct(keys).is_first_distinct())
    if len(repeated):
        raise GradrankError(
            f"{path}, {place(repeated)}: {first_document(repeated)} has a second score. Fix: keep one of the rows, and "
            "give one file per system"
        )
    rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids, "label": judgements.labels})
    if not table["query"].is_in(rows["query"].implode()).any():
        raise GradrankError(
            f"{path}: no query of this file is in the data. The ids are of the form {table['query'][0]!r} in this file "
            f"and {rows['query'][0]!r} in the data. Fix: write the same ids into both"
        )
    unknown = table.join(rows, on=keys, how="anti", maintain_order="left")
    if len(unknown) and judgements.complete and not judgements.lists_judged_only:
        raise GradrankError(
            f"{path}, {place(unknown)}: {first_document(unknown)} is not in the data. Fix: correct the ids, or delete "
            "the row"
        )
    if len(padded := unknown.filter(pl.col("docid") != pl.col("docid").str.strip_chars())):
        raise GradrankError(
            f"{path}, {place(padded)}: {first_document(padded)} is not in the data, and its id has white space around "
            "it. Fix: remove the white space"
        )
    duplicates = rows.filter(~pl.struct(keys).is_first_distinct())
    ambiguous = duplicates.join(table, on=keys, how="semi", maintain_order="left")
    if len(ambiguous):
        raise GradrankError(
            f"{path}: {first_document(ambiguous)} is in the data twice, so its scores cannot be matched by id. "
            "Fix: give one score per line in row order"
        )
    if len(unknown):
        rows = _with_unjudged(rows, table, unknown, path)
        judgements = incomplete_judgements(rows, path)
    scores = rows.join(table.filter("ranked"), on=keys, how="left", maintain_order="left")["score"]
    return judgements, scores.fill_null(0.0).to_numpy(), scores.is_not_null().to_numpy()


def _query_of_row(judgements: Judgements) -> np.ndarray:
    return np.repeat(np.arange(len(judgements.qids)), np.diff(judgements.offsets))


def _with_unjudged(rows: pl.DataFrame, table: pl.DataFrame, unknown: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the rows and the unjudged documents of judged queries, which get grade 0. Other queries are left out."""
    unjudged = unknown.filter(pl.col("query").is_in(rows["query"].implode()))
    other_queries = unknown["query"].n_unique() - unjudged["query"].n_unique()
    none_judged = len(rows.join(table, on=["query", "docid"], how="semi")) == 0
    forms = f"None is judged: the ids are of the form {table['docid'][0]!r} in the file, {rows['docid'][0]!r} in the"
    _note(
        f"{path}: {len(unjudged)} documents of the file are not judged and count as irrelevant, as in trec_eval"
        + (f". {forms} judgements" if none_judged else "")
        + (f". {other_queries} queries of the file have no judgements and are left out" if other_queries else "")
    )
    unjudged = unjudged.select("query", "docid", pl.lit(0, rows.schema["label"]).alias("label"))
    return group_queries(pl.concat([rows, unjudged]).with_row_index("number")).drop("number")


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
