"""Comparison of rankings of the same queries by paired tests."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import number, p_value
from gradrank.comparison.rankings.evaluation import notes, requested_convention, requested_metrics, values_per_query
from gradrank.comparison.rankings.inputs import Judged, judged, segmented
from gradrank.comparison.rankings.interval_plot import interval_plot
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.comparison.rankings.stored_values import stored_values
from gradrank.comparison.rankings.tied_scores import TiedMean, TiedScores
from gradrank.comparison.risk import geo_risk, u_risk
from gradrank.comparison.significance import best_methods, bootstrap_test, detectable_difference, randomisation_test
from gradrank.comparison.statistics import (
    LEVEL,
    complete_values,
    differences,
    effect_size,
    equivalence,
    holm,
    mean_interval,
    paired_t,
    wilcoxon,
    win_tie_loss,
)
from gradrank.comparison.tukey import tukey_p_values
from gradrank.measures.conventions import DEFAULT, Convention
from gradrank.measures.metrics import metric_label, metric_name
from gradrank.plots.charts import interval_chart, sorted_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Test = Literal["t", "wilcoxon", "bootstrap", "randomisation", "tukey"]
PairedP = Callable[[np.ndarray, np.ndarray], float]
TESTS = {
    "t": "Student's paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "bootstrap": "paired bootstrap test",
    "randomisation": "Fisher's randomisation test",
    "tukey": "Tukey's HSD with queries as blocks, corrected for all pairs of rankings under one metric",
}
MARKS = {"better": "▲", "worse": "▼", None: ""}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """The paired comparisons of rankings, as `compare` returns them.

    Printing a Comparison shows `table`, and before it `systems` if a list of metrics was given. In a notebook, it also
    shows a plot of the intervals.

    table: frame with one row per comparison of a ranking `a` with a ranking `b`. If a list of metrics was given, the
    first column is `metric`. `queries` is the number of queries for which both rankings have a value; other queries are
    left out. `mean_a`, `mean_b` and `difference` (a - b) are means over these queries. `low` and `high` are the bounds
    of the 95% interval of the difference by Student's t. `wins`, `ties` and `losses` are the numbers of queries where a
    is better than, equal to or worse than b. `p` is the two-sided p value, and `p_corrected` the value after the
    correction, if there is one. `effect_size` is Cohen's d_z: the mean difference divided by the standard deviation of
    the differences. With a margin, `p_equivalence` is the p value of two one-sided t tests, `p_equivalence_corrected`
    the value after the correction, and `equivalent` is True if `p_equivalence_corrected` (without a correction,
    `p_equivalence`) is below .05. An undefined value is null.

    systems: frame with one row per metric and ranking. `mean` is the mean over `queries`, with the bounds `low` and
    `high` of its 95% interval. `in_confidence_set` is True if the ranking may be the best: it is in the 95% model
    confidence set (Hansen et al. 2011). With a baseline, `difference`, `difference_low` and `difference_high` are the
    difference from the baseline and the bounds of its interval, and `p` is the p value of this difference after the
    correction. `mark` is `better` or `worse` if `p` is below .05. `detectable` is the true difference that Student's
    paired t test finds with a probability of 80%, with Bonferroni's correction for all comparisons.

    per_query: frame with one row per metric and query: `metric`, `qid`, and one column per ranking.

    family: description of the comparisons for which p values are corrected. metric, convention, test, correction,
    margin: as given to `compare`. note: a line about queries with the value 0 because they have few documents, and a
    line about equal scores; may be empty. tied: the means that depend on the order of equal scores, by ranking; see
    Evaluation. If a list of metrics was given, the keys are pairs of a metric and a ranking. baseline, seed: as given
    to `compare`. by: dict from the text of a query id to its segment, if `segment` was given; printing then also shows
    the frame of `segments`.
    """

    table: pl.DataFrame
    systems: pl.DataFrame
    per_query: pl.DataFrame
    family: str
    metric: str | list[str]
    convention: Convention
    test: Test
    correction: Literal["holm"] | None
    margin: float | None
    note: str = ""
    tied: Mapping[Any, TiedMean] = field(default_factory=dict)
    baseline: str | None = None
    seed: int = 0
    by: Mapping[str, str] | None = None

    def to_frame(self) -> pl.DataFrame:
        """Return the frame `systems`."""
        return self.systems

    def risk(self, alpha: float = 1.0) -> pl.DataFrame:
        """Return a frame with one row per metric and ranking: `metric`, `ranking`, `u_risk` and `geo_risk`.

        alpha: additional weight of losses; a loss counts 1 + alpha times as much as a gain. u_risk: URisk against the
        baseline; null for the baseline, and if there is no baseline. geo_risk: GeoRisk among all rankings. See
        `gradrank.comparison.risk`. Raises GradrankError if alpha is negative or not finite.
        """
        if not isinstance(alpha, int | float) or not 0 <= alpha < np.inf:
            raise GradrankError(f"alpha: expected a number from 0, found {alpha!r}. Fix: give alpha=1")
        rows = []
        for metric, values in self.values().items():
            of_all = geo_risk(values, alpha)
            against = None if self.baseline is None else values[self.baseline]
            for name, own in values.items():
                risk = None if against is None or name == self.baseline else u_risk(own, against, alpha)
                rows.append({"metric": metric, "ranking": name, "u_risk": risk, "geo_risk": of_all[name]})
        return pl.DataFrame(rows, schema_overrides={"u_risk": pl.Float64}).fill_nan(None)

    def segments(self, by: Mapping[Any, Any] | Callable[[Any], Any] | None = None) -> pl.DataFrame:
        """Return a frame like `table` with one row per segment of queries, metric and comparison.

        The first columns are `segment` and `metric`. Holm's correction covers all rows. With Tukey's HSD, the p values
        are corrected only for the pairs of rankings of the same segment.

        by: dict from query id to the name of its segment, or a function of a query id. By default, the segments in the
        column `segment` of the judgements. Segments are sorted. Raises GradrankError for a query without a segment.
        """
        qids = self.per_query["qid"].unique(maintain_order=True).to_list()
        if by is None:
            if self.by is None:
                raise GradrankError("by: no segments are given. Fix: give a dict, or `segment` to compare")
            by, qids = self.by, [str(qid) for qid in qids]
        if isinstance(by, Mapping):
            if missing := [qid for qid in qids if qid not in by]:
                raise GradrankError(f"by: query {missing[0]!r} has no segment. Fix: add it to the dict")
            names = [str(by[qid]) for qid in qids]
        else:
            names = [str(by(qid)) for qid in qids]
        pairs = self.table.select("a", "b").unique(maintain_order=True).rows()
        parts = {}
        for segment in sorted(set(names)):
            rows = np.array([name == segment for name in names])
            for metric, values in self.values().items():
                parts[segment, metric] = {name: own[rows] for name, own in values.items()}
        table = _table(parts, pairs, self.test, self.seed, self.correction, self.margin)
        segment = pl.Series("segment", [key[0] for key in parts for _ in pairs])
        metric = pl.Series("metric", [key[1] for key in parts for _ in pairs])
        return table.drop("metric").select(segment, metric, pl.all())

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the differences of all comparisons with their 95% intervals, and return the matplotlib axes.

        ax: the axes to draw into; None for a new figure. Raises GradrankError if matplotlib is not installed (extra
        `plots`).
        """
        names, intervals = self._intervals()
        of = metric_label(self.metric) if isinstance(self.metric, str) else "metric"
        return interval_chart(names, np.array(intervals), f"difference in {of}, with 95% interval", "plot", ax)

    def _intervals(self) -> tuple[list[str], list[tuple[float, float, float]]]:
        """Return a name per comparison, and its difference with the bounds of the interval, nan if undefined."""
        names = [f"{row['a']} - {row['b']}" for row in self.table.to_dicts()]
        if "metric" in self.table.columns:
            labels = map(metric_label, self.table["metric"])
            names = [f"{label}: {name}" for label, name in zip(labels, names, strict=True)]
        return names, self.table.select("difference", "low", "high").fill_null(np.nan).rows()

    def values(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the (q,) values by metric and ranking, nan where undefined."""
        metrics = self.per_query["metric"].unique(maintain_order=True)
        frames = {metric: self.per_query.filter(metric=metric).drop("metric", "qid") for metric in metrics}
        return {
            metric: {name: frame[name].fill_null(np.nan).to_numpy() for name in frame.columns}
            for metric, frame in frames.items()
        }

    def to_html(self) -> str:
        """Return the tables and the plot of the intervals as HTML. All names are escaped."""
        return f"{super()._repr_html_()}\n{interval_plot(*self._intervals())}"

    def _repr_html_(self) -> str:
        return self.to_html()

    def sections(self) -> list[Section]:
        """Return the table of the rankings, if a list of metrics was given, and the table of the comparisons."""
        if isinstance(self.metric, str):
            tables = [self._comparisons(self.table, self.note)]
        else:
            tables = [self._systems(), self._comparisons(self.table, "")]
        return tables if self.by is None else [*tables, self._comparisons(self.segments(), "")]

    def _systems(self) -> Section:
        """Return the table with one line per ranking and one column per metric."""
        rows = {(row["metric"], row["ranking"]): row for row in self.systems.to_dicts()}
        lines = []
        for name in self.systems["ranking"].unique(maintain_order=True):
            cells = [name]
            for metric in self.metric:
                row = rows[metric, name]
                mean = number(row["mean"])
                cells.append(f"**{mean}**" if row["in_confidence_set"] else mean)
                if self.baseline is not None:
                    low, high = number(row["difference_low"], "+.4f"), number(row["difference_high"], "+.4f")
                    cells[-1] += MARKS[row["mark"]]
                    cells.append("" if name == self.baseline else f"[{low}, {high}]")
            lines.append(cells)
        head = ["ranking"]
        for metric in self.metric:
            head += [metric_label(metric), *(["difference"] if self.baseline is not None else [])]
        caption = (
            f"Means under the convention `{self.convention.name}`. Bold: in the 95% model confidence set, so it may be "
            "the best"
        )
        if self.baseline is not None:
            needed = [
                f"{metric_label(metric)} {number(max(detectable.drop_nulls().to_list(), default=None))}"
                for metric in self.metric
                for detectable in [self.systems.filter(metric=metric)["detectable"]]
            ]
            correction = "corrected by Holm" if self.correction and self.test != "tukey" else "by the test"
            caption += (
                f". Difference: 95% interval of the difference from `{self.baseline}`. ▲, ▼: higher or lower than "
                f"`{self.baseline}`, p below {LEVEL:g} ({TESTS[self.test]}, {correction}). Detectable with a "
                f"probability of 80%, at most: {', '.join(needed)}"
            )
        return section(caption, head, 1, lines, "rankings", self.note)

    def _comparisons(self, table: pl.DataFrame, note: str) -> Section:
        """Return the table with one line per comparison, or per segment and comparison."""
        what = metric_label(self.metric) if isinstance(self.metric, str) else "the metrics"
        caption = (
            f"Differences in {what} under the convention `{self.convention.name}`, with 95% "
            f"intervals by Student's t. p: {TESTS[self.test]}, two-sided"
        )
        is_corrected, has_segments = "p_corrected" in table.columns, "segment" in table.columns
        if is_corrected:
            family = f"the {len(table)} rows of this table" if has_segments else self.family
            caption += f". p (Holm): corrected for {family}"
        if self.margin is not None:
            caption += (
                f". p (equivalence): two one-sided t tests with the margin {self.margin:g}"
                + (", corrected in the same way" if self.correction else "")
                + f"; equivalent: below {LEVEL:g}"
            )
        rows = table.to_dicts()
        labels = {"segment": [row["segment"] for row in rows]} if has_segments else {}
        if not isinstance(self.metric, str):
            labels["metric"] = [metric_label(row["metric"]) for row in rows]
        columns = labels | {
            "a": [row["a"] for row in rows],
            "b": [row["b"] for row in rows],
            "queries": [f"{row['queries']:,}" for row in rows],
            "mean a": [number(row["mean_a"]) for row in rows],
            "mean b": [number(row["mean_b"]) for row in rows],
            "difference": [number(row["difference"], "+.4f") for row in rows],
            "interval": [f"[{number(row['low'], '+.4f')}, {number(row['high'], '+.4f')}]" for row in rows],
            "wins/ties/losses": [f"{row['wins']}/{row['ties']}/{row['losses']}" for row in rows],
            "effect size": [number(row["effect_size"], "+.3f") for row in rows],
            "p": [p_value(row["p"]) for row in rows],
        }
        if is_corrected:
            columns["p (Holm)"] = [p_value(row["p_corrected"]) for row in rows]
        if self.margin is not None:
            key = "p_equivalence_corrected" if self.correction else "p_equivalence"
            columns["p (equivalence)"] = [p_value(row[key]) for row in rows]
            columns["equivalent"] = ["yes" if row["equivalent"] else "no" for row in rows]
        lines = [list(line) for line in zip(*columns.values(), strict=True)]
        label = "segments" if has_segments else "comparison"
        return section(caption, list(columns), 2 + len(labels), lines, label, note)


def compare(
    rankings: Mapping[str, Any],
    y: Any,
    *,
    qid: Any = None,
    metric: Any = "ndcg@10",
    convention: str | Convention = DEFAULT,
    baseline: str | None = None,
    test: Test = "t",
    correction: Literal["holm"] | None = "holm",
    margin: float | None = None,
    seed: int = 0,
    docid: Any = None,
    against: pl.DataFrame | None = None,
    segment: str | None = None,
) -> Comparison:
    """Test whether rankings of the same documents differ in a metric, by paired tests over queries.

    Parameters
    ----------
    rankings
        Dict from the name of a ranking to its scores: (n,) numbers, a ranking with ids, or the path of a score file.
        See `evaluate`. The value of a name may also be a list of such runs, for example one per seed or per fold. The
        value of a query is then the mean over the runs that rank a document of the query. The intervals and tests
        cover queries only, not seeds.
    y, qid, docid, convention
        Relevance grades, ids, and name of the convention. The convention orders equal scores. See `evaluate`.
    metric
        Name of a metric, or a list of names. With a list, all metrics are one family of comparisons.
    baseline
        Name of a ranking. If given, every other ranking is compared with it. Otherwise, all pairs are compared.
    test
        `t`: Student's paired t test. `wilcoxon`: signed-rank test (Wilcoxon 1945). `bootstrap`: paired bootstrap test
        by the shift method (Sakai 2006). `randomisation`: Fisher's randomisation test (Smucker et al. 2007). `tukey`:
        Tukey's HSD with queries as blocks (Carterette 2012), whose p values are corrected for all pairs of rankings
        under one metric and are not corrected again.
    correction
        `holm`: p values are corrected for all comparisons of this call (Holm 1979). None: they are not corrected.
    margin
        Largest difference that does not matter, such as 0.01. If given, two one-sided t tests (Schuirmann 1987) decide
        whether two rankings are equivalent.
    seed
        Seed of the bootstrap and randomisation tests.
    against
        Frame of `load_results`: the values per query of methods of a finished run. These methods need not be trained
        again. Each method is one more ranking, under its own name, with the mean over its seeds.
    segment
        Name of a column of `y` that divides the queries into segments, such as `language`. `y` is then a data frame, or
        the path of a table. The result also shows the differences per segment (`Comparison.segments`).

    Raises
    ------
    GradrankError
        If there are fewer than two rankings, if the rankings have different documents, if the baseline is not one of
        the rankings, if the data are malformed, or if a name is unknown.

    Examples
    --------
    >>> from gradrank import compare
    >>> y, qid = [1, 0, 0, 1, 0, 1, 1, 0], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> rankings = {"a": [2, 1, 1, 2, 1, 2, 2, 1], "b": [1, 2, 1, 2, 2, 1, 1, 2]}
    >>> result = compare(rankings, y, qid=qid, metric="mrr", test="randomisation")
    >>> result.table.select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.375, 3, 1, 0, 0.25)
    """
    refuse_fork("compare")
    stored = [] if against is None else against["model"].unique(maintain_order=True).to_list()
    pairs = _pairs(rankings, baseline, stored)
    _check_choices(test, correction, margin, seed)
    names, resolved = requested_metrics(metric, "metric"), requested_convention(convention)
    # One name may stand for several metrics, as trec_eval's `ndcg_cut`. Measures of ir_measures have an attribute NAME.
    is_name = isinstance(metric, str) or hasattr(metric, "NAME")
    is_list = len(names) > 1 or not is_name
    y, by = (y, None) if segment is None else segmented(y, segment, any_grade=resolved.takes_any_grade)
    values, short, tied = _values(rankings, judged(y, qid, docid, resolved.takes_any_grade), names, resolved)
    note = notes(short, tied, resolved, 2)
    qids = next(iter(values.values()))["qid"]
    if against is not None:
        values |= stored_values(against, qids.to_list(), names, resolved)
    by_metric = {name: {key: each[name].to_numpy() for key, each in values.items()} for name in names}
    table = _table(by_metric, pairs, test, seed, correction, margin)
    if is_list:
        means = {(name, key): mean for key, each in tied.items() for name, mean in each.means.items()}
    else:
        means = {key: each.means[names[0]] for key, each in tied.items() if each.means}
    per_query = pl.concat(
        pl.DataFrame({"metric": pl.repeat(name, len(qids), eager=True), "qid": qids} | of_metric).fill_nan(None)
        for name, of_metric in by_metric.items()
    )
    return Comparison(
        table if is_list else table.drop("metric"),
        _systems(by_metric, table, baseline),
        per_query,
        _family(values, pairs, baseline, names),
        names if is_list else names[0],
        resolved,
        test,
        correction,
        margin,
        note,
        means,
        baseline,
        seed,
        by,
    )


def plot_queries(
    comparison: Comparison,
    a: str | None = None,
    b: str | None = None,
    *,
    metric: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the difference of two rankings on each query, the largest first, and return the matplotlib axes.

    The title counts the queries on which the first ranking is better than, equal to and worse than the second. Queries
    for which one of the rankings has no value are left out.

    Parameters
    ----------
    comparison
        The result of `compare`.
    a, b
        The names of two rankings. Without them, the first comparison of `comparison.table` is drawn.
    metric
        The name of a metric in `comparison`. The default is the first one.
    ax
        The axes to draw into. None for a new figure.

    Raises
    ------
    GradrankError
        If a name is unknown, if only one of `a` and `b` is given, or if matplotlib is not installed (extra `plots`).

    Examples
    --------
    >>> import gradrank
    >>> y, qid = [1, 0, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3]
    >>> rankings = {"new": [2, 1, 1, 2, 2, 1], "old": [1, 2, 1, 2, 1, 2]}
    >>> result = gradrank.compare(rankings, y, qid=qid, metric="mrr")
    >>> print(gradrank.plot_queries(result).get_title())  # needs matplotlib
    new - old
    better on 1, equal on 1, worse on 1 of 3 queries
    """
    if (a is None) != (b is None):
        raise GradrankError("plot_queries: a and b name one ranking. Fix: name two rankings, or none")
    first, second = comparison.table.select("a", "b").row(0) if a is None or b is None else (a, b)
    values = comparison.values()
    chosen = next(iter(values)) if metric is None else metric_name(metric)
    if chosen not in values:
        raise GradrankError(f"metric: {unknown('metric', chosen, values)}. Fix: name a metric of the comparison")
    for argument, name in (("a", first), ("b", second)):
        if name not in values[chosen]:
            raise GradrankError(f"{argument}: {unknown('ranking', name, values[chosen])}. Fix: correct the name")
    gaps = differences(values[chosen][first], values[chosen][second])
    ax = sorted_chart(gaps, f"difference in {metric_label(chosen)}", "plot_queries", ax)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    equal = len(gaps) - wins - losses
    ax.set_title(f"{first} - {second}\nbetter on {wins}, equal on {equal}, worse on {losses} of {len(gaps):,} queries")
    return ax


def _pairs(rankings: Mapping[str, Any], baseline: str | None, stored: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of the rankings of each comparison. stored: the names of rankings with values per query."""
    least = 1 if stored else 2
    if not isinstance(rankings, Mapping) or len(rankings) < least:
        found = len(rankings) if isinstance(rankings, Mapping) else type(rankings).__name__
        raise GradrankError(
            f"rankings: expected a dict with a number of rankings from {least}, found {found}. Fix: add a ranking"
        )
    if both := sorted({*rankings} & {*stored}):
        raise GradrankError(f"rankings: {both[0]!r} is also in `against`. Fix: rename the ranking")
    names = [*rankings, *stored]
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise GradrankError(f"rankings: {name!r} is not a name. Fix: use non-empty text as keys")
        if name in ("metric", "qid"):
            raise GradrankError(f"rankings: {name!r} is the name of a column of the results. Fix: rename the ranking")
    if baseline is None:
        return list(combinations(names, 2))
    if baseline not in names:
        known = nearest(str(baseline), names)
        raise GradrankError(f"baseline: {baseline!r} is not in rankings{known}. Fix: give the name of a ranking")
    return [(name, baseline) for name in names if name != baseline]


def _check_choices(test: str, correction: str | None, margin: float | None, seed: int) -> None:
    if test not in TESTS:
        raise GradrankError(
            f"test: unknown test {test!r}{nearest(str(test), TESTS)}. Fix: use one of {', '.join(TESTS)}"
        )
    if correction not in ("holm", None):
        raise GradrankError(f"correction: unknown correction {correction!r}. Fix: use 'holm' or None")
    if margin is not None and (not isinstance(margin, int | float) or not 0 < margin < np.inf):
        raise GradrankError(f"margin: expected a positive number, found {margin!r}. Fix: give a value such as 0.01")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise GradrankError(f"seed: expected an integer from 0, found {seed!r}. Fix: give seed=0")


def _test_function(test: str, seed: int) -> PairedP | None:
    """Return the function that computes the p value of a test from two arrays of values; None for Tukey's HSD."""
    if test == "tukey":
        return None
    resampling = {"bootstrap": bootstrap_test, "randomisation": randomisation_test}
    return partial(resampling[test], seed=seed) if test in resampling else {"t": paired_t, "wilcoxon": wilcoxon}[test]


def _family(
    names: Collection[str], pairs: Sequence[tuple[str, str]], baseline: str | None, metrics: Sequence[str]
) -> str:
    """Return the description of the comparisons for which p values are corrected."""
    size = len(pairs) * len(metrics)
    count = "1 comparison" if size == 1 else f"{size} comparisons"
    of = f"all pairs of {len(names)} rankings" if baseline is None else f"every other ranking with `{baseline}`"
    return f"{count} ({of}{f' under {len(metrics)} metrics' if len(metrics) > 1 else ''})"


def _values(
    rankings: Mapping[str, Any], judgements: Judged, metrics: Sequence[str], convention: Convention
) -> tuple[dict[str, pl.DataFrame], str, dict[str, TiedScores]]:
    """Return the values of each ranking, nan where a metric is undefined, and the two arguments of `notes`."""
    found = {
        name: [
            values_per_query(judgements, run, f"rankings[{name!r}]{place}", convention, metrics)
            for run, place in _runs(scores)
        ]
        for name, scores in rankings.items()
    }
    values = {}
    for name, runs in found.items():
        tables = [each.table.with_columns(pl.col(*metrics).fill_null(np.nan)) for each in runs]
        if len(runs) > 1:
            of_query = np.array([each.is_ranked for each in runs])
            of_query |= ~of_query.any(axis=0)
            share = of_query / of_query.sum(axis=0)
            mean = {
                metric: np.sum(np.where(of_query, [table[metric].to_numpy() for table in tables], 0) * share, axis=0)
                for metric in metrics
            }
            tables[0] = tables[0].with_columns(**{metric: pl.Series(each) for metric, each in mean.items()})
        values[name] = tables[0]
    short = next((each.short for runs in found.values() for each in runs if each.short), "")
    tied = {
        name if len(runs) == 1 else f"{name}[{place}]": each.tied
        for name, runs in found.items()
        for place, each in enumerate(runs)
    }
    return values, short, tied


def _runs(scores: Any) -> list[tuple[Any, str]]:
    """Return the runs in a list of runs, or the only run, each with its place for error messages."""
    is_list = isinstance(scores, list | tuple) and len(scores) > 0 and _is_run(scores[0])
    return [(run, f"[{place}]") for place, run in enumerate(scores)] if is_list else [(scores, "")]


def _is_run(element: Any) -> bool:
    """Return True if an element of a list is a run of its own: a path, a dict of queries, a frame or an array."""
    if isinstance(element, Mapping):
        return any(isinstance(each, Mapping | list) for each in element.values())
    is_column = isinstance(element, list) or (hasattr(element, "__array__") and getattr(element, "ndim", 1) > 0)
    is_frame = any(hasattr(element, name) for name in ("columns", "collect_schema", "column_names", "to_dict"))
    return isinstance(element, str | Path) or is_column or is_frame


def _table(
    values: Mapping[Any, Mapping[str, np.ndarray]],
    pairs: Sequence[tuple[Any, ...]],
    test: str,
    seed: int,
    correction: str | None,
    margin: float | None,
) -> pl.DataFrame:
    """Return the frame `table` of a Comparison, with the column `metric`. values: by metric and ranking."""
    function = _test_function(test, seed)
    rows = []
    for metric, of_metric in values.items():
        tukey = tukey_p_values(of_metric) if function is None else {}
        for a, b in pairs:
            cells = _compared(of_metric[a], of_metric[b], function, margin)
            if function is None:
                cells["p"] = tukey[a, b] if (a, b) in tukey else tukey[b, a]
            rows.append({"metric": str(metric), "a": a, "b": b} | cells)
    table = pl.DataFrame(rows, infer_schema_length=None)
    keys = ("p",) if margin is None else ("p", "p_equivalence")
    if correction:
        for key in keys:
            if key == "p" and function is None:
                continue  # Tukey's p values are corrected
            corrected = pl.Series(f"{key}_corrected", holm(table[key].to_list()))
            table.insert_column(table.columns.index(key) + 1, corrected)
    if margin is not None:
        decisive = pl.col("p_equivalence_corrected" if correction else "p_equivalence")
        table = table.with_columns(equivalent=decisive.fill_nan(1.0) < LEVEL)
    return table.fill_nan(None)


def _systems(values: Mapping[str, Mapping[str, np.ndarray]], table: pl.DataFrame, baseline: str | None) -> pl.DataFrame:
    """Return the frame `systems` of a Comparison. values: by metric and ranking."""
    decisive = "p_corrected" if "p_corrected" in table.columns else "p"
    compared = {(row["metric"], row["a"]): row for row in table.to_dicts()}
    rows = []
    for metric, of_metric in values.items():
        complete = len(complete_values(of_metric)[1])
        candidates = best_methods(of_metric, np.zeros(len(next(iter(of_metric.values())))))
        for name, own in of_metric.items():
            mean, low, high = mean_interval(own)
            row = {"metric": metric, "ranking": name, "mean": mean, "low": low, "high": high}
            row |= {
                "queries": int(np.sum(~np.isnan(own))),
                "in_confidence_set": complete < 2 or candidates[name].p >= LEVEL,
            }
            if baseline is not None:
                found = compared.get((metric, name), {}) if name != baseline else {}
                gaps = differences(own, of_metric[baseline])
                error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.nan
                p, difference = found.get(decisive), found.get("difference")
                sign = float(np.sign(difference or 0.0)) if p is not None and p < LEVEL else 0.0
                row |= {
                    "difference": difference,
                    "difference_low": found.get("low"),
                    "difference_high": found.get("high"),
                    "p": p,
                    "mark": {1.0: "better", -1.0: "worse"}.get(sign),
                    "detectable": detectable_difference(error, len(gaps), len(table)) if found else None,
                }
            rows.append(row)
    numbers = ("difference", "difference_low", "difference_high", "p", "detectable")
    types = dict.fromkeys(numbers, pl.Float64) | {"mark": pl.String}
    kept = {name: kind for name, kind in types.items() if name in rows[0]}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=kept).fill_nan(None)


def _compared(a: np.ndarray, b: np.ndarray, test: PairedP | None, margin: float | None) -> dict[str, Any]:
    """Return the cells of one row that do not depend on other rows."""
    defined = ~np.isnan(a - b)
    a, b = a[defined], b[defined]
    wins, ties, losses = win_tie_loss(a, b)
    difference, low, high = mean_interval(differences(a, b))
    row = {"queries": len(a), "mean_a": _mean(a), "mean_b": _mean(b)}
    row |= {"difference": difference, "low": low, "high": high, "wins": wins, "ties": ties, "losses": losses}
    row |= {"effect_size": effect_size(a, b), "p": test(a, b) if test and len(a) else np.nan}
    return row if margin is None else row | {"p_equivalence": equivalence(a, b, margin)}


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else np.nan
