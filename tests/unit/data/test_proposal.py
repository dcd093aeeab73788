"""The proposal shows every column and every problem, and the table is read with its entry of params.yaml."""

import numpy as np
import polars as pl
import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.data.inspect import inspect
from gradrank.data.parse import parse
from gradrank.data.proposal import propose
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import raw_table

ROWS = 200
DRAW = np.random.default_rng(0)
HOTELS = pl.DataFrame(
    {
        "srch_id": np.repeat(np.arange(20), 10),
        "prop_id": DRAW.integers(0, 50, ROWS),
        "price": [None if row == 3 else row / 7 for row in range(ROWS)],
        "click_bool": DRAW.integers(0, 2, ROWS),
        "rating": DRAW.integers(0, 4, ROWS),
        "country": DRAW.choice(["NL", "DE", "FR"], ROWS),
        "title": [f"Hotel {row}" for row in range(ROWS)],
        "stars": ["x", *(str(row % 5) for row in range(ROWS - 1))],
    }
)


@pytest.fixture(params=["csv", "parquet"])
def table(request, tmp_path):
    path = tmp_path / f"Hotel data.{request.param}"
    HOTELS.write_csv(path) if request.param == "csv" else HOTELS.write_parquet(path)
    return path


def proposed(path, columns=Columns()):  # noqa: B008 - frozen
    return propose(raw_table(path, path), columns)


def test_every_column_has_a_role(table):
    proposal = proposed(table)
    assert {column.name: column.role for column in proposal.described} == {
        "srch_id": "query",
        "prop_id": "ignore",
        "price": "feature",
        "click_bool": "ignore",
        "rating": "label",
        "country": "feature",
        "title": "docid",
        "stars": "ignore",
    }
    assert {column.name for column in proposal.undecided} == set(HOTELS.columns) - {"price", "country"}
    assert proposal.problems == []


def test_inspect_shows_all_of_it_and_the_entry_makes_the_table_readable(table, tmp_path):
    lines: list[str] = []
    with pytest.raises(GradrankError, match="6 decisions are open"):
        lines.extend(inspect(table))
    entry = yaml.safe_load("\n".join(lines[lines.index("datasets:") :]))["datasets"]["hotel_data"]
    assert entry.pop("path") == str(table.resolve())
    missing = entry.pop("missing")
    columns = Columns(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
    description = parse(table, tmp_path / "out", 1, "mine", columns=columns, missing=missing)
    assert description["names"] == ["price", "country"]
    assert description["levels"] == {"country": ["DE", "FR", "NL"]}
    assert any("fold" in line for line in inspect(table, columns))


def test_a_declared_column_is_not_in_doubt(table):
    declared = Columns(
        query="srch_id", label="rating", docid="title", ignore=("prop_id", "stars"), keep=("click_bool",)
    )
    proposal = proposed(table, declared)
    assert proposal.undecided == []
    assert proposal.columns == declared


def test_all_problems_are_shown_together(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    proposal = proposed(path, Columns(ignore=("c",)))
    assert len(proposal.problems) == 3
    with pytest.raises(GradrankError, match="3 decisions are open"):
        list(inspect(path, Columns(ignore=("c",))))


def test_a_table_without_doubt_is_described_as_before(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("qid,label,price,color\n1,0,1.5,red\n1,1,2.5,blue\n2,0,3,red\n")
    lines = list(inspect(path))
    assert lines[0] == f"{path}: 3 rows, 2 queries, 2 features"
    assert any(line.startswith("feature  color   2 levels") for line in lines)
