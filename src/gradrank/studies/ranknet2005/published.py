"""The paper's numbers, as the study's tables name them."""

import csv
from functools import cache
from importlib.resources import files

PRIVATE = "commercial search engine (private)"  # the target of Tables 3 to 6


@cache
def published() -> dict[tuple[str, str, str, int, str], tuple[str, str]]:
    """(value, note) by (table, target, model, training vectors or 0, metric)."""
    text = files("gradrank.studies.ranknet2005").joinpath("paper.csv").read_text(encoding="utf-8")
    return {
        (row["table"], row["target"], row["model"], int(row["train_size"] or 0), row["metric"]): (
            row["value"],
            row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def value(table: str, target: str, model: str, size: int, metric: str) -> float | None:
    """The number, or None where the paper has none."""
    found = published().get((table, target, model, size, metric))
    return float(found[0]) if found else None
