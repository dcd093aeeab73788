"""Tables written as CSV and Markdown, and read again."""

import csv

import pytest

from gradrank.report.document import render
from gradrank.report.tables.files import read_table, write_table
from gradrank.report.tables.rows import COLUMNS
from gradrank.report.tables.summary import summarise
from made_results import CONVENTIONS, METRICS, make_results

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    summarise(make_results(root, models=MODELS), MODELS, "letor4")
    render(
        root / "results",
        root / "results/report.html",
        params=root / "params.yaml",
        data=root / "data/parquet",
    )
    return root


def markdown(path):
    """Head and lines of a pipe table as lists of cells."""
    lines = [
        [cell.strip() for cell in line.strip("| \n").split(" | ")] for line in path.open(encoding="utf-8")
    ]
    head, rule, *rows = lines
    assert set("".join(rule)) <= set(":-| ")
    assert all(len(row) == len(head) for row in rows)
    return head, rows


def test_every_table_of_a_data_set_and_of_the_report_has_both_forms(root):
    for folder, names in (
        (root / "results/mq2007/tables", set(COLUMNS)),
        (root / "results/report", {"overview", "data", "costs", "versions"}),
    ):
        for suffix in ("csv", "md"):
            assert {path.stem for path in folder.glob(f"*.{suffix}")} == names


def test_main_table_reads_as_in_the_report(root):
    folder = root / "results/mq2007/tables"
    head, rows = markdown(folder / "main.md")
    assert head == ["convention", "model", *METRICS]
    assert [row[:2] for row in rows] == [[each, model] for model in MODELS for each in CONVENTIONS]
    numbers = {(row["convention"], row["model"], row["metric"]): row for row in read_table(folder, "main")}
    for convention, model, *cells in rows:
        for metric, cell in zip(METRICS, cells, strict=True):
            row = numbers[convention, model, metric]
            assert cell == f"{row['mean']:.4f} ± {row['half_width']:.4f}"


@pytest.mark.parametrize(
    ("name", "lines", "numbers"),
    [("folds", 42, 5), ("ranks", 3, 2), ("pr_curve", 6, 11), ("pairwise", 6, 11)],
)
def test_other_tables_hold_every_row(root, name, lines, numbers):
    head, rows = markdown(root / f"results/mq2007/tables/{name}.md")
    assert len(rows) == lines
    text = {"convention", "model", "metric", "model_a", "model_b"}
    assert len([column for column in head if column not in text]) == numbers
    assert all(all(cell for cell in row) for row in rows)


def test_overview_and_costs_of_the_report(root):
    head, rows = markdown(root / "results/report/overview.md")
    assert head == ["model", "mq2007"]
    means = {
        row["model"]: row
        for row in read_table(root / "results/mq2007/tables", "main")
        if row["metric"] == "ndcg@10" and row["convention"] == "letor4"
    }
    assert dict(rows) == {m: f"{row['mean']:.4f}" for m, row in means.items()}
    with (root / "results/report/costs.csv").open(newline="") as stream:
        costs = list(csv.DictReader(stream))
    assert {row["model"]: float(row["fit_seconds"]) for row in costs} == dict.fromkeys(MODELS, 4.0)
    assert {float(row["job_seconds"]) for row in costs} == {25.0}


def test_what_is_written_is_read_again(tmp_path):
    rows = [
        {"convention": "letor4", "model": "a|b", "recall": 0.1, "precision": 1 / 3},
        {"convention": "letor4", "model": "a|b", "recall": 0.2, "precision": float("nan")},
    ]
    write_table(tmp_path, "pr_curve", rows)
    again = read_table(tmp_path, "pr_curve")
    assert again[0] == rows[0]
    assert again[1]["precision"] != again[1]["precision"]
    assert "a\\|b" in (tmp_path / "pr_curve.md").read_text()


def test_a_table_that_was_not_written_has_no_rows(tmp_path):
    assert read_table(tmp_path, "ranks") == []
