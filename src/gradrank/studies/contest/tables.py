"""Tables of the contest. Each function returns a table for one data set."""

from collections.abc import Mapping, Sequence

import numpy as np

from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.variance import Runs
from gradrank.report.tables.numbers import P
from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.contest.budget import Crossing
from gradrank.studies.contest.claims import Pair
from gradrank.studies.contest.results import HEADLINE, ContestEntry, EntryTrials, configuration_in_words
from gradrank.tuning.folders import Contest
from gradrank.tuning.values import METRICS

METHOD = Column("method")
HASH = 12  # number of hexadecimal digits of the SHA-256 that the table of choices shows
INTERVAL = "± is half the 95% interval of the mean over folds, tuners and seeds: queries, seeds and tuning are in it."


def results(dataset: str, entries: Sequence[ContestEntry], constant: Mapping[str, Mapping[str, Runs]]) -> Table:
    """Return the table of means over folds, highest first.

    The baseline is a ranking in which all documents have the same score.
    """
    rows = [_means(entry.method, {name: entry.runs(name) for name in METRICS}) for entry in entries]
    rows += [_means(title, runs) for title, runs in constant.items()]
    columns = [METHOD, *(column for name in METRICS for column in _mean_columns(name)), _SPREAD]
    note = f"{INTERVAL} `sd` is the deviation of single runs. The last rows score all documents alike."
    return Table(f"results_{dataset}", "Test values", columns, rows, note)


_SPREAD = Column("sd", f"{metric_label(HEADLINE)} sd", ".4f")


def _mean_columns(name: str) -> tuple[Column, Column]:
    return Column(name, metric_label(name), ".4f"), Column(f"{name} half", "half 95% interval", ".4f")


def _means(method: str, runs: Mapping[str, Runs]) -> Row:
    row = {"method": method, "sd": runs[HEADLINE].spread}
    for name, metric_runs in runs.items():
        row |= {name: metric_runs.mean, f"{name} half": metric_runs.half_width}
    return row


def shares(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the shares of the variance of a single run that are due to queries, seeds and tuning.

    The table has one row per method.
    """
    sources = {"queries": "queries", "seeds": "seeds", "tuning": "tuning"}
    rows = [
        {"method": entry.method, "deviation": runs.variances.total**0.5} | runs.variances.shares()
        for entry in entries
        for runs in [entry.runs()]
    ]
    columns = [METHOD, Column("deviation", "sd of a run", ".4f")]
    columns += [Column(key, title, ".1%") for key, title in sources.items()]
    note = f"Of the variance of one run's {metric_label(HEADLINE)}: new test queries, another seed, another tuner."
    return Table(f"variances_{dataset}", "Sources of the variance of a single run", columns, rows, note)


def pairs(dataset: str, comparisons: Sequence[Pair]) -> Table:
    """Return the table of the comparisons of all pairs of methods, one row per pair."""
    rows = [pair._asdict() | {"verdict": pair.verdict} for pair in comparisons]
    columns = [
        Column("first"),
        Column("second"),
        Column("difference", "difference", "+.4f"),
        Column("low", "95% interval from", "+.4f"),
        Column("high", "to", "+.4f"),
        Column("p", "p", P),
        Column("corrected", "p (Holm)", P),
        Column("probability", "P(first > second)", ".3f"),
        Column("verdict"),
    ]
    return Table(f"pairs_{dataset}", f"Every two methods, {metric_label(HEADLINE)}", columns, rows)


def probabilities(dataset: str, methods: Sequence[str], comparisons: Sequence[Pair]) -> Table:
    """Return the matrix of P(row > column) as a table with one row and one column per method."""
    by_pair = {(pair.first, pair.second): pair.probability for pair in comparisons}
    by_pair |= {(pair.second, pair.first): 1 - pair.probability for pair in comparisons}
    rows = [{"method": first} | {second: by_pair.get((first, second)) for second in methods} for first in methods]
    columns = [METHOD, *(Column(second, second, ".2f") for second in methods)]
    note = "How often a single run of the row's method beats one of the column's: new queries, a tuner, a seed."
    return Table(f"probabilities_{dataset}", "P(row > column)", columns, rows, note)


def chosen(dataset: str, entries: Sequence[ContestEntry]) -> Table:
    """Return the table of the selected configurations, one row per method, fold and tuner."""
    rows = [
        {
            "method": entry.method,
            "fold": fold,
            "tuner": selected.tuner,
            "trial": selected.trial,
            "configuration": configuration_in_words(selected),
            "validation": selected.value,
            "sha256": choice.sha256[:HASH],
        }
        for entry in entries
        for fold, choice in entry.choices.items()
        for selected in choice.chosen
    ]
    columns = [METHOD, Column("fold", "fold", "d"), Column("tuner", "tuner", "d"), Column("trial", "trial", "d")]
    columns += [Column("configuration"), Column("validation", "validation", ".4f"), Column("sha256", "choice")]
    note = f"Trial 0 is the default. Of the choice's hash, written before any test part was scored, {HASH} digits."
    return Table(f"chosen_{dataset}", "The chosen configurations", columns, rows, note)


def choosing(dataset: str, trials: Mapping[str, EntryTrials]) -> Table:
    """Return the table of the test values of three configurations.

    They are the default configuration, the configuration chosen per fold, and the one configuration chosen for all
    folds.
    """
    rows = []
    for method, method_trials in trials.items():
        default, per_fold, for_all = method_trials.default(), method_trials.per_fold(), method_trials.one_for_all()
        rows.append({"method": method, "default": mean(default), "tuned": mean(per_fold), "one": mean(for_all)})
        for key, after, before in (("gain", per_fold, default), ("leak", for_all, per_fold)):
            gap = difference(after, before)
            rows[-1] |= {key: mean(gap), f"{key} half": gap.half_width if gap else None}
    columns = [
        METHOD,
        Column("default", "default", ".4f"),
        Column("tuned", "choice per fold", ".4f"),
        Column("gain", "gain", "+.4f"),
        Column("gain half", "half 95% interval", ".4f"),
        Column("one", "one for all folds", ".4f"),
        Column("leak", "leak", "+.4f"),
        Column("leak half", "half 95% interval", ".4f"),
    ]
    note = (
        f"Test {metric_label(HEADLINE)} of the trials' own models, mean over tuners. One configuration for all folds "
        "is chosen by its mean validation value: other folds' validation parts are this fold's test part."
    )
    return Table(f"choosing_{dataset}", "The gain of tuning, and of a leak", columns, rows, note)


def difference(after: Runs | None, before: Runs | None) -> Runs | None:
    """Return the Runs of `after` minus `before`, or None if one of them is missing."""
    return Runs(after.values - before.values, after.folds) if after and before else None


def mean(runs: Runs | None) -> float | None:
    """Return the mean of the runs, or None if there are no runs."""
    return runs.mean if runs else None


def failed(dataset: str, trials: Mapping[str, EntryTrials]) -> Table:
    """Return the table of the trials that ended with an error."""
    rows = [row for method_trials in trials.values() for row in method_trials.failed().rows(named=True)]
    columns = [Column("model", "method"), Column("fold", "fold", "d"), Column("tuner", "tuner", "d")]
    columns += [Column("trial", "trial", "d"), Column("configuration"), Column("error", "why")]
    return Table(f"failed_{dataset}", "Configurations that failed", columns, rows)


def budget(dataset: str, curves: Mapping[str, np.ndarray]) -> Table:
    """Return the table of the expected test values, one row per method and number of trials."""
    rows = [
        {"method": method, "budget": n, "expected": float(value)}
        for method, curve in curves.items()
        for n, value in enumerate(curve, start=1)
    ]
    columns = [METHOD, Column("budget", "trials", "d"), Column("expected", "expected test value", ".4f")]
    return Table(f"budget_{dataset}", f"Expected test {metric_label(HEADLINE)} by budget", columns, rows)


def crossings(dataset: str, crossed: Sequence[Crossing]) -> Table:
    """Return the table of the pairs of methods whose curves cross."""
    columns = [
        Column("behind", "the better one"),
        Column("budget", "from so many trials", "d"),
        Column("ahead", "before"),
    ]
    return Table(f"crossings_{dataset}", "Curves that cross", columns, crossed)


def costs(dataset: str, entries: Sequence[ContestEntry], contest: Contest, seeds: int) -> Table:
    """Return the table of the times of the tuning and of the final runs, in seconds.

    The times are different if the same contest is run again.
    """
    rows = [
        {"method": entry.method, "tuning": entry.seconds(), "refits": entry.refit_seconds(contest, seeds)}
        for entry in entries
    ]
    columns = [METHOD, Column("tuning", "trials, CPU seconds", ",.1f"), Column("refits", "runs, seconds", ",.1f")]
    return Table(f"costs_{dataset}", "Costs", columns, rows, timed=True)
