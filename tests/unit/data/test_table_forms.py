"""Tables in every file form are read with equal values."""

import json

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.parse import parse

ROWS = [
    {"qid": f"q{row // 3}", "label": row % 3, "a": row / 7, "b": None if row == 4 else row % 5} for row in range(15)
]
FRAME = pl.DataFrame(ROWS)


def write(path):
    if path.suffix == ".csv":
        FRAME.write_csv(path)
    elif path.suffix == ".parquet":
        FRAME.write_parquet(path)
    elif path.suffix in (".feather", ".arrow"):
        FRAME.write_ipc(path)
    else:
        path.write_text("\n".join(json.dumps({k: v for k, v in row.items() if v is not None}) for row in ROWS) + "\n")
    return path


def parsed(path, out):
    description = parse(path, out, 1, "mine")
    return description, [pl.read_parquet(file) for file in sorted(out.glob("part*.parquet"))]


@pytest.mark.parametrize("suffix", [".csv", ".feather", ".arrow", ".jsonl", ".ndjson"])
def test_a_table_has_equal_rows_in_every_form(suffix, tmp_path):
    _, expected = parsed(write(tmp_path / "data.parquet"), tmp_path / "expected")
    description, found = parsed(write(tmp_path / f"data{suffix}"), tmp_path / "found")
    assert description["names"] == ["a", "b"]
    assert all(one.equals(other, null_equal=True) for one, other in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"qid": 1, "label": 0, "a": 1}\n{"qid": 1, "label": 1, "a": "x"}\n', "changed from number"),
        ("a.jsonl", '{"qid": 1\n', "not JSON lines"),
        ("a.jsonl", " \n", "empty"),
        ("a.feather", "no magic", "not a Feather file"),
    ],
)
def test_a_malformed_table_is_refused_by_name(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(GradrankError, match=message) as error:
        parse(path, tmp_path / "out", 1, "mine")
    assert str(path) in str(error.value)
