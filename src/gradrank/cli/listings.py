"""Listings for the terminal: models and data sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gradrank.base.errors import GradrankError
from gradrank.cli.family_names import family_name
from gradrank.data.datasets import datasets
from gradrank.training.accepted_data import PROPERTIES, models_that_accept
from gradrank.training.literature.model_tables import model_table
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.spaces import first_configuration, in_words, space_of

SELECTION = (
    "Epochs, rounds and grid points are selected by `select_by` on the validation part, under the primary convention "
    "of the data set (`convention` in params.yaml, --convention of `gradrank train`), in expectation over equal scores."
)


def list_models(long: bool, properties: Sequence[str] = ()) -> None:
    """Print the models, sorted by family and year.

    long: whether to print the whole summary of each model and what it accepts and needs. Otherwise, each model has one
    line, which ends with the terminal. properties: properties of data, from
    `gradrank.training.accepted_data.PROPERTIES`; only models that accept all of them are listed. Raises GradrankError
    for an unknown property, and if no model accepts all of them.
    """
    console, capable = Console(), models_that_accept(properties)
    if not capable:
        raise GradrankError(f"--accepts {','.join(properties)}: no model accepts all of them. Fix: name fewer")
    frame = model_table()
    frame = frame.filter(frame["name"].is_in(capable))
    table = Table("model", "year", "what it is", *["accepts", "needs"] * long, box=None, pad_edge=False)
    if not long:
        summary = table.columns[2]
        summary.no_wrap, summary.overflow = True, "ellipsis"
        summary.max_width = console.width - max(frame["name"].str.len_chars()) - len("year") - 4
    for (family,), members in frame.group_by("family", maintain_order=True):
        table.add_row("", "", f"[bold]{family_name(family)}[/bold]")
        for row in members.iter_rows(named=True):
            cells = [row["name"], str(row["year"] or ""), row["summary"]]
            cells += [_accepts(row), _needs(row)] * long
            table.add_row(*map(escape, cells))  # rich would read [extra] as markup
    console.print(table)
    console.print()
    if long:
        console.print("accepts:")
        for property_, meaning in PROPERTIES.items():
            console.print(f"  {property_}: {meaning}", highlight=False)
        console.print(SELECTION, highlight=False)
    else:
        console.print("`gradrank models --long` also shows what each model accepts and needs.")
    console.print("`gradrank models NAME` lists the parameters of a model with their sources.")


def show_model(name: str) -> None:
    """Print a model and its parameters with their defaults, ranges and sources."""
    _show_parameters(Console(), get_model(name))


def _accepts(row: Mapping[str, Any]) -> str:
    """Return the optional properties of data that a model accepts, as text."""
    weights = "weights of queries" if row["uses_weights"] == "queries" else "weights"
    return ", ".join(weights if name == "weights" else str(name) for name in row["accepts"])


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
