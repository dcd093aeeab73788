"""Comparison of rankings of the same queries by paired tests."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import number, p_value
from gradrank.comparison.rankings.evaluation import notes, values_per_query
from gradrank.comparison.rankings.inputs import Judged, judged
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.comparison.rankings.tied_scores import TiedMean, TiedScores
from gradrank.comparison.significance import bootstrap_test, randomisation_test
from gradrank.comparison.statistics import (
    LEVEL,
    differences,
    effect_size,
    equivalence,
    holm,
    mean_interval,
    paired_t,
    wilcoxon,
    win_tie_loss,
)
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.metrics import metric_label, metric_name

Test = Literal["t", "wilcoxon", "bootstrap", "randomisation"]
PairedP = Callable[[np.ndarray, np.ndarray], float]
TESTS = {
    "t": "Student's paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "bootstrap": "paired bootstrap test",
    "randomisation": "Fisher's randomisation test",
}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """The paired comparisons of rankings, as `compare` returns them.

    Printing a Comparison shows `table`. In a notebook, it is shown as an HTML table.

    table: frame with one row per comparison of a ranking `a` with a ranking `b`. `queries` is the number of queries for
    which both have a value; other queries are left out. `mean_a`, `mean_b` and `difference` (a - b) are means over
    these queries. `low` and `high` are the bounds of the 95% interval of the difference by Student's t. `wins`, `ties`
    and `losses` are the numbers of queries where a is better than, equal to or worse than b. `p` is the two-sided p
    value, and `p_corrected` the value after the correction, if there is one. `effect_size` is Cohen's d_z: the mean
    difference divided by the standard deviation of the differences. With a margin, `p_equivalence` is the p value of
    two one-sided t tests, `p_equivalence_corrected` the value after the correction, and `equivalent` is True if
    `p_equivalence_corrected` (without a correction, `p_equivalence`) is below .05. An undefined value is null.

    family: description of the comparisons for which p values are corrected. metric, convention, test, correction,
    margin: as given to `compare`. note: the texts about queries with the value 0 due to few documents and about equal
    scores, one per line; may be empty. tied: the means that depend on the order of equal scores, by ranking; see
    Evaluation.
    """

    table: pl.DataFrame
    family: str
    metric: str
    convention: Convention
    test: Test
    correction: Literal["holm"] | None
    margin: float | None
    note: str = ""
    tied: Mapping[str, TiedMean] = field(default_factory=dict)

    def sections(self) -> list[Section]:
        """Return the table of the comparisons."""
        caption = (
            f"Differences in {metric_label(self.metric)} under the convention `{self.convention.name}`, with 95% "
            f"intervals by Student's t. p: {TESTS[self.test]}, two-sided"
        )
        if self.correction:
            caption += f". p (Holm): corrected for {self.family}"
        if self.margin is not None:
            caption += (
                f". p (equivalence): two one-sided t tests with the margin {self.margin:g}"
                + (", corrected in the same way" if self.correction else "")
                + f"; equivalent: below {LEVEL:g}"
            )
        rows = self.table.to_dicts()
        columns = {
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
        if self.correction:
            columns["p (Holm)"] = [p_value(row["p_corrected"]) for row in rows]
        if self.margin is not None:
            key = "p_equivalence_corrected" if self.correction else "p_equivalence"
            columns["p (equivalence)"] = [p_value(row[key]) for row in rows]
            columns["equivalent"] = ["yes" if row["equivalent"] else "no" for row in rows]
        lines = [list(line) for line in zip(*columns.values(), strict=True)]
        return [section(caption, list(columns), 2, lines, "comparison", self.note)]


def compare(
    rankings: Mapping[str, Any],
    y: Any,
    *,
    qid: Any = None,
    metric: str = "ndcg@10",
    convention: str | Convention = "standard",
    baseline: str | None = None,
    test: Test = "t",
    correction: Literal["holm"] | None = "holm",
    margin: float | None = None,
    seed: int = 0,
    docid: Any = None,
) -> Comparison:
    """Test whether rankings of the same documents differ in a metric, by paired tests over queries.

    Parameters
    ----------
    rankings
        Dict from the name of a ranking to its scores: (n,) numbers, or the path of a score file. See `evaluate`.
    y, qid, docid, metric, convention
        Relevance grades, ids, and names of the metric and the convention, which orders equal scores. See `evaluate`.
    baseline
        Name of a ranking. If given, every other ranking is compared with it. Otherwise, all pairs are compared.
    test
        `t`: Student's paired t test. `wilcoxon`: signed-rank test (Wilcoxon 1945). `bootstrap`: paired bootstrap test
        by the shift method (Sakai 2006). `randomisation`: Fisher's randomisation test (Smucker et al. 2007).
    correction
        `holm`: p values are corrected for all comparisons of this call (Holm 1979). None: they are not corrected.
    margin
        Largest difference that does not matter, such as 0.01. If given, two one-sided t tests (Schuirmann 1987) decide
        whether two rankings are equivalent.
    seed
        Seed of the bootstrap and randomisation tests.

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
    pairs = _pairs(rankings, baseline)
    _check_choices(test, correction, margin, seed)
    name, resolved = metric_name(metric), resolve(convention)
    values, short, tied = _values(rankings, judged(y, qid, docid), name, resolved)
    note = notes(short, tied, resolved, 2)
    table = _table(values, pairs, _test_function(test, seed), correction, margin)
    means = {key: each.means[name] for key, each in tied.items() if each.means}
    return Comparison(table, _family(values, pairs, baseline), name, resolved, test, correction, margin, note, means)


def _pairs(rankings: Mapping[str, Any], baseline: str | None) -> list[tuple[str, str]]:
    if not isinstance(rankings, Mapping) or len(rankings) < 2:
        found = len(rankings) if isinstance(rankings, Mapping) else type(rankings).__name__
        raise GradrankError(f"rankings: expected a dict of at least 2 rankings, found {found}. Fix: add a ranking")
    for name in rankings:
        if not isinstance(name, str) or not name.strip():
            raise GradrankError(f"rankings: {name!r} is not a name. Fix: use non-empty text as keys")
    if baseline is None:
        return list(combinations(rankings, 2))
    if baseline not in rankings:
        known = nearest(str(baseline), rankings)
        raise GradrankError(f"baseline: {baseline!r} is not in rankings{known}. Fix: give the name of a ranking")
    return [(name, baseline) for name in rankings if name != baseline]


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


def _test_function(test: str, seed: int) -> PairedP:
    """Return the function that computes the p value of a test from two arrays of values."""
    resampling = {"bootstrap": bootstrap_test, "randomisation": randomisation_test}
    return partial(resampling[test], seed=seed) if test in resampling else {"t": paired_t, "wilcoxon": wilcoxon}[test]


def _family(names: Collection[str], pairs: Sequence[tuple[str, str]], baseline: str | None) -> str:
    """Return the description of the comparisons for which p values are corrected."""
    count = "1 comparison" if len(pairs) == 1 else f"{len(pairs)} comparisons"
    of = f"all pairs of {len(names)} rankings" if baseline is None else f"every other ranking with `{baseline}`"
    return f"{count} ({of})"


def _values(
    rankings: Mapping[str, Any], judgements: Judged, metric: str, convention: Convention
) -> tuple[dict[str, np.ndarray], str, dict[str, TiedScores]]:
    """Return the (q,) values of each ranking, nan where the metric is undefined, and the two arguments of `notes`."""
    found = {
        name: values_per_query(judgements, scores, f"rankings[{name!r}]", convention, [metric])
        for name, scores in rankings.items()
    }
    values = {name: each.table[metric].fill_null(np.nan).to_numpy() for name, each in found.items()}
    short = next((each.short for each in found.values() if each.short), "")
    return values, short, {name: each.tied for name, each in found.items()}


def _table(
    values: Mapping[str, np.ndarray],
    pairs: Sequence[tuple[str, str]],
    test: PairedP,
    correction: str | None,
    margin: float | None,
) -> pl.DataFrame:
    """Return the frame `table` of a Comparison."""
    rows = [{"a": a, "b": b} | _compared(values[a], values[b], test, margin) for a, b in pairs]
    table = pl.DataFrame(rows, infer_schema_length=None)
    keys = ("p",) if margin is None else ("p", "p_equivalence")
    if correction:
        for key in keys:
            corrected = pl.Series(f"{key}_corrected", holm(table[key].to_list()))
            table.insert_column(table.columns.index(key) + 1, corrected)
    if margin is not None:
        decisive = pl.col("p_equivalence_corrected" if correction else "p_equivalence")
        table = table.with_columns(equivalent=decisive.fill_nan(1.0) < LEVEL)
    return table.fill_nan(None)


def _compared(a: np.ndarray, b: np.ndarray, test: PairedP, margin: float | None) -> dict[str, Any]:
    """Return the cells of one row that do not depend on other rows."""
    defined = ~np.isnan(a - b)
    a, b = a[defined], b[defined]
    wins, ties, losses = win_tie_loss(a, b)
    difference, low, high = mean_interval(differences(a, b))
    row = {"queries": len(a), "mean_a": _mean(a), "mean_b": _mean(b)}
    row |= {"difference": difference, "low": low, "high": high, "wins": wins, "ties": ties, "losses": losses}
    row |= {"effect_size": effect_size(a, b), "p": test(a, b) if len(a) else np.nan}
    return row if margin is None else row | {"p_equivalence": equivalence(a, b, margin)}


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else np.nan
