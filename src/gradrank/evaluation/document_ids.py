"""What a document is called in TREC's files where the data do not say it."""

import polars as pl

DIGITS = 10  # of a row's number: more rows than any collection has


def document_ids(docids: pl.Series | None, rows: int, before: int = 0) -> pl.Series:
    """(n,) names of `rows` documents: their ids; of one without an id its row in the input, from 1.

    before: rows of the input that came earlier. Rows have leading zeros, so that names sort as rows do:
    trec_eval breaks ties by name, and under the convention `trec` its figures are ours with or without ids. The
    width is fixed because a stream does not know its end: new data are ranked piece by piece.
    """
    numbers = pl.int_range(before + 1, before + rows + 1, eager=True).cast(pl.String).str.zfill(DIGITS)
    return numbers if docids is None else docids.fill_null(numbers)
