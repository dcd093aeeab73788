"""Document ids in TREC files, also for documents without an id in the data."""

import polars as pl

DIGITS = 10  # number of digits of a row number; enough for any collection


def document_ids(docids: pl.Series | None, rows: int, before: int = 0) -> pl.Series:
    """Return the (n,) ids of n = `rows` documents. A document without an id gets its row number in the input, from 1.

    docids: (n,) ids or nulls; None if no document has an id. before: number of rows of the input that precede these
    documents.

    Row numbers have leading zeros, so that their text sorts in row order. trec_eval breaks ties by document id. If the
    ids are such row numbers, the values of trec_eval equal those of the convention `trec`. The number of digits is
    fixed because new data are read in pieces, before the number of rows is known.
    """
    numbers = pl.int_range(before + 1, before + rows + 1, eager=True).cast(pl.String).str.zfill(DIGITS)
    return numbers if docids is None else docids.fill_null(numbers)
