"""Options that several commands share, the groups of commands in `gradrank --help`, and the check of outputs.

The outputs of a command are checked before it runs. A parameter is an output if its metavar is FILE or FOLDER. All
other paths are inputs, also those in parameters that are text, such as `@settings.json` or 'runs/fold{fold}.txt'.
"""

import csv
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from gradrank.base.errors import GradrankError
from gradrank.base.files import check_file_output, check_folder_output
from gradrank.base.stamps import STAMPS, listed_files
from gradrank.measures.conventions import CONVENTIONS, DEFAULT, resolve

if TYPE_CHECKING:
    from gradrank.data.layout import FoldOptions
    from gradrank.data.tables.roles import Columns


USE, INSPECT, STAGES, CONTEST = "Use", "Inspect", "Stages of the workflow", "Stages of a contest"
Data = Annotated[Path, typer.Option(help="Stored collection, such as data/parquet/mq2007.")]


def _check_convention(name: str | None) -> str | None:
    return None if name is None else resolve(name).name


# The name is checked before any file is read, so that no other error hides a wrong name.
Convention = Annotated[
    str, typer.Option(callback=_check_convention, help=f"Metric convention: {', '.join(CONVENTIONS)}.")
]
ModelConvention = Annotated[
    str | None,
    typer.Option(
        callback=_check_convention,
        help=f"Metric convention. By default, the one with which the model was selected, or `{DEFAULT}`.",
    ),
]
ScoresForm = Literal["letor", "csv", "parquet", "jsonl", "trec"]
PairedTest = Literal["t", "wilcoxon", "bootstrap", "randomisation", "tukey"]
# Names of columns in a table (Parquet, CSV or TSV). Text formats have fixed columns, so these options do not apply.
# Without a header, the name of a column is its number.
Query = Annotated[str | None, typer.Option(help="Column of query ids, if the input is a table.")]
Label = Annotated[str | None, typer.Option(help="Column of relevance grades, if the input is a table.")]
Docid = Annotated[str | None, typer.Option(help="Column of document ids, if the input is a table.")]
Weight = Annotated[str | None, typer.Option(help="Column of weights, if the input is a table. Training uses them.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Columns of a table to leave out, separated by commas.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of a table to use as features although their names suggest another meaning, separated by commas."
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of a table with names of categories, separated by commas. Text needs no declaration, unless it "
        "has many different values."
    ),
]
FeaturesFrom = Annotated[int, typer.Option(min=0, max=1, help="Number of the first feature in text: 0 or 1.")]
Repeated = Annotated[
    Literal["error", "last"],
    typer.Option(help="Rows of text with repeated or unsorted features: an error, or the last value of each counts."),
]
Header = Annotated[
    bool, typer.Option(help="If the input is CSV or TSV: whether the first row has the names of the columns.")
]
GroupRows = Annotated[bool, typer.Option("--group-rows", help="Group rows of one query that are apart.")]
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
    features_from: int = 1,
    repeated: Literal["error", "last"] = "error",
    categorical: list[str] | None = None,
) -> "Columns":
    """Return the columns that the options of a command declare."""
    from gradrank.data.tables.roles import Columns

    return Columns(
        query=query,
        label=label,
        docid=docid,
        ignore=_names(ignore),
        keep=_names(keep),
        header=header,
        group_rows=group_rows,
        grade_edges=tuple(grade_edges or ()),
        weight=weight,
        features_from=features_from,
        repeated=repeated,
        categorical=_names(categorical),
    )


def _names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in the values of an option: each value is one name, or several separated by commas.

    A name that contains a comma is enclosed in quotes (").
    """
    return tuple(name for value in values or () for name in next(csv.reader([value]), ()) if name)


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


FILE, FOLDER = "FILE", "FOLDER"  # the metavars of outputs
# Parameters whose folder a command reads and also writes, such as results/. A folder output may be within or around it.
READ_AND_WRITTEN = ("results", "contest", "members")


class CommandGroup(TyperGroup):
    """The commands of `gradrank`. The outputs of a command are checked before it runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple:
        """Return the name, the command and its arguments, as in click."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.callback is not None:
            command.callback = _checked(command.params, command.callback)
        return name, command, rest


def _checked(parameters: Sequence[Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command with a check of its outputs."""

    def checked(**values: Any) -> Any:
        check_outputs(parameters, values)
        return run(**values)

    return checked


def check_outputs(parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Raise GradrankError if an output of a command cannot be written or would replace an input.

    parameters: the parameters of the click command. values: their values by name.
    """
    outputs = {parameter.name: parameter.metavar for parameter in parameters if parameter.metavar in (FILE, FOLDER)}
    given = [value for name, value in values.items() if name not in outputs]
    folders = [value for name, value in values.items() if name not in (*outputs, *READ_AND_WRITTEN)]
    for name, kind in outputs.items():
        if values.get(name) is None:
            continue
        path = Path(values[name])
        if kind == FOLDER:
            check_folder_output(path, _paths(folders))
        else:
            check_file_output(path, [file for found in _paths(given) for file in _files(found)])
            _check_unlisted(path)


def _paths(values: Any) -> Iterator[Path]:
    """Yield the paths of inputs in the values of parameters."""
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list | tuple):
            yield from _paths(value)
        elif isinstance(value, str):
            pattern = re.sub(r"\{\w+\}", "*", glob.escape(value.removeprefix("@")))
            try:
                yield from map(Path, glob.glob(pattern))  # noqa: PTH207 - Path.glob takes no absolute pattern
            except (OSError, ValueError):  # text that is not a path
                continue


def _files(path: Path) -> Iterator[Path]:
    """Yield an input, and the files of an input folder that has the layout of a data set."""
    yield path
    if path.is_dir():
        from gradrank.data.layout import find_layout

        try:
            yield from find_layout(path).files
        except (GradrankError, OSError):
            return


def _check_unlisted(path: Path) -> None:
    """Raise GradrankError if a file belongs to a folder of gradrank: a stamp of the folder lists it."""
    real = Path(os.path.realpath(path))
    for folder in real.parents if path.exists() else ():
        for name in STAMPS:
            if {real, *real.parents} & {*listed_files(folder / name)}:
                raise GradrankError(f"{path}: {folder / name} lists this file. Fix: give another output")
