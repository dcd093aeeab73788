"""Document ids in TREC files, also for documents without an id in the data."""

import polars as pl

DIGITS = 10  # of a row number; enough for any collection


def document_ids(docids: pl.Series | None, rows: int, before: int = 0) -> pl.Series:
    """Return (n,) ids of `rows` documents; a document without an id gets its row number in the input, from 1.

    docids: (n,) ids or nulls; None if no document has an id. before: number of rows of the input before these.

    Row numbers have leading zeros, so that their text sorts like the rows. trec_eval breaks ties by document id, so its
    values equal those of the convention `trec`. The width is fixed because new data are read in pieces, before their
    number of rows is known.
    """
    numbers = pl.int_range(before + 1, before + rows + 1, eager=True).cast(pl.String).str.zfill(DIGITS)
    return numbers if docids is None else docids.fill_null(numbers)
