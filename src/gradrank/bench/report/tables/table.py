"""A table with typed columns over a Polars frame, written as CSV for programs and as Markdown for readers.

CSV holds every digit. A missing number is null in the frame, an empty cell in CSV and a dash in Markdown; nan becomes
null.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.files import atomic
from gradrank.base.text_tables import pipe_table
from gradrank.bench.report.tables.numbers import TEXT, VERDICT, format_value

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
PrintedRow = tuple[Row, dict[str, str]]  # values and texts by column key


@dataclass(frozen=True)
class Column:
    """A column: `key` is its heading in CSV, `title` (by default the key) its heading for readers.

    form: the format of a value, which also determines the type: text (TEXT, VERDICT), integers (`d`, `,d`) or floats
    (`.4f`, P). of: a function that returns the value from a row's source object; if None, the value is the object's
    item or attribute `key`. drop_if_empty: omit the column if it is null in every row.
    """

    key: str
    title: str = ""
    form: str = TEXT
    of: Callable[[Any], Any] | None = field(default=None, repr=False)
    drop_if_empty: bool = False

    @property
    def head(self) -> str:
        """Heading for readers."""
        return self.title or self.key

    @property
    def is_text(self) -> bool:
        return self.form in (TEXT, VERDICT)

    @property
    def dtype(self) -> "type[pl.DataType]":
        """Polars type that follows from the format."""
        import polars as pl

        if self.is_text:
            return pl.String
        return pl.Int64 if self.form.endswith("d") else pl.Float64

    def value(self, source: Any) -> Any:
        """Return the column's value from a row's source object; None if a mapping lacks the key."""
        if self.of is not None:
            return self.of(source)
        return source.get(self.key) if isinstance(source, Mapping) else getattr(source, self.key)


@dataclass(frozen=True)
class Wide:
    """The wide form of a long table: one line per combination of values of `lines`, one column per value of `across`.

    cell: format string over the printed cells of a row. The lines have the order of the rows.
    """

    lines: tuple[str, ...]
    across: str
    cell: str


@dataclass(frozen=True)
class Table:
    """A table whose file name is `id`.

    about: a frame that has the columns, or one source object per row, from which the columns take their values. timed:
    the table holds measured times, which differ from run to run. wide: the wide form for Markdown and LaTeX, if there
    is one. parts: a column; in LaTeX, there is one table per value of this column.
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
            sources = list(about)
            # A Series refuses values of another type; a frame built from rows would truncate 1.5 to 1.
            about = pl.DataFrame(
                [
                    pl.Series(column.key, [column.value(source) for source in sources], column.dtype)
                    for column in self.columns
                ]
            )
        frame = about.with_columns(cs.float().fill_nan(None))
        empty = [column.key for column in self.columns if column.drop_if_empty and frame[column.key].is_null().all()]
        object.__setattr__(self, "columns", tuple(column for column in self.columns if column.key not in empty))
        object.__setattr__(self, "frame", frame.drop(empty))

    @property
    def rows(self) -> list[Row]:
        """Rows as dictionaries by column key."""
        return self.frame.to_dicts()

    @property
    def head(self) -> list[str]:
        """Headings for readers."""
        return [column.head for column in self.columns]

    def cells(self, minus: str = "-") -> list[list[str]]:
        """Return the rows as text. minus: the sign of negative numbers."""
        texts = (
            [format_value(value, column.form, minus) for value in self.frame[column.key].to_list()]
            for column in self.columns
        )
        return list(map(list, zip(*texts, strict=True)))

    def printed_rows(self, minus: str = "-") -> list[PrintedRow]:
        """Return every row as values and as texts. minus: the sign of negative numbers."""
        keys = [column.key for column in self.columns]
        printed = (dict(zip(keys, cells, strict=True)) for cells in self.cells(minus))
        return list(zip(self.rows, printed, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, for JSON."""
        columns = [{"key": column.key, "title": column.head, "form": column.form} for column in self.columns]
        return {
            "id": self.id,
            "title": self.title,
            "columns": columns,
            "rows": self.rows,
            "note": self.note,
            "timed": self.timed,
        }


def write_csv(table: Table, folder: Path) -> None:
    """Write `folder`/<id>.csv with every digit."""
    with atomic(folder / f"{table.id}.csv") as partial:
        table.frame.write_csv(partial)


def read_csv(path: Path, columns: Sequence[Column]) -> list[Row]:
    """Return the rows of a file that `write_csv` wrote, with the types of the columns; [] if the file is missing."""
    import polars as pl

    if not path.is_file():
        return []
    types = {column.key: column.dtype for column in columns}
    return pl.read_csv(path, schema_overrides=types).to_dicts()


def markdown(table: Table) -> str:
    """Return a table as a Markdown pipe table, in the wide form if the table has one."""
    head, _, lines = cells_of(table, table.printed_rows())
    return pipe_table(head, lines)


def cells_of(table: Table, rows: Sequence[PrintedRow], without: str = "") -> tuple[list[str], str, list[list[str]]]:
    """Return headings, alignment (one letter per column) and cells of some rows, in the wide form if there is one.

    without: key of a column that is left out.
    """
    if table.wide is None:
        columns = [column for column in table.columns if column.key != without]
        alignment = "".join("l" if column.is_text else "r" for column in columns)
        return [column.head for column in columns], alignment, [[texts[c.key] for c in columns] for _, texts in rows]
    keys = [key for key in table.wide.lines if key != without]
    heads: dict[str, None] = {}
    by_line: dict[tuple[str, ...], dict[str, str]] = {}
    for _, texts in rows:
        heads[texts[table.wide.across]] = None
        cells = by_line.setdefault(tuple(texts[key] for key in keys), {})
        cells[texts[table.wide.across]] = table.wide.cell.format(**texts)
    lines = [[*names, *(cells.get(head, "") for head in heads)] for names, cells in by_line.items()]
    return [*keys, *heads], "l" * len(keys) + "r" * len(heads), lines
