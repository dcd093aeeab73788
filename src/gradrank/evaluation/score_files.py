"""Score files, checked line by line: LETOR's one score a line, TREC runs, Parquet."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.ids import text_ids
from gradrank.data.tables.parquet import read_parquet
from gradrank.evaluation.document_ids import DIGITS, document_ids
from gradrank.evaluation.judgements import Judgements, collect, existing, first_name, lines, of_queries, together


def read_scores(path: Path | str, judgements: Judgements, split: str = "test") -> np.ndarray:
    """(n,) float64 scores for the rows of `judgements`, higher first.

    The file is text with one score a line in the rows' order; a TREC run (`qid Q0 docid rank score tag`); or
    Parquet with a column `score`, and `split` (only the rows of `split` are taken) or `qid` and `docid`; false in a
    column `ranked` leaves a document out. By document ids the order is free. Raises GradrankError for missing or
    surplus rows, ids that occur twice or not at all, and what is not a finite number.
    """
    judgements, scores, ranked = _read_ranking(Path(path), judgements, split)
    if not ranked.all():
        rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids}).filter(~ranked)
        raise GradrankError(f"{path}: {len(rows)} documents have no score; the first is {first_name(rows)}")
    return scores


def read_ranking(
    path: Path | str, judgements: Judgements, split: str = "test"
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    """A ranking that need not hold every document, by trec_eval's rule; what it leaves out is said on stderr.

    Returns the judgements, with those documents that the file ranks and nobody judged, as grade 0, where they are
    qrels; (n,) scores; and (n,) whether a document is ranked at all. The file is as of `read_scores`, which raises
    the same errors.
    """
    judgements, scores, ranked = _read_ranking(Path(path), judgements, split)
    if not ranked.all():
        none = len(judgements.qids) - len(np.unique(_query_of_row(judgements)[ranked]))
        _say(
            f"{path}: ranks {ranked.sum()} of {len(ranked)} documents. As in trec_eval, the others have no rank, and "
            f"the relevant ones among them count in the ideal and in recall"
            + (f"; {none} of {len(judgements.qids)} queries are not in it and score 0 (trec_eval -c)" if none else "")
        )
    return judgements, scores, ranked


def _read_ranking(path: Path, judgements: Judgements, split: str) -> tuple[Judgements, np.ndarray, np.ndarray]:
    path = existing(path)
    parquet = path.suffix == ".parquet"
    table, row = (_read_parquet(path, split), "row") if parquet else (_read_text(path), "line")
    if table.is_empty():
        raise GradrankError(f"{path}: no scores in it")
    if "ranked" not in table.columns:
        table = table.with_columns(ranked=True)
    unfit = table.filter(pl.col("ranked") & (pl.col("score").is_null() | ~pl.col("score").is_finite()))
    if len(unfit):
        raise GradrankError(f"{path}, {row} {unfit['number'][0]}: {unfit['text'][0]!r} is not a finite number")
    if "docid" in table.columns:
        return _by_id(table, _named(judgements, table, path), path, row)
    if not judgements.complete:
        raise GradrankError(f"{path}: has no document ids, and qrels name documents; give a TREC run")
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one each, in order"
        )
    return judgements, table["score"].fill_null(0.0).fill_nan(0.0).to_numpy(), table["ranked"].to_numpy()


def _read_parquet(path: Path, split: str) -> pl.DataFrame:
    table = read_parquet(path)
    if "score" not in table.columns or not table["score"].dtype.is_numeric():
        raise GradrankError(f"{path}: expected a numeric column `score`, got {', '.join(table.columns)}")
    if ("docid" in table.columns) != ("qid" in table.columns):
        raise GradrankError(f"{path}: `qid` and `docid` name a document together; one of the columns is missing")
    if "ranked" in table.columns and (table["ranked"].dtype != pl.Boolean or table["ranked"].null_count()):
        raise GradrankError(
            f"{path}: column `ranked` is {table['ranked'].dtype} with {table['ranked'].null_count()} missing "
            f"values; expected "
            "true or false in each row"
        )
    table = table.with_columns(pl.col("score").cast(pl.Float64)).with_row_index("number", offset=1)
    if "docid" in table.columns:
        table = table.with_columns(_ids(table, name, new, path) for name, new in (("qid", "query"), ("docid", "docid")))
    table = table.with_columns(text=pl.col("score").cast(pl.String))
    return table.filter(pl.col("split") == split) if "split" in table.columns else table


def _read_text(path: Path) -> pl.DataFrame:
    read = collect(lines(path), path)
    while len(read) and not read["text"][-1]:  # blank read at the end are no scores
        read = read[:-1]
    if not len(read) or len(read["text"][0].split()) != 6:
        return read.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    groups = pl.col("text").str.extract_groups(r"^(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+$")
    fields = read.with_columns(groups.alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("1").is_null())
    if len(bad):
        shown = f"{path}, line {bad['number'][0]}: {bad['text'][0][:60]!r}"
        raise GradrankError(f"{shown} is not of the form `qid Q0 docid rank score tag`")
    return fields.select(
        "number",
        query=pl.col("1"),
        docid=pl.col("2"),
        text=pl.col("3"),
        score=pl.col("3").cast(pl.Float64, strict=False),
    )


def _named(judgements: Judgements, table: pl.DataFrame, path: Path) -> Judgements:
    """With the ids that `gradrank predict` and `export` give documents that have none."""
    if judgements.docids is not None:
        return judgements
    if not table["docid"].str.contains(rf"^\d{{{DIGITS}}}$").all():
        raise GradrankError(
            f"{path}: has document ids, but the data have none; give one score a line, in order, or ids that are "
            f"the rows' numbers in {DIGITS} digits, as `gradrank predict --form trec` writes them"
        )
    _say(f"{path}: the data have no document ids; those in it are taken as the numbers of the data's rows, from 1")
    return replace(judgements, docids=document_ids(None, len(judgements.labels)))


def _by_id(
    table: pl.DataFrame, judgements: Judgements, path: Path, row: str
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    keys = ["query", "docid"]
    twice = table.filter(~pl.struct(keys).is_first_distinct())
    if len(twice):
        raise GradrankError(f"{path}, {row} {twice['number'][0]}: {first_name(twice)} has a second score")
    rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids, "label": judgements.labels})
    unknown = table.join(rows, on=keys, how="anti", maintain_order="left")
    if len(unknown) and judgements.complete:
        raise GradrankError(f"{path}, {row} {unknown['number'][0]}: {first_name(unknown)} is not in the data")
    again = rows.filter(~pl.struct(keys).is_first_distinct()).join(table, on=keys, how="semi", maintain_order="left")
    if len(again):
        raise GradrankError(
            f"{path}: {first_name(again)} is in the data twice, so that ids do not tell its scores apart. Fix: give "
            f"one "
            "score per line, in the data's order"
        )
    if len(unknown):
        rows = _with_unjudged(rows, unknown, path)
        judgements = of_queries(rows, path)
    found = rows.join(table.filter("ranked"), on=keys, how="left", maintain_order="left")["score"]
    return judgements, found.fill_null(0.0).to_numpy(), found.is_not_null().to_numpy()


def _ids(table: pl.DataFrame, name: str, new: str, path: Path) -> pl.Series:
    ids = text_ids(table[name], name, path)
    if ids.null_count():
        raise GradrankError(f"{path}, row {table['number'][ids.is_null().arg_true()[0]]}: has no {name}")
    return ids.alias(new)


def _query_of_row(judgements: Judgements) -> np.ndarray:
    return np.repeat(np.arange(len(judgements.qids)), np.diff(judgements.offsets))


def _with_unjudged(rows: pl.DataFrame, unknown: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Documents of judged queries that nobody judged count as irrelevant; other queries are left out."""
    own = unknown.filter(pl.col("query").is_in(rows["query"].implode()))
    others = unknown["query"].n_unique() - own["query"].n_unique()
    _say(
        f"{path}: {len(own)} documents in it are not judged and count as irrelevant, as in trec_eval"
        + (f"; {others} queries in it have no judgements and are left out" if others else "")
    )
    own = own.select("query", "docid", pl.lit(0, rows.schema["label"]).alias("label"))
    return together(pl.concat([rows, own]).with_row_index("number")).drop("number")


def _say(note: str) -> None:
    print(f"note: {note}", file=sys.stderr)
