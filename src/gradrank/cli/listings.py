"""Listings for the terminal: models and data sets."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gradrank.data.datasets import datasets
from gradrank.training.literature.model_tables import model_table
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.spaces import first_configuration, in_words, space_of

SELECTION = (
    "Epochs, rounds and grid points are selected by `select_by` on the validation part, under the primary convention "
    "of the data set (`convention` in params.yaml, --convention of `gradrank train`), in expectation over equal scores."
)


def list_models(name: str | None) -> None:
    """Print one line per model, sorted by family and year.

    With a name, print the parameters of that model with their defaults, ranges and sources.
    """
    console = Console()
    if name is not None:
        _show_parameters(console, get_model(name))
        return
    table = Table("model", "year", "what it is", "accepts", "needs", box=None, pad_edge=False)
    frame = model_table()
    for (family,), members in frame.group_by("family", maintain_order=True):
        table.add_row(f"[bold]{family}[/bold]", end_section=False)
        for row in members.iter_rows(named=True):
            cells = row["name"], str(row["year"] or ""), row["summary"], _accepts(row), _needs(row)
            table.add_row(*map(escape, cells))  # rich would read [extra] as markup
    console.print(table)
    console.print("\naccepts: NaN is a missing value; weights are those of documents, query weights those of queries.")
    console.print("`gradrank models NAME` lists a model's parameters, their defaults and sources.")
    console.print(SELECTION, highlight=False)


def _accepts(row: Mapping[str, Any]) -> str:
    """Return the optional properties of data that a model accepts, as text."""
    weights = {"documents": "weights", "queries": "query weights"}
    accepted = ["NaN" if row["takes_missing"] else "", weights.get(row["uses_weights"], "")]
    return ", ".join(filter(None, accepted))


def _needs(row: Mapping[str, Any]) -> str:
    """Return what a model needs in addition to the core installation and the collection, as text."""
    needs = ["pairs"] if row["needs_pairs"] else []
    if row["extra"]:
        state = ", installed" if row["installed"] else ""
        needs.append(f"pip install 'gradrank[{row['extra']}]'{state}")
    if row["package"]:
        needs.append(f"from {row['package']}")
    return "; ".join(needs)


def _show_parameters(console: Console, cls: type[Model]) -> None:
    console.print(f"[bold]{cls.name}[/bold]: {escape(cls.summary)}", highlight=False)
    parameters = model_table(cls.name)
    table = Table(*parameters.columns, box=None, pad_edge=False)
    for row in parameters.rows():
        table.add_row(*map(escape, row))
    console.print(table)
    if "select_by" in cls.Params.model_fields:
        console.print(SELECTION, highlight=False)
    if members := cls.members(cls.Params()):
        console.print(
            f"\nThe workflow also trains the members {', '.join(members)}. They are listed as results only if "
            "`run.models` names them.",
            highlight=False,
        )
    _show_space(console, cls)


def _show_space(console: Console, cls: type[Model]) -> None:
    """Print the search space of `gradrank tune`."""
    first, space = first_configuration(cls), space_of(cls)
    table = Table("tuned", "first", "drawn from", "source", box=None, pad_edge=False)
    for name in sorted({*first, *space}):
        drawn = [in_words(space[name]), space[name].source] if name in space else ["not varied", ""]
        value = first.get(name, cls.Params.model_fields[name].default)
        table.add_row(name, str(value), *drawn)
    if table.row_count:
        console.print()
        console.print(table)


def list_datasets() -> None:
    """Print one block per data set, with its title, size, licence, download, access and citation."""
    console = Console(highlight=False)
    for row in datasets().iter_rows(named=True):
        console.print(f"[bold]{row['name']}[/bold]: {row['title']}")
        counts = [f"{row[key]:,} {key}" for key in ("rows", "queries", "features") if row[key]]
        facts = {
            "size": ", ".join([*counts, "five folds" if row["folds"] == 5 else "one split"]),
            "access": row["access"],
            "licence": row["licence"],
            "download": row["archives"] or "none",
            "to get it": row["obtain"],
            "cite": row["citation"],
        }
        for label, text in facts.items():
            if text:
                console.print(f"  [dim]{label:9}[/dim] {escape(text)}", soft_wrap=True)
