"""CSV files that are longer than one block of the parser, and rows of some queries of a table."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.reader import read_collection
from gradrank.data.tables.files import BLOCK, read_separated


def test_a_row_may_be_longer_than_the_first_block(tmp_path):
    path = tmp_path / "long.csv"
    text = "x" * (BLOCK + 10)
    path.write_text(f"a,b\n1,{text}\n2,y\n")
    names, frame = read_separated(path)
    assert names == ["a", "b"] and frame["c0"].to_list() == ["1", "2"]
    assert frame["c1"].to_list() == [text, "y"]


def test_quoted_line_ends_and_separators_at_the_ends_of_blocks(tmp_path):
    path = tmp_path / "quoted.csv"
    values = [f'{number},\n"{"z" * (number % 3001)}' for number in range(2 * BLOCK // 1500)]
    quoted = ('"' + value.replace('"', '""') + '"' for value in values)
    path.write_text("a,b\n" + "".join(f"{number},{value}\n" for number, value in enumerate(quoted)))
    assert path.stat().st_size > 1.5 * BLOCK
    _, frame = read_separated(path)
    assert frame["c1"].to_list() == values
    assert frame["c0"].to_list() == list(map(str, range(len(values))))


def test_the_line_of_a_bad_row_after_the_first_block(tmp_path):
    path = tmp_path / "bad.csv"
    rows = 2 * BLOCK // 1000
    path.write_text("a,b\n" + f"1,{'y' * 997}\n" * rows + "1,2,3\n")
    with pytest.raises(GradrankError, match=f"line {rows + 2}: 3 fields, but the header has 2"):
        read_separated(path)


@pytest.mark.parametrize("queries", [[], [0], [4], [1, 2], [0, 1, 2, 3, 4], [0, 2], [1, 2, 4]])
def test_the_rows_of_some_queries(tmp_path, queries):
    """Adjacent queries are a slice of the table, others are gathered."""
    path, sizes = tmp_path / "table.csv", [2, 1, 3, 1, 2]
    qid = np.repeat(np.arange(5), sizes)
    pl.DataFrame({"qid": qid, "label": qid % 2, "x": np.arange(9.0)}).write_csv(path)
    (table,) = read_collection([path]).sources
    rows = table.rows_of(np.array(queries, dtype=np.int64))
    assert rows["f1"].to_list() == [float(row) for row in range(9) if qid[row] in queries]
    assert rows.columns == table.frame.columns
