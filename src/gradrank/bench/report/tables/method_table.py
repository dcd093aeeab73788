"""A table of methods by metrics for a paper, on one or more data sets.

The methods that may be the best are bold in each column (`bold`). `gradrank table` prints this table, and a run writes
it for every convention.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gradrank.base.text_tables import Grid, is_missing, number
from gradrank.bench.report.tables.dataset_values import NOTE, detectable_sentence, difference_text, headline_metric
from gradrank.bench.report.tables.summary_tables import SEEDS
from gradrank.bench.report.tables.table import BOLD, Row, descending, in_bold
from gradrank.comparison.rankings.result import Result, Section
from gradrank.measures.metrics import metric_label

if TYPE_CHECKING:
    import polars as pl


class Block(NamedTuple):
    """The values of one data set under one convention.

    folds: number of folds. queries: number of test queries. rows: rows with the columns of the table main. note: the
    note on tied scores; may be empty.
    """

    dataset: str
    convention: str
    folds: int
    queries: int
    rows: Sequence[Row]
    note: str = ""

    @property
    def metrics(self) -> list[str]:
        """Metrics in the order of the rows."""
        return list(dict.fromkeys(row["metric"] for row in self.rows))

    def __str__(self) -> str:
        """Return the name, the convention and the numbers of folds and queries as text."""
        measured = sorted({row["queries"] for row in self.rows if row["queries"]} - {self.queries})
        total = _count(self.queries, "test query", "test queries")
        values = " to ".join(f"{count:,}" for count in dict.fromkeys((measured[0], measured[-1]))) if measured else ""
        queries = f"values for {values} of {total}" if measured else total
        return f"`{self.dataset}` (convention `{self.convention}`, {_count(self.folds, 'fold')}, {queries})"


class ValueColumn(NamedTuple):
    """The values of one metric on one data set. rows: rows with the columns of the table main, by method."""

    block: Block
    metric: str
    rows: Mapping[str, Row]

    @property
    def means(self) -> dict[str, float | None]:
        return {method: row["mean"] for method, row in self.rows.items()}

    @property
    def is_tested(self) -> bool:
        return any(not is_missing(row["p_best"]) for row in self.rows.values())

    @property
    def bold(self) -> set[str]:
        """The methods in bold."""
        return in_bold(self.rows)


@dataclass(frozen=True, repr=False, eq=False)
class MethodTable(Result):
    """A table with one row per method and one column per metric of each data set, as `gradrank.table` returns it.

    Printing a MethodTable shows its values with four decimals. In a notebook, it is shown as an HTML table. `frame` has
    every digit.

    blocks: one per data set. sorted_by: the metric of the first block by which the rows are sorted, highest value
    first. intervals: whether half the 95% interval follows a mean. choice: what the label in LaTeX says about the
    chosen methods and metrics. baseline: if given, the method from which each column also shows the differences.
    """

    blocks: Sequence[Block]
    sorted_by: str
    intervals: bool = False
    choice: str = ""
    baseline: str | None = None

    @property
    def frame(self) -> "pl.DataFrame":
        """Frame with one row per data set and method.

        Columns: `dataset`, `convention`, `method`, and for each metric, the mean in `<metric>`, half the 95% interval
        in `<metric>_half_width`, the number of queries in `<metric>_queries`, and the p value of the hypothesis that
        the method is one of the best in `<metric>_p_best`. With a baseline, also the difference from it in
        `<metric>_difference`, the bounds of its 95% interval in `<metric>_low` and `<metric>_high`, and `better`,
        `worse` or `no evidence` in `<metric>_decision`. An undefined value is null.
        """
        import polars as pl

        kinds = {"": ("mean", pl.Float64), "_half_width": ("half_width", pl.Float64)}
        kinds |= {"_queries": ("queries", pl.Int64), "_p_best": ("p_best", pl.Float64)}
        if self.baseline is not None:
            kinds |= {f"_{key}": (key, pl.Float64) for key in ("difference", "low", "high")}
            kinds |= {"_decision": ("decision", pl.String)}
        metrics = list(dict.fromkeys(metric for block in self.blocks for metric in block.metrics))
        rows: dict[tuple[str, str, str], Row] = {}
        for column in self.columns:
            for method in filter(column.rows.__contains__, self.methods):
                cells = rows.setdefault((column.block.dataset, column.block.convention, method), {})
                cells |= {f"{column.metric}{end}": column.rows[method].get(key) for end, (key, _) in kinds.items()}
        schema: dict[str, type[pl.DataType]] = dict.fromkeys(("dataset", "convention", "method"), pl.String)
        schema |= {f"{metric}{end}": dtype for metric in metrics for end, (_, dtype) in kinds.items()}
        names = ("dataset", "convention", "method")
        records = [dict(zip(names, key, strict=True)) | cells for key, cells in rows.items()]
        return pl.DataFrame(records, schema=schema).fill_nan(None)

    def to_csv(self) -> str:
        """Return `frame` as CSV."""
        return self.frame.write_csv()

    @cached_property
    def columns(self) -> list[ValueColumn]:
        """The columns from left to right."""
        return [
            ValueColumn(block, metric, {row["model"]: row for row in block.rows if row["metric"] == metric})
            for block in self.blocks
            for metric in block.metrics
        ]

    @cached_property
    def methods(self) -> list[str]:
        """The methods from top to bottom. A method without the value that decides follows the others."""
        first = next(column for column in self.columns if column.metric == self.sorted_by)
        columns = [first, *self.columns]
        names = sorted({method for column in columns for method in column.rows})
        return sorted(names, key=lambda name: [descending(column.means.get(name)) for column in columns])

    def sections(self) -> list[Section]:
        """Return the table."""
        lines = [
            [f"`{method}`", *chain(*(self._cells(column, method) for column in self.columns))]
            for method in self.methods
        ]
        heads = [[metric_label(column.metric), f"− `{self.baseline}`"][: self._width] for column in self.columns]
        head = ["method", *chain(*heads)]
        repeated = chain(*([column.block.dataset] * self._width for column in self.columns))
        groups = ["", *repeated] if len(self.blocks) > 1 else []
        names = [*(block.dataset for block in self.blocks), *dict.fromkeys(block.convention for block in self.blocks)]
        label = "-".join(filter(None, [*names, self.choice]))
        return [Section(self._caption(), Grid(head, "l" + "r" * (len(head) - 1), lines, groups), label)]

    @property
    def _width(self) -> int:
        """Number of printed columns per metric."""
        return 1 if self.baseline is None else 2

    def _cells(self, column: ValueColumn, method: str) -> list[str]:
        row = column.rows.get(method)
        is_compared = row is not None and not is_missing(row.get("difference"))
        difference = difference_text(row) if row is not None and is_compared else ""
        return [self._cell(column, method), difference][: self._width]

    def _cell(self, column: ValueColumn, method: str) -> str:
        row = column.rows.get(method)
        if row is None or is_missing(row["mean"]):
            return number(None)
        mean = number(row["mean"])
        text = f"**{mean}**" if method in column.bold else mean
        return f"{text} ± {number(row['half_width'])}" if self.intervals else text

    def _caption(self) -> str:
        """Return the sentences that say what the numbers and the bold type mean."""
        blocks = _listed([str(block) for block in self.blocks])
        where = f" on `{self.blocks[0].dataset}`" if len(self.blocks) > 1 else ""
        sentences = [
            f"Test results on {blocks}: means over folds of the means over queries, sorted by "
            f"{metric_label(self.sorted_by)}{where}.",
            *self._intervals(),
            *_rule(self.columns, len(self.blocks) > 1),
            *self._differences(),
            *(f"{block.dataset}: {block.note}" for block in self.blocks if block.note),
        ]
        return " ".join(sentences)

    def _differences(self) -> list[str]:
        """Return the sentences about the differences from the baseline, and about what could have been detected."""
        named = [] if self.baseline is None else [f"Baseline: `{self.baseline}`. {NOTE}"]
        compared = []
        for block in self.blocks:
            where = f" on `{block.dataset}`" if len(self.blocks) > 1 else ""
            compared.append((f"the best method{where}", block.rows))
            from_baseline = [row | {"detectable": row.get("detectable_baseline")} for row in block.rows]
            compared.append((f"`{self.baseline}`{where}", from_baseline))
        return [*named, *detectable_sentence(compared)]

    def _intervals(self) -> list[str]:
        """Return the sentences about intervals and seeds."""
        seeds = {row["seeds"] for block in self.blocks for row in block.rows if row.get("seeds")}
        several = f"Methods trained with several seeds: means over {' or '.join(map(str, sorted(seeds)))} seeds."
        half = "±: half the 95% interval (1.96 standard errors over all test queries)."
        return [several] * bool(seeds) + ([half, *[SEEDS] * bool(seeds)] if self.intervals else [])


def table_by_headline(blocks: Sequence[Block]) -> MethodTable:
    """Return the table of all rows with intervals, sorted by the headline metric of the first block."""
    return MethodTable(blocks, headline_metric(blocks[0].metrics), intervals=True)


def _rule(columns: Sequence[ValueColumn], is_grouped: bool) -> list[str]:
    """Return the sentences that say what is bold, and which columns were not tested."""
    untested = [
        metric_label(column.metric) + (f" on `{column.block.dataset}`" if is_grouped else "")
        for column in columns
        if not column.is_tested
    ]
    if len(untested) == len(columns):
        return ["Differences were not tested."]
    return [BOLD, *([f"Differences were not tested in {_listed(untested)}."] if untested else [])]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
