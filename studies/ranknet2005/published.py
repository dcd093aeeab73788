"""The published numbers of the paper, read from paper.csv."""

import csv
from functools import cache
from importlib.resources import files

PRIVATE = "commercial search engine (private)"  # value of the column `target` in the rows of Tables 3 to 6


@cache
def published() -> dict[tuple[str, str, str, int, str], tuple[str, str]]:
    """Return a dict of the published numbers as text.

    Each key is (table, target, model, number of training vectors or 0, metric), and each value is (value, note).
    """
    text = files("studies.ranknet2005").joinpath("paper.csv").read_text(encoding="utf-8")
    return {
        (row["table"], row["target"], row["model"], int(row["train_size"] or 0), row["metric"]): (
            row["value"],
            row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def value(table: str, target: str, model: str, size: int, metric: str) -> float | None:
    """Return a published number, or None if the paper does not give it."""
    cell = published().get((table, target, model, size, metric))
    return float(cell[0]) if cell else None
