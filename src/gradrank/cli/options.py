"""Options that several commands share, and the groups of commands in `gradrank --help`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gradrank.base.errors import GradrankError
from gradrank.measures.conventions import CONVENTIONS, resolve

if TYPE_CHECKING:
    from gradrank.data.layout import FoldOptions
    from gradrank.data.tables.roles import Columns


USE, INSPECT, STAGES, CONTEST = "Use", "Inspect", "Stages of the workflow", "Stages of a contest"
Data = Annotated[Path, typer.Option(help="Stored collection, such as data/parquet/mq2007.")]


def _check_convention(name: str) -> str:
    return resolve(name).name


# The name is checked before any file is read, so that no other error hides a wrong name.
Convention = Annotated[
    str, typer.Option(callback=_check_convention, help=f"Metric convention: {', '.join(CONVENTIONS)}.")
]
ScoresForm = Literal["letor", "trec"]
PairedTest = Literal["t", "wilcoxon", "bootstrap", "randomisation"]
# Names of columns in a table (Parquet, CSV or TSV). Text formats have fixed columns, so these options do not apply.
# Without a header, the name of a column is its number.
Query = Annotated[str | None, typer.Option(help="Column of query ids, if the input is a table.")]
Label = Annotated[str | None, typer.Option(help="Column of relevance grades, if the input is a table.")]
Docid = Annotated[str | None, typer.Option(help="Column of document ids, if the input is a table.")]
Weight = Annotated[str | None, typer.Option(help="Column of weights, if the input is a table. Training uses them.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column of a table to leave out. Repeat it for several.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column of a table to use as a feature although its name suggests another meaning."),
]
Header = Annotated[
    bool, typer.Option(help="If the input is CSV or TSV: whether the first row has the names of the columns.")
]
GroupRows = Annotated[
    bool, typer.Option("--group-rows", help="If the input is a table: group rows of one query that are apart.")
]
GradeEdges = Annotated[
    list[float] | None,
    typer.Option(help="An edge of grades: the grade is the number of edges <= label. Repeat it for several."),
]
Features = Annotated[int | None, typer.Option(help="Number of features, if sparse rows leave it ambiguous.")]
Folds = Annotated[
    int | None, typer.Option(min=2, help="Number of folds into which one file is divided. By default, 5.")
]
FoldColumn = Annotated[
    str | None, typer.Option("--fold", help="Column of a table whose values are the test folds, in place of --folds.")
]
Validation = Annotated[
    float | None,
    typer.Option(help="Share of the training queries to hold out, between 0 and 1, if there is no validation file."),
]


def declared_columns(
    query: str | None,
    label: str | None,
    docid: str | None,
    ignore: list[str] | None,
    keep: list[str] | None,
    header: bool,
    group_rows: bool,
    grade_edges: list[float] | None,
    weight: str | None,
) -> "Columns":
    """Return the columns that the options of a command declare."""
    from gradrank.data.tables.roles import Columns

    return Columns(
        query=query,
        label=label,
        docid=docid,
        ignore=tuple(ignore or ()),
        keep=tuple(keep or ()),
        header=header,
        group_rows=group_rows,
        grade_edges=tuple(grade_edges or ()),
        weight=weight,
    )


def fold_options(folds: int | None, fold: str | None, validation: float | None, header: bool = True) -> "FoldOptions":
    """Return the options of the division into folds. Raises GradrankError for a share that is not in (0, 1)."""
    from gradrank.data.layout import FoldOptions

    if validation is not None and not 0 < validation < 1:
        raise GradrankError(f"--validation: {validation} is not between 0 and 1. Fix: give a share, such as 0.2")
    return FoldOptions(folds, fold, validation, header)


def example(command: str) -> str:
    """Return the last line of a command's help text, which shows an example."""
    return f"Example: {command}"


def use_one_thread() -> None:
    """Limit Polars to one thread, unless the environment sets the number. `snakemake --cores` runs jobs in parallel."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
