"""A table with typed columns over a Polars frame, written as CSV for programs, and as Markdown and LaTeX for readers.

CSV holds every digit. A missing number is null in the frame, an empty cell in CSV and a dash in Markdown; nan becomes
null.

Numbers for readers have a fixed number of digits. One rule decides which values are bold. The marks of the verdicts on
published numbers are the same on all pages; gradrank.bench.literature has the decision rule. In LaTeX, a table with
`parts` becomes one text per value of that column, such as the convention.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.files import atomic
from gradrank.base.text_tables import (
    MINUS,
    NONE,
    Grid,
    is_missing,
    latex_document,
    latex_table,
    number,
    p_value,
    pipe_table,
)
from gradrank.bench.literature import CONSISTENT, NOT_REPRODUCED, REPRODUCED
from gradrank.comparison.statistics import LEVEL
from gradrank.measures.metrics import metric_label

if TYPE_CHECKING:
    import polars as pl


MARKS = {REPRODUCED: "✓", CONSISTENT: "≈", NOT_REPRODUCED: "✗"}
MEANINGS = {
    REPRODUCED: "ours differs by no more than seeds and rounding explain (if single runs are published: by no more "
    "than one further run would in 95% of cases)",
    CONSISTENT: "the difference lies in its 95% interval, which is that of the paired differences over folds if the "
    "published values per fold are known and it is the narrower, otherwise that of our mean over queries",
    NOT_REPRODUCED: "neither",
}
POWER = "how many of our other methods would have had the same verdict on the same number"


def explain_marks() -> str:
    """Return one sentence that explains the marks."""
    return "; ".join(f"{mark} {verdict}: {MEANINGS[verdict]}" for verdict, mark in MARKS.items()) + "."


def explain_verdicts() -> str:
    """Return sentences that explain the marks, and the two numbers after each mark (the power of the verdict)."""
    return f"{explain_marks()} The verdict's power: {POWER}."


def count_verdicts(rows: Sequence[dict[str, Any]]) -> str:
    """Return a sentence with the number of rows per verdict, and a sentence with the power of favourable verdicts.

    The favourable verdicts are REPRODUCED and CONSISTENT. rows: dicts with the keys `verdict`, `alike` and `others`.
    Summaries of earlier versions lack the keys `alike` and `others`; the second sentence is then omitted.
    """
    judged = [row for row in rows if row["verdict"]]
    counts = {verdict: sum(row["verdict"] == verdict for row in judged) for verdict in MARKS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    text = f"Of {len(judged)} published number{'' if len(judged) == 1 else 's'}: {listed}."
    favourable = [row for row in judged if row["verdict"] != NOT_REPRODUCED and row.get("others")]
    if not favourable:
        return text
    same, compared = (sum(row[key] for row in favourable) for key in ("alike", "others"))
    return (
        f"{text} Of our other methods, held against the numbers that are reproduced or consistent, "
        f"{same:,} of {compared:,} ({same / compared:.0%}) would have had the same verdict."
    )


TEXT, P, VERDICT = "", "p", "verdict"  # column forms in addition to the format specifications of `format`


def format_value(value: Any, form: str, minus: str = "-") -> str:
    """Return a value as text.

    form: TEXT, P (a p value), VERDICT (a verdict after its mark) or a format specification such as `.4f`. minus: the
    sign of negative numbers. A missing value is a dash.
    """
    if is_missing(value):
        return NONE
    if form == P:
        return p_value(value)
    if form == VERDICT:
        return f"{MARKS[value]} {value}" if value else ""
    return value if form == TEXT else number(value, form, minus)


def setting(value: Any) -> str:
    """Return a parameter's value as text: `20`, `ndcg@10`, `64 × 32`."""
    return " × ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def seconds(value: float) -> str:
    """Return a time to about three digits: `0.42 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def microseconds(value: float | None) -> str:
    """Return a time to about three digits: `0.42 µs`, `12.3 µs`, `1,234 µs`."""
    if value is None or is_missing(value):
        return NONE
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} µs"


def size(count: float | None) -> str:
    """Return a number of bytes as text: `512 B`, `1.2 kB`, `34.5 MB`."""
    if count is None or is_missing(count):
        return NONE
    return f"{count:.0f} B" if count < 1e3 else f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def descending(value: float | None) -> float:
    """Return a sort key that puts the highest value first and missing values last."""
    return float("inf") if value is None or is_missing(value) else -value


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


def bold_rule(varying: str, where: str = "") -> str:
    """Return the sentences that explain bold values. varying: what the test takes into account. where: the columns."""
    return (
        f"Bold{where}: the methods that may be the best. The best method is among them with {1 - LEVEL:.0%} confidence "
        f"(model confidence set, Hansen et al. 2011, over {varying}). A bold value can be lower than a plain one: "
        "between two methods that rank very differently, only a larger difference can be detected. Nothing is bold if "
        "every method may be the best."
    )


BOLD = bold_rule("test queries")


def may_be_best(rows: Mapping[str, Row]) -> set[str]:
    """Return the methods whose `p_best` is at least .05; empty if the metric was not tested. rows: rows by method."""
    return {method for method, row in rows.items() if is_worse(row) is False}


def is_worse(row: Row) -> bool | None:
    """Return whether a method is significantly worse than the best, from its `p_best`; None if this was not tested."""
    p = row.get("p_best")
    return None if p is None or is_missing(p) else p < LEVEL


def in_bold(rows: Mapping[str, Row]) -> set[str]:
    """Return the methods of `may_be_best`, or the empty set if no tested method is worse. rows: rows by method."""
    return may_be_best(rows) if any(is_worse(row) for row in rows.values()) else set()


NO_MARKS = str.maketrans("", "", "".join(MARKS.values()))


def latex(table: Table, owner: str = "") -> dict[str, str]:
    """Return a dict from part to LaTeX text. The key is empty if the table has no parts.

    owner: the data set or study of the table, for the label. A table without rows has no part.
    """
    rows = table.printed_rows(MINUS)
    texts = {}
    for part in dict.fromkeys(values[table.parts] if table.parts else "" for values, _ in rows):
        part_rows = [row for row in rows if not table.parts or row[0][table.parts] == part]
        head, alignment, lines = cells_of(table, part_rows, without=table.parts)
        if table.wide is not None:
            head = list(map(metric_label, head))
        grid = Grid(list(map(_plain, head)), alignment, [list(map(_plain, line)) for line in lines])
        title = f"{table.title}, {table.parts} `{part}`" if part else table.title
        caption = _plain(" ".join(filter(None, [f"{title}.", table.note])))
        texts[part] = latex_document([latex_table(grid, caption, "-".join(filter(None, [owner, table.id, part])))])
    return texts


def _plain(text: str) -> str:
    """Return text without marks of verdicts, because a word after each mark states the same verdict."""
    return text.translate(NO_MARKS)


def write_table(table: Table, folder: Path, owner: str = "") -> list[Path]:
    """Write a table in all forms, and return the paths. owner: the data set or study, for the label in LaTeX."""
    return [*write_data(table, folder), *write_latex(table.id, latex(table, owner), folder)]


def write_data(table: Table, folder: Path) -> list[Path]:
    """Write `folder`/<id>.csv and <id>.md, and return the paths."""
    write_csv(table, folder)
    return [folder / f"{table.id}.csv", _write(folder / f"{table.id}.md", markdown(table))]


def write_latex(name: str, parts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write `folder`/<name>-<part>.tex for each part of a table, or <name>.tex if the key is empty; return the paths.

    parts: LaTeX texts by part, such as the convention.
    """
    return [_write(folder / f"{'-'.join(filter(None, [name, part]))}.tex", text) for part, text in parts.items()]


def _write(path: Path, text: str) -> Path:
    with atomic(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    return path
