"""The tables of results/<dataset>/tables/: a Column a line, which says what it holds, and what each row is about.

main: a mean with half its 95% interval for each convention, method and metric, and p of the paired test against the
best where that was made; where methods have several seeds, how many, and the mean's standard deviation over them.
folds: the same means fold by fold. published: each published number beside ours. pairwise: paired tests of every two
methods. ranks: mean ranks over queries. pr_curve: precision at eleven levels of recall. short_lists: queries that have
0 for their length.
file_order: values in file order and in expectation over the orders of equal scores, of a constant score as well.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.evaluation import file_order, short_lists
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.measured import (
    PAIRED_METRICS,
    RECALL_LEVELS,
    Measured,
    beside_published,
    curve,
    fold_means,
    in_file_order,
    mean_ranks,
    metric_means,
)
from gradrank.report.tables.numbers import VERDICT, P, missing
from gradrank.report.tables.table import Column, Mark, Row, Table, Wide, read_csv
from gradrank.report.tables.verdicts import explained


class Definition(NamedTuple):
    """title: with `{}` for the data set's name."""

    title: str
    about: Callable[[Measured], Iterable[Any]]
    columns: tuple[Column, ...]
    wide: Wide | None = None
    note: str = ""
    parts: str = "convention"


# After what is said of the interval, where methods were trained with several seeds.
SEEDS = (
    "Of methods trained with several seeds the mean is over these as well, and so is the interval: Student's, over "
    "queries within their folds, and seeds. Chance plays no part in the others, or they come from elsewhere."
)
# What the settings behind these numbers have seen.
SETTINGS = (
    "One setting of each method for all folds: its publication's or its library's, what params.yaml says, or one "
    "chosen by the mean validation value over MQ2007's folds, whose validation parts are together its test parts "
    "(`gradrank models NAME` has each one's source). Settings chosen on each fold's own validation part: `snakemake "
    "contest`."
)
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
            Column("seeds", form="d", only_known=True),
            Column("seed_deviation", form=".4f", only_known=True),
        ),
        Wide(
            ("convention", "model"),
            "metric",
            "{mean} ± {half_width}",
            best="mean",
            by=PAIRED_METRICS[0],
            mark=Mark(
                "p_best",
                "below the best by the paired Wilcoxon signed-rank test over queries, Holm-corrected for all pairs of "
                f"methods, p < {LEVEL}",
            ),
        ),
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
        beside_published,
        (
            Column("model", of=lambda row: row.here.model),
            Column("method", of=lambda row: row.there.method),
            Column("note", of=lambda row: row.there.note),
            Column("metric", of=lambda row: row.here.metric),
            Column("convention", of=lambda row: row.there.convention),
            Column("published", form=".4f", of=lambda row: row.there.value),
            Column("our_convention", of=lambda row: row.here.convention),
            Column("ours", form=".4f", of=lambda row: row.here.mean),
            Column("difference", form="+.4f", of=lambda row: row.judged.difference),
            Column("half_width", form=".4f", of=lambda row: row.judged.half_width),
            Column("of", of=lambda row: row.judged.of),
            Column("verdict", form=VERDICT, of=lambda row: row.judged.verdict),
            Column("alike", form="d"),
            Column("others", form="d"),
            Column("source", of=lambda row: row.there.source),
        ),
        Wide(
            ("model", "method", "note", "convention", "our_convention", "source"),
            "metric",
            "{published} ({difference}, {verdict}, {alike}/{others})",
        ),
        f"The published value (ours minus it, verdict, power). {explained()}",
        parts="",
    ),
    "pairwise": Definition(
        "Paired tests on {}",
        lambda measured: measured.pairs,
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
        curve,
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
        lambda measured: measured.short,
        (
            Column("convention"),
            Column("metric"),
            Column("queries", form="d"),
            Column("of", form="d"),
            Column("share", form=".4f"),
        ),
    ),
    "file_order": Definition(
        "What the order of equal scores is worth on {}",
        in_file_order,
        (
            *MODEL_METRIC,
            *(Column(key, form=".4f") for key in ("mean", "expected")),
            Column("difference", form="+.4f"),
            Column("half_width", form=".4f"),
            Column("share", form=".2f"),
        ),
        Wide(("convention", "model"), "metric", "{mean} ({expected})"),
        "In file order (in expectation over all orders of equal scores); share: their difference in halves of the 95% "
        "interval.",
    ),
}


def summary_tables(measured: Measured) -> dict[str, Table]:
    """Every table by its name."""
    return {
        name: Table(
            id=name,
            title=each.title.format(measured.dataset),
            columns=each.columns,
            about=each.about(measured),
            note=f"{each.note} {SEEDS}" if name == "main" and measured.seeds > 1 else each.note,
            wide=each.wide,
            parts=each.parts,
        )
        for name, each in DEFINITIONS.items()
    }


def read_tables(folder: Path) -> dict[str, list[Row]]:
    """The rows of each table that was written into `folder`; none of one that is not there."""
    return {name: read_csv(folder / f"{name}.csv", each.columns) for name, each in DEFINITIONS.items()}


def means(main: Iterable[Row], convention: str) -> dict[str, dict[str, float | None]]:
    """summary.json from the rows of `main`: by model and metric, to four decimals; null where a mean is not defined."""
    found: dict[str, dict[str, float | None]] = {}
    for row in main:
        if row["convention"] == convention:
            mean = None if missing(row["mean"]) else round(row["mean"], 4)
            found.setdefault(row["model"], {})[row["metric"]] = mean
    return found


def warnings(tables: Mapping[str, list[Row]], dataset: str, convention: str) -> list[str]:
    """What a data set's tables warn of under its primary convention."""
    short = short_lists.warning(tables.get("short_lists", []), dataset, convention)
    return list(filter(None, (short, file_order.warning(tables.get("file_order", [])))))
