"""Judgements to evaluate scores by: grades without features, from a stored collection, a file or qrels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import blocks, is_packed
from gradrank.data.compressed import lines as packed_lines
from gradrank.data.ids import numbered
from gradrank.data.layout import is_table
from gradrank.data.reader import read_judged
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.parquet import OF_POLARS
from gradrank.data.tables.roles import Columns
from gradrank.data.text.scan import HIGHEST_GRADE
from gradrank.data.text.text_file import BYTE_ORDER_MARK
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
    def id_of_row(self) -> pl.Series:
        """(n,) the id of each row's query, as text."""
        ids = pl.Series("query", self.ids).cast(pl.String)
        return ids.gather(np.repeat(np.arange(len(ids)), np.diff(self.offsets)))


def read_judgements(
    path: Path | str | StoredCollection,
    parts: Sequence[int] | None = None,
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> Judgements:
    """The judgements of a stored collection (parts in the order given; None: all), of a file in any form that training
    reads, or of TREC's qrels.

    columns: of a table. Raises GradrankError for what is none of these, a part that is missing or damaged, or a query
    in two pieces.
    """
    if isinstance(path, StoredCollection) or Path(path).is_dir():
        stored = path if isinstance(path, StoredCollection) else StoredCollection.open(path)
        tables = [pl.scan_parquet(stored.part_file(part)) for part in parts or stored.parts]
        return _grouped([_judged(table, stored.path) for table in tables], stored.path)
    path = existing(path)
    if not is_table(path) and _is_qrels(path):
        return _read_qrels(path)
    reading = read_judged(path, columns)
    (source,) = reading.sources
    frames = [frame.select(name for name in JUDGED if name in frame.columns) for frame in reading.frames(source)]
    return _grouped([pl.concat(frames)], path)


def _judged(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    return collect(table.select("qid", "label", "docid", pl.col("^query$")), path)


def _is_qrels(path: Path) -> bool:
    rows = (line.removeprefix(BYTE_ORDER_MARK).split() for line in packed_lines(path))
    fields = next(filter(None, rows), [])
    return len(fields) == 4 and fields[0][:1] != b"#" and not any(b"qid:" in field for field in fields)


def _read_qrels(path: Path) -> Judgements:
    """Lines `qid iteration docid grade`, in any order; a grade below 0, of which trec_eval makes nothing, is 0."""
    read = collect(lines(path).filter(pl.col("text") != ""), path)
    groups = pl.col("text").str.extract_groups(r"^(?<query>\S+)\s+\S+\s+(?<docid>\S+)\s+(?<label>-?[0-9]{1,9})$")
    table = read.with_columns(groups.alias("fields")).unnest("fields")
    table = table.with_columns(pl.col("label").cast(pl.Int32).clip(0))
    if len(bad := table.filter(pl.col("label").is_null())):
        shown = f"{path}, line {bad['number'][0]}: {bad['text'][0][:60]!r}"
        raise GradrankError(f"{shown} is not of the form `qid iteration docid grade`")
    if len(bad := table.filter(pl.col("label") > HIGHEST_GRADE)):
        raise GradrankError(
            f"{path}, line {bad['number'][0]}: expected a grade, a whole number up to {HIGHEST_GRADE}, found "
            f"{bad['label'][0]}"
        )
    if len(twice := table.filter(~pl.struct("query", "docid").is_first_distinct())):
        raise GradrankError(f"{path}, line {twice['number'][0]}: {first_name(twice)} is judged twice")
    return of_queries(together(table), path)


def of_queries(table: pl.DataFrame, path: Path) -> Judgements:
    """Judgements that need not be complete, from columns `query` (text), `docid` and `label`, queries together."""
    runs = table["query"].rle().struct.unnest()
    ((qids, names),) = numbered([runs["value"].to_list()])
    table = table.with_columns(qid=pl.Series(np.repeat(qids, runs["len"].to_numpy())))
    return replace(_grouped([table if names else table.drop("query")], path), complete=False)


def together(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of each query one after the other, queries in the order of their first rows."""
    return table.sort(pl.col("number").min().over("query"), maintain_order=True)


def _grouped(parts: Sequence[pl.DataFrame], path: Path) -> Judgements:
    """From columns `qid`, `label` and `docid`, may be `query`. Two parts may number their queries alike.

    Raises GradrankError where the rows of a query are not together.
    """
    table = pl.concat(parts)
    if table.is_empty():
        raise GradrankError(f"{path}: no judgements in it")
    qids = table["qid"].to_numpy()
    begins = np.r_[True, qids[1:] != qids[:-1]]
    for own, end in zip(parts, np.cumsum([len(each) for each in parts]), strict=True):
        begins[end - len(own)] = True
        runs = own["qid"].rle().struct.field("value")
        if runs.is_duplicated().any():
            again = runs.filter(runs.is_duplicated())[0]
            shown = own.filter(qid=again)["query"][0] if "query" in own.columns else again
            raise GradrankError(f"{path}: the rows of query {shown} are not together")
    starts = np.flatnonzero(begins)
    docids = document_ids(table["docid"], len(table)) if table["docid"].count() else None
    offsets = np.r_[starts, len(qids)].astype(np.int64)
    texts = table["query"].to_numpy()[starts] if "query" in table.columns else None
    return Judgements(table["label"].to_numpy(), offsets, qids[starts], docids, texts)


def first_name(table: pl.DataFrame) -> str:
    """Of the first row's document, as an error names it."""
    return f"document {table['docid'][0]!r} of query {table['query'][0]}"


def lines(path: Path) -> pl.LazyFrame:
    """Columns `number` (from 1) and `text` (without byte order mark, carriage return and outer blanks)."""
    source = BytesIO(b"".join(blocks(path))) if is_packed(path) else path
    lines = pl.scan_lines(source, name="text", row_index_name="number", row_index_offset=1, glob=False)
    return lines.with_columns(pl.col("text").str.strip_prefix("\ufeff").str.strip_chars())


def collect(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Read in pieces: only the columns asked for are ever in memory whole."""
    try:
        return table.collect(engine="streaming")
    except OF_POLARS as error:
        kind = "part of a stored collection" if path.is_dir() else "text file"
        reason = str(error).splitlines()[0]  # the others are the query's plan
        raise GradrankError(f"{path}: not a {kind}: {reason}") from None


def existing(path: Path | str) -> Path:
    """The path. Raises GradrankError where no file is."""
    path = Path(path)
    if not path.is_file():
        raise GradrankError(f"{path}: no such file")
    return path
