"""Definitions of the tables in results/<dataset>/tables/: the columns of each, and the source of its rows.

- main: one mean per convention, method and metric, with half the width of its 95% interval and the p value of the
  hypothesis that the method is one of the best. For a method with several seeds, a row also has the number of seeds and
  the standard deviation of the mean over seeds. Its LaTeX files are written by `method_table`.
- folds: the means of each fold
- published: each published number and the measured value
- published_bands: the verdict on each published number by each kind of interval, for the headline metric
- published_runs: our value of each fold, and the published values of single runs
- baseline: paired differences of all methods from one baseline
- pairwise: paired tests of all pairs of methods
- ranks: mean ranks over queries
- pr_curve: interpolated precision at eleven levels of recall
- short_lists: queries whose value is 0 only because they have few documents
- file_order: the value with tied scores in file order, and the value in expectation over all orders of tied scores, for
  every method and for a constant score
- constant_scores: methods and folds in which all test documents of each query have the same score
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.text_tables import is_missing
from gradrank.bench.folds import file_order
from gradrank.bench.report.tables.dataset_values import (
    NOTE,
    RECALL_LEVELS,
    DatasetValues,
    band_rows,
    baseline_rows,
    constant_score_rows,
    detectable_sentence,
    file_order_rows,
    fold_means,
    mean_ranks,
    metric_means,
    published_rows,
    recall_curve,
    run_rows,
)
from gradrank.bench.report.tables.table import VERDICT, Column, P, Row, Table, Wide, explain_verdicts, read_csv
from gradrank.measures import query_values


class Definition(NamedTuple):
    """The definition of a table.

    title: contains `{}` for the name of the data set. rows: a function that returns the source objects of the rows. For
    wide, note and parts, see `Table`.
    """

    title: str
    rows: Callable[[DatasetValues], Iterable[Any]]
    columns: tuple[Column, ...]
    wide: Wide | None = None
    note: str = ""
    parts: str = "convention"


class Caution(NamedTuple):
    """A caution about the values of a data set. is_serious: True if it can change a conclusion."""

    text: str
    is_serious: bool

    @property
    def word(self) -> str:
        return "Warning" if self.is_serious else "Note"


# This text follows the explanation of the interval if a method was trained with several seeds.
SEEDS = (
    "For methods trained with several seeds, the mean is over the seeds as well, and the interval is Student's, over "
    "queries within their folds and over seeds. The other methods are not randomised, or their scores were imported."
)
# This text states where the hyper-parameter settings come from, and on which data they were chosen.
SETTINGS = (
    "Each method has one setting for all folds: the setting of its publication or library, the setting in params.yaml, "
    "or one that was chosen by the mean validation value over the folds of MQ2007. The validation parts of these folds "
    "together contain the same queries as their test parts. `gradrank models NAME` prints the source of each setting. "
    "`snakemake contest` chooses the settings on the validation part of each fold instead."
)
# provenance.json contains a checksum of the written tables, including titles and notes. After a change of a title or
# note, the summaries and provenance records of all data sets must be written again.
MODEL_METRIC = (Column("convention"), Column("model"), Column("metric"))
DEFINITIONS = {
    "main": Definition(
        "Test results on {}",
        metric_means,
        (
            *MODEL_METRIC,
            Column("mean", form=".4f"),
            Column("half_width", form=".4f"),
            Column("queries", form="d"),
            Column("p_best", form=P),
            Column("detectable", form=".4f"),
            Column("seeds", form="d", drop_if_empty=True),
            Column("seed_deviation", form=".4f", drop_if_empty=True),
        ),
        Wide(("convention", "model"), "metric", "{mean} ± {half_width}"),
        "Mean over folds of the mean over test queries, ± half the 95% interval (1.96 standard errors over all test "
        "queries).",
    ),
    "folds": Definition(
        "Test results on {}, fold by fold",
        fold_means,
        (*MODEL_METRIC, Column("fold", form="d"), Column("mean", form=".4f"), Column("queries", form="d")),
        Wide(("convention", "model", "metric"), "fold", "{mean}"),
        "Mean over a fold's test queries.",
    ),
    "published": Definition(
        "Published numbers on {} beside ours",
        published_rows,
        (
            Column("model", of=lambda row: row.measured.model),
            Column("method", of=lambda row: row.published.method),
            Column("note", of=lambda row: row.published.note),
            Column("metric", of=lambda row: row.measured.metric),
            Column("convention", of=lambda row: row.published.convention),
            Column("published", form=".4f", of=lambda row: row.published.value),
            Column("our_convention", of=lambda row: row.measured.convention),
            Column("ours", form=".4f", of=lambda row: row.measured.mean),
            Column("difference", form="+.4f", of=lambda row: row.judged.difference),
            Column("half_width", form=".4f", of=lambda row: row.judged.half_width),
            Column("of", of=lambda row: row.judged.of),
            Column("verdict", form=VERDICT, of=lambda row: row.judged.verdict),
            Column("alike", form="d"),
            Column("others", form="d"),
            Column("source", of=lambda row: row.published.source),
        ),
        Wide(
            ("model", "method", "note", "convention", "our_convention", "source"),
            "metric",
            "{published} ({difference}, {verdict}, {alike}/{others})",
        ),
        f"The published value (ours minus it, verdict, power). {explain_verdicts()}",
        parts="",
    ),
    "published_bands": Definition(
        "Verdicts on published numbers on {} by kind of interval",
        band_rows,
        (
            Column("model"),
            Column("method"),
            Column("metric"),
            Column("published", form=".4f"),
            Column("of", "interval over"),
            Column("half_width", "half 95% interval", ".4f"),
            Column("verdict", form=VERDICT),
            Column("inside", "other methods inside", "d"),
            Column("others", "of", "d"),
        ),
        note="Other methods inside: those that would be reproduced or consistent. The fewer, the sharper the verdict.",
        parts="",
    ),
    "published_runs": Definition(
        "Published values of single runs on {} beside ours",
        run_rows,
        (
            Column("model"),
            Column("method"),
            Column("metric"),
            Column("convention"),
            Column("fold"),
            Column("ours", form=".4f"),
            Column("runs", form="d"),
            Column("mean", "mean of the runs", ".4f"),
            Column("deviation", "standard deviation", ".4f"),
            Column("least", "lowest", ".4f"),
            Column("most", "highest", ".4f"),
            Column("low", "95% interval from", ".4f"),
            Column("high", "to", ".4f"),
            Column("inside", "ours inside"),
        ),
        note="The interval is that of one further run: mean ± t s √(1+1/n).",
        parts="",
    ),
    "baseline": Definition(
        "Differences from the baseline on {}",
        baseline_rows,
        (
            Column("convention"),
            Column("metric"),
            Column("model"),
            Column("baseline"),
            Column("queries", form="d"),
            Column("difference", form="+.4f"),
            Column("low", form="+.4f"),
            Column("high", form="+.4f"),
            Column("wins", form="d"),
            Column("ties", form="d"),
            Column("losses", form="d"),
            Column("wilcoxon", form=P),
            Column("wilcoxon_holm", form=P),
            Column("decision"),
            Column("detectable", form=".4f"),
        ),
        Wide(("convention", "baseline", "model"), "metric", "{difference} [{low}, {high}]"),
        NOTE,
    ),
    "pairwise": Definition(
        "Paired tests on {}",
        lambda dataset: dataset.pairs,
        (
            Column("convention"),
            Column("metric"),
            Column("model_a"),
            Column("model_b"),
            Column("queries", form="d"),
            Column("difference", form="+.4f"),
            Column("low", form="+.4f"),
            Column("high", form="+.4f"),
            Column("wins", form="d"),
            Column("ties", form="d"),
            Column("losses", form="d"),
            Column("t", form=P),
            Column("t_holm", form=P),
            Column("wilcoxon", form=P),
            Column("wilcoxon_holm", form=P),
            Column("detectable", form=".4f"),
        ),
        note="Difference of the means over folds with its 95% bootstrap interval; wins, ties and losses over queries; "
        "p of Student's paired t test and Wilcoxon's signed-rank test over queries, and Holm-corrected for all pairs.",
    ),
    "ranks": Definition(
        "Mean ranks over test queries on {}",
        mean_ranks,
        (
            Column("convention"),
            Column("metric"),
            Column("model"),
            Column("rank", form=".2f"),
            Column("critical_difference", form=".2f"),
            Column("p", form=P),
        ),
        Wide(("convention", "model"), "metric", "{rank}"),
        "1 is the best. Friedman's test with Nemenyi's critical difference: ranks.csv.",
    ),
    "pr_curve": Definition(
        "Interpolated precision by recall on {}",
        recall_curve,
        (
            Column("convention"),
            Column("model"),
            Column("recall", form=".1f", of=lambda row: RECALL_LEVELS[row.metric]),
            Column("precision", form=".4f", of=lambda row: row.mean),
        ),
        Wide(("convention", "model"), "recall", "{precision}"),
    ),
    "short_lists": Definition(
        "Test queries of {} that have 0 for their length alone",
        lambda dataset: dataset.short,
        (
            Column("convention"),
            Column("metric"),
            Column("queries", form="d"),
            Column("of", form="d"),
            Column("share", form=".4f"),
        ),
    ),
    "file_order": Definition(
        "Effect of the file order on tied scores on {}",
        file_order_rows,
        (
            *MODEL_METRIC,
            *(Column(key, form=".4f") for key in ("mean", "expected")),
            Column("difference", form="+.4f"),
            Column("half_width", form=".4f"),
            Column("share", form=".2f"),
        ),
        Wide(("convention", "model"), "metric", "{mean} ({expected})"),
        "In file order (in expectation over all orders of tied scores). The column share of the CSV file has the "
        "difference of the two, divided by half the 95% interval.",
    ),
    "constant_scores": Definition(
        "Folds of {} in which all test documents of a query have the same score",
        constant_score_rows,
        (Column("convention"), Column("model"), Column("fold")),
    ),
}


# The method from which the differences in the column `detectable` of a table are measured.
VERSUS = {"main": "the best method", "baseline": "the baseline", "pairwise": "another method"}


def summary_tables(dataset: DatasetValues) -> dict[str, Table]:
    """Return a dict of all tables. The keys are the table names."""
    return {name: _table(name, definition, dataset) for name, definition in DEFINITIONS.items()}


def _table(name: str, definition: Definition, dataset: DatasetValues) -> Table:
    """Return one table. The notes of tables of differences say what could have been detected."""
    about = list(definition.rows(dataset))
    sentences = [definition.note]
    if name == "main" and dataset.seeds > 1:
        sentences.append(SEEDS)
    if versus := VERSUS.get(name):
        primary = [row for row in map(_detectable, about) if row["convention"] == dataset.primary]
        sentences += detectable_sentence([(versus, primary)])
    return Table(
        id=name,
        title=definition.title.format(dataset.dataset),
        columns=definition.columns,
        about=about,
        note=" ".join(sentences),
        wide=definition.wide,
        parts=definition.parts,
    )


def _detectable(source: Any) -> Row:
    """Return the cells of a row that `detectable_sentence` reads."""
    return {key: Column(key).value(source) for key in ("convention", "metric", "detectable")}


def main_rows(dataset: DatasetValues) -> list[Row]:
    """Return the rows of the table main, with every column."""
    columns = DEFINITIONS["main"].columns
    rows = Table("main", "", columns, metric_means(dataset)).rows
    return [{column.key: row.get(column.key) for column in columns} for row in rows]


def read_tables(folder: Path) -> dict[str, list[Row]]:
    """Return a dict of the rows of each table in `folder`. The keys are table names; a missing file gives []."""
    return {name: read_csv(folder / f"{name}.csv", definition.columns) for name, definition in DEFINITIONS.items()}


def means(main: Iterable[Row], convention: str) -> dict[str, dict[str, float | None]]:
    """Return the content of summary.json, from the rows of the table main under one convention.

    The outer keys are models in alphabetical order, the inner keys are metrics. Means are rounded to four decimals. An
    undefined mean has the value None.
    """
    by_model: dict[str, dict[str, float | None]] = {}
    for row in main:
        if row["convention"] == convention:
            mean = None if is_missing(row["mean"]) else round(row["mean"], 4)
            by_model.setdefault(row["model"], {})[row["metric"]] = mean
    return dict(sorted(by_model.items()))


def feature_cautions(description: Mapping[str, Any] | None) -> list[Caution]:
    """Return the cautions about features that may be outcomes or whose values merge.

    description: the content of collection.json; None without the stored collection.
    """
    return [Caution(warning, True) for warning in (description or {}).get("warnings", [])]


def cautions(tables: Mapping[str, list[Row]], dataset: str, convention: str) -> list[Caution]:
    """Return the cautions about constant scores, short lists and tied scores, under the primary convention."""
    order = tables.get("file_order", [])
    constant = file_order.constant_scores_note(tables.get("constant_scores", []), order)
    short = query_values.warning(tables.get("short_lists", []), dataset, convention)
    ties = file_order.note(order)
    found = [Caution(text, True) for text in (constant, short) if text]
    return [*found, *([Caution(*ties)] if ties else [])]
