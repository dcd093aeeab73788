"""What evaluation reads: grades without the features, and score files, which are checked line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.data.stored import describe, part_file
from gradrank.errors import GradrankError


@dataclass(frozen=True)
class Judgements:
    """Grades grouped by query: labels (n,) int, offsets (q+1,), qids (q,), docids (n,) or None.

    names: (q,) ids of the queries where they are text, which `qids` numbers; else None.
    """

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: pl.Series | None
    names: np.ndarray | None = None

    @property
    def ids(self) -> np.ndarray:
        """(q,) ids of the queries as the data have them: whole numbers, or objects that are text."""
        return self.qids if self.names is None else self.names

    @property
    def id_of_row(self) -> np.ndarray:
        """(n,) the id of each row's query."""
        return np.repeat(self.ids, np.diff(self.offsets))


def read_judgements(path: Path | str, parts: Sequence[int] | None = None) -> Judgements:
    """Of a stored collection the parts named, in that order (None: all); of Parquet, LETOR or SVMlight text all.

    Raises GradrankError for what is none of these, a part that is missing or damaged, or a query in two pieces.
    """
    path = Path(path)
    if path.is_dir():
        wanted = parts or [int(part) for part in describe(path)["parts"]]
        pieces = [_judged(part_file(path, part)) for part in wanted]
        return _grouped(pl.concat(pieces), path)
    path = _existing(path)
    return _grouped(_judged(path) if path.suffix == ".parquet" else _read_letor(path), path)


def _judged(path: Path) -> pl.DataFrame:
    return _collect(pl.scan_parquet(path).select("qid", "label", "docid", pl.col("^query$")), path)


def _read_letor(path: Path) -> pl.DataFrame:
    """`label qid:N ... #docid = X` lines; what features they hold is the parser's business."""
    lines = _lines(path).filter(~pl.col("text").str.contains(r"^(#|$)"))
    head = pl.col("text").str.head(60)
    groups = head.str.extract_groups(r"^(?<label>\d\d?)(?:\.0*)?\s+qid:(?<qid>[^\s#]+)(?:[\s#]|$)")
    docid = pl.col("text").str.extract(r"#\s*docid\s*=\s*(\S+)")
    fields = _collect(lines.select("number", head, groups.alias("fields"), docid.alias("docid")), path)
    fields = fields.unnest("fields")
    bad = fields.filter(pl.col("label").is_null())
    if len(bad):
        raise GradrankError(
            f"{path}, line {bad['number'][0]}: expected GRADE qid:N ..., got {bad['text'][0]!r}"
        )
    fields = fields.with_columns(pl.col("label").cast(pl.Int32))
    if fields["qid"].str.contains(r"^\d{1,18}$").all():
        return fields.select("label", pl.col("qid").cast(pl.Int64), "docid")
    return fields.select("label", pl.col("qid").rank("dense").cast(pl.Int64), "docid", query="qid")


def _grouped(table: pl.DataFrame, path: Path) -> Judgements:
    if table.is_empty():
        raise GradrankError(f"{path}: no judgements in it")
    qids = table["qid"].to_numpy()
    starts = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    names, counts = np.unique(qids[starts], return_counts=True)
    if counts.max() > 1:
        again = names[counts > 1][0]
        shown = table.filter(qid=again)["query"][0] if "query" in table.columns else again
        raise GradrankError(f"{path}: the rows of query {shown} are not together")
    docids = table["docid"] if table["docid"].null_count() == 0 else None
    offsets = np.r_[starts, len(qids)].astype(np.int64)
    texts = table["query"].to_numpy()[starts] if "query" in table.columns else None
    return Judgements(table["label"].to_numpy(), offsets, qids[starts], docids, texts)


def read_scores(path: Path | str, judgements: Judgements, split: str = "test") -> np.ndarray:
    """(n,) float64 scores for the rows of `judgements`, higher first.

    The file is text with one score a line in the rows' order; a TREC run (`qid Q0 docid rank score tag`); or
    Parquet with a column `score`, and `split` (only the rows of `split` are taken) or `qid` and `docid`. By
    document ids the order is free. Raises GradrankError for missing or surplus rows, ids that occur twice or
    not at all, and what is not a finite number.
    """
    path = _existing(path)
    parquet = path.suffix == ".parquet"
    table, row = (_read_parquet(path, split), "row") if parquet else (_read_text(path), "line")
    if table.is_empty():
        raise GradrankError(f"{path}: no scores in it")
    unfit = table.filter(pl.col("score").is_null() | ~pl.col("score").is_finite())
    if len(unfit):
        raise GradrankError(
            f"{path}, {row} {unfit['number'][0]}: {unfit['text'][0]!r} is not a finite number"
        )
    if "docid" in table.columns:
        return _by_id(table, judgements, path, row)
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one each, in order"
        )
    return table["score"].to_numpy()


def _read_parquet(path: Path, split: str) -> pl.DataFrame:
    table = _collect(pl.scan_parquet(path), path)
    if "score" not in table.columns or not table["score"].dtype.is_numeric():
        raise GradrankError(f"{path}: expected a numeric column `score`, got {', '.join(table.columns)}")
    if ("docid" in table.columns) != ("qid" in table.columns):
        raise GradrankError(
            f"{path}: `qid` and `docid` name a document together; one of the columns is missing"
        )
    table = table.with_columns(pl.col("score").cast(pl.Float64)).with_row_index("number", offset=1)
    table = table.with_columns(text=pl.col("score").cast(pl.String))
    return table.filter(pl.col("split") == split) if "split" in table.columns else table


def _read_text(path: Path) -> pl.DataFrame:
    lines = _collect(_lines(path), path)
    while len(lines) and not lines["text"][-1]:  # blank lines at the end are no scores
        lines = lines[:-1]
    if not len(lines) or len(lines["text"][0].split()) != 6:
        return lines.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    groups = pl.col("text").str.extract_groups(r"^(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+$")
    fields = lines.with_columns(groups.alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("1").is_null())
    if len(bad):
        shown = f"{path}, line {bad['number'][0]}: {bad['text'][0][:60]!r}"
        raise GradrankError(f"{shown} is not of the form `qid Q0 docid rank score tag`")
    return fields.select(
        "number",
        qid=pl.col("1"),
        docid=pl.col("2"),
        text=pl.col("3"),
        score=pl.col("3").cast(pl.Float64, strict=False),
    )


def _by_id(table: pl.DataFrame, judgements: Judgements, path: Path, row: str) -> np.ndarray:
    if judgements.docids is None:
        raise GradrankError(
            f"{path}: has document ids, but the data have none; give one score a line, in order"
        )
    keys = ["qid", "docid"]
    rows = pl.DataFrame({"qid": judgements.id_of_row, "docid": judgements.docids})
    table = table.with_columns(pl.col("qid").cast(rows["qid"].dtype, strict=False))
    twice = table.filter(~pl.struct(keys).is_first_distinct())
    if len(twice):
        raise GradrankError(f"{path}, {row} {twice['number'][0]}: {_name(twice)} has a second score")
    unknown = table.join(rows, on=keys, how="anti", maintain_order="left")
    if len(unknown):
        raise GradrankError(f"{path}, {row} {unknown['number'][0]}: {_name(unknown)} is not in the data")
    found = rows.join(table, on=keys, how="left", maintain_order="left")
    missing = found.filter(pl.col("score").is_null())
    if len(missing):
        raise GradrankError(f"{path}: {len(missing)} documents have no score; the first is {_name(missing)}")
    return found["score"].to_numpy()


def _name(table: pl.DataFrame) -> str:
    return f"document {table['docid'][0]!r} of query {table['qid'][0]}"


def _lines(path: Path) -> pl.LazyFrame:
    """Columns `number` (from 1) and `text` (without byte order mark, carriage return and outer blanks)."""
    lines = pl.scan_lines(path, name="text", row_index_name="number", row_index_offset=1, glob=False)
    return lines.with_columns(pl.col("text").str.strip_prefix("\ufeff").str.strip_chars())


def _collect(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Read in pieces: only the columns asked for are ever in memory whole."""
    try:
        return table.collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        kind = "Parquet file of the expected columns" if path.suffix == ".parquet" else "text file"
        raise GradrankError(f"{path}: not a {kind}: {error}") from None


def _existing(path: Path | str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise GradrankError(f"{path}: no such file")
    return path
