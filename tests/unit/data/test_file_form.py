"""Declared forms of files: grade edges, tables without a header, and rows of a query that are apart."""

import random
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.data.parse import parse
from gradrank.data.reader import TrainingSchema, batches, read_new
from gradrank.data.tables.roles import Columns

EDGES = (0.07, 0.14, 0.41, 0.61)
LABELS = ["0", "0.07", "0.069999999999999993", "0.0700000000000000067", "7e-2", "0.41", "-3.5", "0.61", "1e300", "+0.2"]


def rows_of(out) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(path) for path in sorted(out.glob("part*.parquet"))).sort(
        "qid", maintain_order=True
    )


def expected(label: str, edges=EDGES) -> int:
    """The grade by exact arithmetic on the float64 that a label denotes."""
    return sum(Decimal(edge) <= Decimal(float(label)) for edge in edges)


def write(path, labels: list[str], as_text: bool):
    rows = [(label, query, row / 8) for row, (query, label) in enumerate((q, x) for q in range(5) for x in labels)]
    if as_text:
        path.write_text("".join(f"{label} qid:{query} 1:{value}\n" for label, query, value in rows))
    else:
        path.write_text("label,qid,bm25\n" + "".join(f"{label},{query},{value}\n" for label, query, value in rows))
    return path


@pytest.mark.parametrize("name", ["all.txt", "all.csv"])
def test_the_grade_is_the_number_of_edges_up_to_the_label(tmp_path, name):
    path = write(tmp_path / name, LABELS, name.endswith("txt"))
    parse(path, tmp_path / "out", 0, "mine", columns=Columns(grade_edges=EDGES))
    assert rows_of(tmp_path / "out")["label"].to_list() == [expected(label) for label in LABELS] * 5


@given(
    edges=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=31, unique=True).map(sorted),
    labels=st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1, max_size=20),
)
def test_text_and_tables_have_the_same_grades_for_any_labels(tmp_path_factory, edges, labels):
    folder = tmp_path_factory.mktemp("any")
    labels = [*labels, *map(repr, edges)]
    for name in ("all.txt", "all.csv"):
        path = write(folder / name, labels, name.endswith("txt"))
        parse(path, folder / "out", 0, "mine", columns=Columns(grade_edges=tuple(edges)))
        assert rows_of(folder / "out")["label"].to_list() == [expected(label, edges) for label in labels] * 5


@pytest.mark.parametrize("label", ["nan", "inf", "-inf", "", "good", "1e999"])
@pytest.mark.parametrize("name", ["all.txt", "all.csv"])
def test_a_label_that_is_no_finite_number_is_an_error_with_its_line(tmp_path, name, label):
    as_text = name.endswith("txt")
    path = write(tmp_path / name, ["0.5"], as_text)
    path.write_text(path.read_text() + (f"{label or 'x'} qid:9 1:0\n" if as_text else f"{label},9,0\n"))
    with pytest.raises(GradrankError, match=rf"line {6 if as_text else 7}.*finite number"):
        parse(path, tmp_path / "out", 0, "mine", columns=Columns(grade_edges=EDGES))


@pytest.mark.parametrize(
    "edges", [(1.0, 1.0), (2.0, 1.0), (float("nan"),), (float("inf"),), tuple(map(float, range(32)))]
)
def test_edges_that_do_not_divide_the_numbers_are_refused(edges):
    with pytest.raises(GradrankError, match="grade_edges"):
        Columns(grade_edges=edges)


def headerless(path, queries: list[str]):
    """Columns: document, label, query, two features. A quoted field contains the separator."""
    rows = [f'"d{row},x",{row % 3},{query},{row / 4},{row % 5}\n' for row, query in enumerate(queries)]
    path.write_text("".join(rows))
    return path


NUMBERED = Columns(query="3", label="2", docid="1", header=False)


def test_a_table_without_a_header_has_numbers_as_names(tmp_path):
    queries = [f"q{row // 4}" for row in range(24)]
    meta = parse(headerless(tmp_path / "all.csv", queries), tmp_path / "out", 0, "mine", columns=NUMBERED)
    frame = rows_of(tmp_path / "out")
    assert meta["names"] == ["4", "5"] and meta["rows"] == 24
    assert Columns.of(meta["columns"]) == NUMBERED
    assert frame["query"].to_list() == queries
    assert frame["docid"].to_list() == [f"d{row},x" for row in range(24)]
    assert frame["f1"].to_list() == [row / 4 for row in range(24)]
    assert frame["label"].to_list() == [row % 3 for row in range(24)]


def test_errors_in_a_table_without_a_header_count_lines_from_its_first_row(tmp_path):
    path = headerless(tmp_path / "all.csv", [f"q{row // 4}" for row in range(24)])
    lines = path.read_text().splitlines()
    for number, bad, message in (
        (1, "d,9.5,q0,0,0", "line 1, column '2'"),
        (3, "d,0,q0,0", "line 3: 4 fields.*first row"),
    ):
        path.write_text("\n".join([*lines[: number - 1], bad, *lines[number:]]) + "\n")
        with pytest.raises(GradrankError, match=message):
            parse(path, tmp_path / "out", 0, "mine", columns=NUMBERED)


def test_new_rows_for_a_model_have_no_header_either(tmp_path):
    path = headerless(tmp_path / "new.csv", ["q0"] * 3 + ["q1"] * 2)
    trained = TrainingSchema(2, ["4", "5"], columns=NUMBERED, missing="keep")
    (batch,) = batches(read_new(path, trained))
    assert batch.qids.tolist() == ["q0", "q1"] and batch.features[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_apart_are_grouped_in_file_order(tmp_path, seed):
    queries = [f"q{row % 6}" for row in range(40)]
    random.Random(seed).shuffle(queries)
    path = headerless(tmp_path / "all.csv", queries)
    with pytest.raises(GradrankError, match="comes back after other queries"):
        parse(path, tmp_path / "refused", 0, "mine", columns=NUMBERED)
    grouped = Columns(query="3", label="2", docid="1", header=False, group_rows=True)
    parse(path, tmp_path / "out", 0, "mine", columns=grouped)
    frame = rows_of(tmp_path / "out")
    order = sorted(range(40), key=lambda row: (queries.index(queries[row]), row))
    assert frame["query"].to_list() == [queries[row] for row in order]
    assert frame["docid"].to_list() == [f"d{row},x" for row in order]
    np.testing.assert_array_equal(frame["f1"], np.array(order) / 4)
    assert frame["label"].to_list() == [row % 3 for row in order]


def test_scores_of_new_rows_need_contiguous_queries_even_if_training_grouped_them(tmp_path):
    path = headerless(tmp_path / "new.csv", ["q0", "q1", "q0"])
    columns = Columns(query="3", label="2", docid="1", header=False, group_rows=True)
    with pytest.raises(GradrankError, match=r"line 3.*comes back.*sort"):
        read_new(path, TrainingSchema(2, ["4", "5"], columns=columns, missing="keep"))


def test_text_has_no_header(tmp_path):
    columns = Columns(header=False)
    path = write(tmp_path / "all.txt", ["0", "1"], as_text=True)
    with pytest.raises(GradrankError, match=r"all\.txt.*only for tables"):
        parse(path, tmp_path / "out", 0, "mine", columns=columns)
