"""Description of how training, prediction and evaluation interpret a file. Nothing is written."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.checks import OrderCounts, feature_warnings, order_counts
from gradrank.data.description import (
    ColumnRanges,
    column_ranges,
    describe_roles,
    fold_lines,
    large_features,
    merge_ranges,
    role_table,
)
from gradrank.data.file_forms import readable_path
from gradrank.data.fold_files import FilesRead, read_files
from gradrank.data.fold_parts import divide
from gradrank.data.layout import FOLDS, FoldOptions, Layout, find_layout, is_table
from gradrank.data.part_files import COLLECTION
from gradrank.data.proposal import dataset_name, decision_error, propose
from gradrank.data.reader import feature_matrix
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import raw_table
from gradrank.data.text.letor import chunks


def inspect(
    path: Path,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    features: int | None = None,
    options: FoldOptions = FoldOptions(),  # noqa: B008 - immutable
) -> Iterator[str]:
    """Yield the number of rows, queries and features, the table of column roles, and the folds, as lines of text.

    Parameters
    ----------
    path
        A file, a folder whose files are read as one collection, or a stored collection. Grades may be missing.
    columns
        The columns that the user declares for a table.
    features
        The number of features of sparse text. If None, the highest feature number is used.
    options
        The division into folds. The folds of a file with too few queries are left out, unless options are given.

    If a person must decide about columns of a table, the lines are the proposal of data/proposal.py, and a
    GradrankError is raised after the last line. Also raises GradrankError if a file cannot be read, or if its queries
    cannot be divided into folds.
    """
    path = readable_path(path)
    if (path / COLLECTION).is_file():
        stored = StoredCollection.open(path)
        yield f"{path}: {stored.rows:,} rows, {stored.queries:,} queries, {stored.features} features"
        yield from role_table(stored.roles)
        yield from fold_lines(stored.description)
        yield from (f"WARNING: {warning}" for warning in stored.description.get("warnings", []))
        return
    if path.is_file() and options == FoldOptions():  # `find_layout` would refuse a file with too few queries
        layout = Layout("single_file", [path], FOLDS)
    else:
        layout = find_layout(path, options)
    table = next((file for file in layout.files if is_table(file)), None)
    if table is not None:
        aside = () if options.fold is None or options.fold in columns.ignore else (options.fold,)
        yield from _proposed(table, path, replace(columns, ignore=(*columns.ignore, *aside)))
    with TemporaryDirectory(prefix="gradrank-") as folder:
        read = read_files(layout, options, columns, features, None, Path(folder), roles=("query",))
        counts, ranges, folds, warnings = _described(layout, read, options)
    rows, queries = counts
    roles = describe_roles(next(iter(read.sources.values())), read.reading.names, ranges, rows, queries)
    yield f"{path}: {rows:,} rows, {queries:,} queries, {read.reading.width} features"
    yield from role_table(roles)
    if folds is not None:
        yield from fold_lines(folds)
    yield from (f"WARNING: {warning}" for warning in warnings)


def _proposed(table: Path, path: Path, columns: Columns) -> Iterator[str]:
    """Yield the proposal for the first table of a collection if a person must decide, and raise an error after it."""
    proposal = propose(raw_table(table, table, columns.header), columns)
    if proposal.is_blocked:
        yield f"{table}: {len(proposal.described)} columns"
        yield from proposal.lines()
        yield "For params.yaml:"
        yield from ("datasets:", f"  {dataset_name(path)}:", f"    path: {json.dumps(str(path.resolve()))}")
        yield from proposal.entries()
        raise decision_error(proposal)


def _described(
    layout: Layout, read: FilesRead, options: FoldOptions
) -> tuple[tuple[int, int], ColumnRanges, dict[str, Any] | None, list[str]]:
    """Return the numbers of rows and queries, the ranges of the columns, the folds (None without), and the warnings."""
    divided, folds = None, None
    try:
        divided = divide(layout, read.repeated, read.sources, options, 0, read.reading.width)
    except GradrankError:
        if layout.kind != "single_file" or options != FoldOptions():
            raise
    parts = [(source, np.arange(len(source.qids))) for source in read.sources.values()]
    if divided is not None:
        parts = [(part.source, part.queries[divided.is_new[number]]) for number, part in divided.parts.items()]
        sizes = {str(number): {"queries": len(part.queries)} for number, part in divided.parts.items()}
        folds = {
            "parts": sizes,
            "folds": divided.folds,
            "held_out": divided.held_out,
            "fold_values": layout.fold_values,
        }
    width = read.reading.width
    frames = (
        read.reading.frame(source, chunk)
        for source, queries in parts
        if len(queries)
        for chunk in chunks(source, queries, width)
    )
    orders: list[OrderCounts] = []

    def described(frame: pl.DataFrame) -> ColumnRanges:
        features, qids = feature_matrix(frame), frame["qid"].to_numpy()
        starts = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
        orders.append(order_counts(features, frame["label"].to_numpy(), np.diff(np.r_[starts, len(qids)])))
        return column_ranges(frame, features)

    ranges = merge_ranges(map(described, frames))
    merged = read.reading.merged(large_features(ranges))
    warnings = feature_warnings(read.reading.names, read.columns.keep, orders, merged)
    rows = sum(int(source.rows[queries].sum()) for source, queries in parts)
    return (rows, sum(len(queries) for _, queries in parts)), ranges, folds, warnings
