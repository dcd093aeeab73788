"""What evaluation holds scores against: grades without the features, of a collection, of its text or of qrels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.data.parquet import OF_POLARS, read_parquet
from gradrank.data.stored import describe, part_file
from gradrank.errors import GradrankError
from gradrank.evaluation.document_ids import document_ids

JUDGED = ("qid", "query", "docid", "label")


@dataclass(frozen=True)
class Judgements:
    """Grades grouped by query: labels (n,) int, offsets (q+1,), qids (q,), docids (n,) or None.

    names: (q,) ids of the queries where they are text, which `qids` numbers; else None. complete: whether these are all
    documents there are; of qrels they are those that somebody judged.
    """

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: pl.Series | None
    names: np.ndarray | None = None
    complete: bool = True

    @property
    def ids(self) -> np.ndarray:
        """(q,) ids of the queries as the data have them: whole numbers, or objects that are text."""
        return self.qids if self.names is None else self.names

    @property
    def id_of_row(self) -> np.ndarray:
        """(n,) the id of each row's query."""
        return np.repeat(self.ids, np.diff(self.offsets))


def read_judgements(path: Path | str, parts: Sequence[int] | None = None) -> Judgements:
    """Of a stored collection the parts named, in that order (None: all); of Parquet, LETOR or SVMlight text all; TREC's
    qrels.

    Raises GradrankError for what is none of these, a part that is missing or damaged, or a query in two pieces.
    """
    path = Path(path)
    if path.is_dir():
        wanted = parts or [int(part) for part in describe(path)["parts"]]
        pieces = [_judged(pl.scan_parquet(part_file(path, part)), path) for part in wanted]
        return grouped(pl.concat(pieces), path)
    path = existing(path)
    if path.suffix == ".parquet":
        return grouped(_judged(read_parquet(path, JUDGED).lazy(), path), path)
    return _read_qrels(path) if _is_qrels(path) else grouped(_read_letor(path), path)


def _judged(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    return collect(table.select("qid", "label", "docid", pl.col("^query$")), path)


def _read_letor(path: Path) -> pl.DataFrame:
    """`label qid:N ... #docid = X` lines; what features they hold is the parser's business."""
    rows = lines(path).filter(~pl.col("text").str.contains(r"^(#|$)"))
    head = pl.col("text").str.head(60)
    groups = head.str.extract_groups(r"^(?<label>\d\d?)(?:\.0*)?\s+qid:(?<qid>[^\s#]+)(?:[\s#]|$)")
    docid = pl.col("text").str.extract(r"#\s*docid\s*=\s*(\S+)")
    fields = collect(rows.select("number", head, groups.alias("fields"), docid.alias("docid")), path)
    fields = fields.unnest("fields")
    bad = fields.filter(pl.col("label").is_null())
    if len(bad):
        raise GradrankError(
            f"{path}, line {bad['number'][0]}: expected GRADE qid:N ..., got {bad['text'][0]!r}"
        )
    return numbered(fields.select(pl.col("label").cast(pl.Int32), "qid", "docid"))


def numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Queries with whole numbers in `qid`; ids that are no numbers are numbered, and a column `query` has them."""
    if table.schema["qid"] != pl.String:
        return table
    if table["qid"].str.contains(r"^\d{1,18}$").all():
        return table.with_columns(pl.col("qid").cast(pl.Int64))
    return table.with_columns(pl.col("qid").rank("dense").cast(pl.Int64), query="qid")


def _is_qrels(path: Path) -> bool:
    first = collect(lines(path).filter(pl.col("text") != "").head(1), path)
    fields = first["text"][0].split() if len(first) else []
    return len(fields) == 4 and fields[0][:1] != "#" and not any("qid:" in field for field in fields)


def _read_qrels(path: Path) -> Judgements:
    """Lines `qid iteration docid grade`, in any order; a grade below 0, of which trec_eval makes nothing, is 0."""
    read = collect(lines(path).filter(pl.col("text") != ""), path)
    groups = pl.col("text").str.extract_groups(r"^(?<qid>\S+)\s+\S+\s+(?<docid>\S+)\s+(?<label>-?\d{1,2})$")
    table = read.with_columns(groups.alias("fields")).unnest("fields")
    if len(bad := table.filter(pl.col("label").is_null())):
        shown = f"{path}, line {bad['number'][0]}: {bad['text'][0][:60]!r}"
        raise GradrankError(f"{shown} is not of the form `qid iteration docid grade`")
    table = numbered(table.with_columns(pl.col("label").cast(pl.Int32).clip(0)))
    if len(twice := table.filter(~pl.struct("qid", "docid").is_first_distinct())):
        raise GradrankError(f"{path}, line {twice['number'][0]}: {first_name(twice)} is judged twice")
    return replace(grouped(together(table), path), complete=False)


def together(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of each query one after the other, queries in the order of their first rows."""
    return table.sort(pl.col("number").min().over("qid"), maintain_order=True)


def grouped(table: pl.DataFrame, path: Path) -> Judgements:
    """From columns `qid`, `label` and `docid`. Raises GradrankError where the rows of a query are not together."""
    if table.is_empty():
        raise GradrankError(f"{path}: no judgements in it")
    qids = table["qid"].to_numpy()
    starts = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    names, counts = np.unique(qids[starts], return_counts=True)
    if counts.max() > 1:
        again = names[counts > 1][0]
        shown = table.filter(qid=again)["query"][0] if "query" in table.columns else again
        raise GradrankError(f"{path}: the rows of query {shown} are not together")
    docids = document_ids(table["docid"], len(table)) if table["docid"].count() else None
    offsets = np.r_[starts, len(qids)].astype(np.int64)
    texts = table["query"].to_numpy()[starts] if "query" in table.columns else None
    return Judgements(table["label"].to_numpy(), offsets, qids[starts], docids, texts)


def first_name(table: pl.DataFrame) -> str:
    """Of the first row's document, as an error names it."""
    return f"document {table['docid'][0]!r} of query {table['qid'][0]}"


def lines(path: Path) -> pl.LazyFrame:
    """Columns `number` (from 1) and `text` (without byte order mark, carriage return and outer blanks)."""
    lines = pl.scan_lines(path, name="text", row_index_name="number", row_index_offset=1, glob=False)
    return lines.with_columns(pl.col("text").str.strip_prefix("\ufeff").str.strip_chars())


def collect(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Read in pieces: only the columns asked for are ever in memory whole."""
    try:
        return table.collect(engine="streaming")
    except OF_POLARS as error:
        kind = "Parquet file of the expected columns" if path.suffix == ".parquet" else "text file"
        raise GradrankError(f"{path}: not a {kind}: {error}") from None


def existing(path: Path | str) -> Path:
    """The path. Raises GradrankError where no file is."""
    path = Path(path)
    if not path.is_file():
        raise GradrankError(f"{path}: no such file")
    return path
