"""A table: typed columns over a Polars frame; CSV with every digit for programs, Markdown and LaTeX for readers.

A number that is not there is null in the frame, an empty cell in CSV and a dash for readers; no frame holds nan.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank.base.files import atomic
from gradrank.report.tables.numbers import TEXT, VERDICT, shown

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
Pair = tuple[Row, dict[str, str]]  # a row's values, and the same as printed


@dataclass(frozen=True)
class Column:
    """`key` names it in CSV, `title` for readers; without one the key does.

    form: how a value is printed, and with it the column's type: text (TEXT, VERDICT), whole numbers (`d`, `,d`) or
    floats (`.4f`, P). of: the value, from what a row is about; None: that has it under `key`. only_known: left out of a
    table that has a value of it in no row.
    """

    key: str
    title: str = ""
    form: str = TEXT
    of: Callable[[Any], Any] | None = field(default=None, repr=False)
    only_known: bool = False

    @property
    def head(self) -> str:
        return self.title or self.key

    @property
    def is_text(self) -> bool:
        return self.form in (TEXT, VERDICT)

    @property
    def dtype(self) -> "type[pl.DataType]":
        import polars as pl

        if self.is_text:
            return pl.String
        return pl.Int64 if self.form.endswith("d") else pl.Float64

    def value(self, about: Any) -> Any:
        if self.of is not None:
            return self.of(about)
        return about.get(self.key) if isinstance(about, Mapping) else getattr(about, self.key)


class Mark(NamedTuple):
    """What a mark beside a cell says, in `words`: that the p value in column `p` is below the level."""

    p: str
    words: str


@dataclass(frozen=True)
class Wide:
    """How a long table reads: a line for each value of `lines`, a column for each of `across`.

    best: the column of which the highest value of each `across` is the best, in bold in LaTeX, where the lines are in
    the order of the values under `by`, the best first. mark: which cells LaTeX marks.
    """

    lines: tuple[str, ...]
    across: str
    cell: str  # a format string over the row's cells as printed
    best: str = ""
    by: str = ""
    mark: Mark | None = None


@dataclass(frozen=True)
class Table:
    """`id` names its file; `about`: a frame of its columns, or what each row is about, from which they take values.

    timed: it holds measured times, which differ from run to run. wide: how it reads; None: as it is. parts: a column
    for each of whose values LaTeX has a table of its own.
    """

    id: str
    title: str
    columns: Sequence[Column]
    about: InitVar["Iterable[Any] | pl.DataFrame"]
    note: str = ""
    timed: bool = False
    wide: Wide | None = None
    parts: str = ""
    frame: "pl.DataFrame" = field(init=False)

    def __post_init__(self, about: "Iterable[Any] | pl.DataFrame") -> None:
        import polars as pl
        import polars.selectors as cs

        if not isinstance(about, pl.DataFrame):
            every = list(about)
            # A Series refuses what is not of its type; a frame made of rows would cut 1.5 to 1.
            about = pl.DataFrame(
                [pl.Series(each.key, [each.value(row) for row in every], each.dtype) for each in self.columns]
            )
        frame = about.with_columns(cs.float().fill_nan(None))
        unknown = [each.key for each in self.columns if each.only_known and frame[each.key].is_null().all()]
        object.__setattr__(self, "columns", tuple(each for each in self.columns if each.key not in unknown))
        object.__setattr__(self, "frame", frame.drop(unknown))

    @property
    def rows(self) -> list[Row]:
        """By key."""
        return self.frame.to_dicts()

    @property
    def head(self) -> list[str]:
        return [column.head for column in self.columns]

    def cells(self, minus: str = "-") -> list[list[str]]:
        """The rows as printed; minus: the sign of negative numbers."""
        forms = [column.form for column in self.columns]
        return [
            [shown(value, form, minus) for value, form in zip(row, forms, strict=True)]
            for row in self.frame.iter_rows()
        ]

    def pairs(self, minus: str = "-") -> list[Pair]:
        keys = [column.key for column in self.columns]
        printed = (dict(zip(keys, cells, strict=True)) for cells in self.cells(minus))
        return list(zip(self.rows, printed, strict=True))

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        columns = [{"key": each.key, "title": each.head, "form": each.form} for each in self.columns]
        return {
            "id": self.id,
            "title": self.title,
            "columns": columns,
            "rows": self.rows,
            "note": self.note,
            "timed": self.timed,
        }


def write_csv(table: Table, folder: Path) -> None:
    """`folder`/<id>.csv: every digit."""
    with atomic(folder / f"{table.id}.csv") as partial:
        table.frame.write_csv(partial)


def read_csv(path: Path, columns: Sequence[Column]) -> list[Row]:
    """The rows of a file that `write_csv` left, of the columns' types. No file: no rows."""
    import polars as pl

    if not path.is_file():
        return []
    types = {column.key: column.dtype for column in columns}
    return pl.read_csv(path, schema_overrides=types).to_dicts()


def markdown(table: Table) -> str:
    """A pipe table, in its wide form where it has one."""
    if table.wide is None:
        return pipe_table(table.head, table.cells())
    heads, found = pivot(table.pairs(), table.wide.lines, table.wide.across)
    return pipe_table(
        [*table.wide.lines, *heads],
        [
            [*line, *(table.wide.cell.format(**own[head][1]) if head in own else "" for head in heads)]
            for line, own in found.items()
        ],
    )


def pivot(
    pairs: Iterable[Pair], lines: Sequence[str], across: str
) -> tuple[list[str], dict[tuple[str, ...], dict[str, Pair]]]:
    """The printed values of `across`, and by those of `lines` and of `across` the pair that has them."""
    heads, found = {}, {}
    for pair in pairs:
        heads[pair[1][across]] = None
        found.setdefault(tuple(pair[1][key] for key in lines), {})[pair[1][across]] = pair
    return list(heads), found


def pipe_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Finished cells as Markdown: the first column left, the others right."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
