"""The pages of the leaderboard: one per data set and convention, and one that explains them."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from boards import Board
from gradrank.base.text_tables import Grid, markdown_table, number
from gradrank.bench.report.tables.table import BOLD
from gradrank.comparison.significance import RULE
from gradrank.measures.conventions import CONVENTIONS
from gradrank.measures.metrics import metric_label

HERE = Path(__file__).parent
ORIGIN = (("parameters", "parameters"), ("source", "source"), ("bibtex", "BibTeX"), ("reproduce", "command"))
PROTOCOLS = {"run": "one setting for all folds", "contest": "tuned per fold"}


def leaderboard_pages(boards: Sequence[Board]) -> dict[str, str]:
    """Return the text of each page. The keys are URIs."""
    pages = {"leaderboard/index.md": _index(boards)}
    template = _environment().get_template("leaderboard.html")
    for _, members in groupby(boards, key=lambda board: board.dataset):
        of_dataset = list(members)
        links = {board.convention: f"{board.page}.md" for board in of_dataset}
        for page, shown in groupby(of_dataset, key=lambda board: board.page):
            pages[f"leaderboard/{page}.md"] = template.render(boards=list(shown), links=links)
    return pages


def _index(boards: Sequence[Board]) -> str:
    """Return the page that lists the boards with their best methods."""
    rows = []
    for board in boards:
        if not board.is_primary:
            continue
        best = board.entries[0]
        mean, half, _ = best.cells[board.headline]
        value = f"{metric_label(board.headline)} {number(mean)} ± {number(half)}"
        link = f"[{board.title}]({board.page}.md#{board.id})"
        cells = [
            link,
            PROTOCOLS[board.protocol],
            f"`{board.convention}`",
            str(len(board.entries)),
            f"`{best.method}`",
            value,
        ]
        rows.append(cells)
    head = ["data set", "protocol", "convention", "methods", "highest mean", "value"]
    table = markdown_table(Grid(head, "lllrll", rows))
    return (HERE / "leaderboard.md").read_text(encoding="utf-8").replace("TABLE", table)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        metric=metric_label, number=number, json=lambda value: json.dumps(value, separators=(",", ":"))
    )
    environment.globals.update(ORIGIN=ORIGIN, BOLD=BOLD, RULE=RULE, PROTOCOLS=PROTOCOLS, CONVENTIONS=CONVENTIONS)
    return environment
