"""One page per method: parameters, source code, publications, and the commands that reproduce its results."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

import gradrank
from boards import Board, Submission
from gradrank.base.text_tables import Grid, markdown_table
from gradrank.bench.config.code_digest import PACKAGE
from gradrank.training.literature import named
from gradrank.training.model import Model
from gradrank.training.registry import models
from page_links import ROOT


def method_pages(boards: Sequence[Board], params: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of the page of each model, and of the page that lists them. The keys are URIs.

    params: content of params.yaml.
    """
    pages = {"methods/index.md": _index(gradrank.models())}
    chosen = params.get("models") or {}
    return pages | {
        f"methods/{name}.md": _page(cls, chosen.get(name) or {}, boards) for name, cls in sorted(models().items())
    }


def _index(table: pl.DataFrame) -> str:
    sections = ["# Methods", "All methods by family and year. `gradrank models` prints the same list."]
    for (family,), members in table.group_by("family", maintain_order=True):
        rows = [
            [f"[`{row['name']}`]({row['name']}.md)", str(row["year"] or ""), row["summary"]]
            for row in members.to_dicts()
        ]
        sections += [
            f"## {str(family).capitalize()}",
            markdown_table(Grid(["method", "year", "what it is"], "lll", rows)),
        ]
    return "\n\n".join(sections) + "\n"


def _page(cls: type[Model], chosen: Mapping[str, Any], boards: Iterable[Board]) -> str:
    """Return the page of a model. chosen: its parameters in params.yaml."""
    sections = [f"# {cls.name}", cls.summary + ".", "## Card { #card }", _card(cls)]
    sections += ["## Parameters { #parameters }", _parameters(cls.name)]
    if chosen:
        values = yaml.safe_dump(dict(chosen), sort_keys=False, default_flow_style=None)
        sections += [f"The runs of this repository have these values (`params.yaml`):\n\n~~~yaml\n{values}~~~"]
    sections += ["## Source code { #source }", f"[`{_source(cls)}`](../../{_source(cls)})"]
    entries = "\n\n".join(reference.bibtex for reference in named(cls.summary))
    text = f"~~~bibtex\n{entries}\n~~~" if entries else "The method has no publication of its own."
    sections += ["## BibTeX { #bibtex }", text]
    sections += ["## Reproduce { #reproduce }", *_results(cls.name, boards)]
    return "\n\n".join(sections) + "\n"


LABELS = {
    "order": "only which label is higher",
    "numbers": "the labels as numbers",
    "gains": "the gain of each grade, 2^grade − 1 unless you give other gains",
    "grades": "few ordered grades, at most 31",
    "exponential": "the gains 2^grade − 1 of grades up to 31",
}


def _card(cls: type[Model]) -> str:
    """Return the table of what a model is for, what it reads and needs, and where its limits are."""
    row = gradrank.models().row(by_predicate=pl.col("name") == cls.name, named=True)
    weights = {"queries": "of queries", "documents": "of documents", None: "refused"}
    needs = [f"`pip install 'gradrank[{row['extra']}]'`"] if row["extra"] else []
    needs += ["stored pairs, in the workflow"] if row["needs_pairs"] else []
    facts = {
        "use": "orders the documents of a query by a score; scores of different queries are not comparable",
        "family and year": ", ".join(filter(None, (row["family"], str(row["year"] or "")))),
        "labels": LABELS[cls.label_reading(cls.Params())],
        "missing values": "accepted" if "missing" in row["accepts"] else "refused, replace them first",
        "categories": "accepted" if "categorical" in row["accepts"] else "must be encoded as numbers",
        "sparse features": "stay sparse" if "sparse" in row["accepts"] else "are made dense",
        "weights": weights[row["uses_weights"]],
        "random numbers": "yes: train it with several seeds" if row["randomised"] else "none: one training per fold",
        "needs": ", ".join(needs) or "nothing beyond the installation",
        "saved files": "JSON, text and plain arrays; no pickle",
    }
    return markdown_table(Grid(["", ""], "ll", [[name, str(value)] for name, value in facts.items()]))


def submission_page(submission: Submission) -> str:
    """Return the page of a submission, with the anchors of a method's page."""
    about, folder = submission.about, submission.folder.relative_to(ROOT).as_posix()
    publication = submission.folder / "publication.bib"
    bibtex = publication.read_text(encoding="utf-8").strip() if publication.is_file() else ""
    sections = [
        f"# {about['method']}",
        about["summary"],
        f"Submitted by {about['authors']} ([{folder}](../../../{folder})).",
    ]
    sections += ["## Parameters { #parameters }", f"~~~json\n{json.dumps(about['params'], indent=2)}\n~~~"]
    sections += [f"Selection of the settings: {about['selection']}."]
    sources = [path.relative_to(ROOT).as_posix() for path in sorted(submission.folder.rglob("*.py"))]
    code = [f"[`{path}`](../../../{path})" for path in sources] or ["The scores of another program were imported."]
    sections += ["## Source code { #source }", *code]
    sections += ["## BibTeX { #bibtex }", f"~~~bibtex\n{bibtex}\n~~~" if bibtex else "The method is not published."]
    command = "This command computes the values again from the submitted scores:"
    sections += ["## Reproduce { #reproduce }", command, "~~~sh\ngradrank verify\n~~~"]
    return "\n\n".join(filter(None, sections)) + "\n"


def _parameters(name: str) -> str:
    table = gradrank.models(name)
    rows = [[f"`{row[0]}`", *map(_cell, row[1:])] for row in table.rows()]
    return markdown_table(Grid(table.columns, "llll", rows)) if rows else "The method has no parameters."


def _cell(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _source(cls: type[Model]) -> str:
    """Return the path of the model's file in the repository."""
    parts = cls.__module__.split(".")[1:]
    path = Path(PACKAGE, *parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.resolve().relative_to(ROOT).as_posix()


def _results(name: str, boards: Iterable[Board]) -> list[str]:
    """Return a table of the committed results of a method, and the command that reproduces each."""
    found = [board for board in boards if board.is_primary and any(entry.method == name for entry in board.entries)]
    if not found:
        return ["There are no committed results of this method. To train it, name it in `run.models` of `params.yaml`."]
    lines = [
        f"[{board.title}](../leaderboard/{board.page}.md#{board.id}), {board.protocol}:\n\n"
        f"~~~sh\n{_command(name, board)}\n~~~"
        for board in found
    ]
    about = (
        "Run these commands in a checkout. [Data sets](../datasets.md) says how to get the data. `gradrank verify` "
        "lists results that were made with other settings than those of `params.yaml`. For these results, the command "
        "gives other numbers."
    )
    return [about, *lines]


def _command(name: str, board: Board) -> str:
    if board.protocol == "contest":
        return "snakemake contest --cores 2"
    return f"snakemake results/{board.dataset}/methods/{name}/per_query.parquet --cores 2"
