"""Tables as CSV, Markdown and LaTeX, and reading them back."""

import pytest

from gradrank.bench.report.document import report as render
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import DEFINITIONS, read_tables
from gradrank.bench.report.tables.table import VERDICT, Column, P, Table, markdown, read_csv, write_csv
from made_results import CONVENTIONS, METRICS, make_results

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    summary(make_results(root, models=MODELS), MODELS, "letor4")
    render(root / "results", root / "results/report.html", params=root / "params.yaml", data=root / "data/parquet")
    return root


def read_markdown(path):
    """Return the heading and the lines of a pipe table as lists of cells."""
    lines = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in path.open(encoding="utf-8")]
    head, rule, *rows = lines
    assert set("".join(rule)) <= set(":-| ")
    assert all(len(row) == len(head) for row in rows)
    return head, rows


def test_every_table_of_a_data_set_and_of_the_report_has_every_form(root):
    for folder, names in (
        (root / "results/mq2007/tables", set(DEFINITIONS)),
        (root / "results/report", {"overview", "data", "costs", "versions"}),
    ):
        for suffix in ("csv", "md"):
            assert {path.stem for path in folder.glob(f"*.{suffix}")} == names
        with_rows = {name for name in names if len((folder / f"{name}.csv").read_text().splitlines()) > 1}
        assert {path.stem.partition("-")[0] for path in folder.glob("*.tex")} == with_rows


def test_main_table_reads_as_in_the_report(root):
    folder = root / "results/mq2007/tables"
    head, rows = read_markdown(folder / "main.md")
    assert head == ["convention", "model", *METRICS]
    assert sorted(row[:2] for row in rows) == [[convention, model] for convention in CONVENTIONS for model in MODELS]
    for convention in CONVENTIONS:
        values = [row[2 + METRICS.index("ndcg@10")] for row in rows if row[0] == convention]
        assert values == sorted(values, reverse=True)
    numbers = {(row["convention"], row["model"], row["metric"]): row for row in read_tables(folder)["main"]}
    for convention, model, *cells in rows:
        for metric, cell in zip(METRICS, cells, strict=True):
            row = numbers[convention, model, metric]
            assert cell == f"{row['mean']:.4f} ± {row['half_width']:.4f}"


COLUMNS = (
    Column("name", "a name"),
    Column("count", form=",d"),
    Column("value", "value", "+.2f"),
    Column("p", form=P),
    Column("side", form=VERDICT),
)
ROWS = [
    {"name": "a|b", "count": 1200, "value": -1 / 3, "p": 1e-5, "side": "consistent"},
    {"name": "7", "count": None, "value": float("nan"), "p": 0.05, "side": ""},
    {"name": "", "count": 0, "value": 2, "p": None, "side": None},
]


def test_csv_is_read_back_with_its_types(tmp_path):
    """CSV keeps every digit, nan becomes null, and text that looks like a number stays text."""
    table = Table("made", "Made", COLUMNS, ROWS)
    write_csv(table, tmp_path)
    again = read_csv(tmp_path / "made.csv", COLUMNS)
    assert again == table.rows
    assert again[0]["value"] == -1 / 3 and type(again[2]["value"]) is float
    assert again[1] == {"name": "7", "count": None, "value": None, "p": 0.05, "side": ""}


def test_markdown_prints_each_column_in_its_form():
    head, rule, *rows = markdown(Table("made", "Made", COLUMNS, ROWS)).splitlines()
    assert head == "| a name | count | value | p | side |" and rule == "| :-- | --: | --: | --: | --: |"
    assert rows == [
        "| a\\|b | 1,200 | -0.33 | <0.0001 | ≈ consistent |",
        "| 7 | – | – | 0.0500 |  |",
        "|  | 0 | +2.00 | – | – |",
    ]


def test_a_column_takes_its_value_from_an_attribute_or_a_function():
    columns = (Column("real"), Column("twice", form="d", of=lambda x: int(2 * x.real)))
    with pytest.raises(TypeError, match="String"):
        Table("wrong", "Wrong", columns, [1.0])
    made = Table("made", "Made", (Column("real", form=".1f"), columns[1]), [1.5, 2.0])
    assert made.rows == [{"real": 1.5, "twice": 3}, {"real": 2.0, "twice": 4}]
