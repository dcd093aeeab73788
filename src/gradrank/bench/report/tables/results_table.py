"""The function `gradrank.table`: a table for a paper from finished results, or from the part of them that is in git."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.base.forks import refuse_fork
from gradrank.base.stamps import read_stamp
from gradrank.bench.folds import file_order
from gradrank.bench.folds.evaluate import CONSTANT_FOLDS
from gradrank.bench.folds.per_query import QueryValues, compact_conventions, read_compact, read_table, read_test_queries
from gradrank.bench.folds.settings import BASELINE
from gradrank.bench.report.tables.dataset_values import DatasetValues, baseline_rows, headline_metric
from gradrank.bench.report.tables.method_table import Block, MethodTable
from gradrank.bench.report.tables.summary_tables import main_rows
from gradrank.bench.report.tables.table import Row
from gradrank.bench.results import SUMMARY, DatasetFolder, MethodFolder, Results
from gradrank.measures.conventions import CONVENTIONS
from gradrank.measures.metrics import metric_name

Values = dict[str, dict[str, QueryValues]]  # the outer keys are methods, the inner keys are conventions


def read_methods(dataset: DatasetFolder, methods: Sequence[str], convention: str) -> Values:
    """Return the values per query of evaluated methods.

    Raises GradrankError if a method lacks the convention, or if the methods have different test queries.
    """
    values = {}
    for method in methods:
        dataset.method(method).check()
        values[method] = read_test_queries(dataset.method(method).per_query_path)
    for method, by_convention in values.items():
        if convention not in by_convention:
            hint = nearest(convention, list(by_convention))
            raise GradrankError(
                f"{dataset.method(method).folder}: not evaluated under convention {convention!r}{hint}. "
                "Fix: evaluate the method under this convention, or choose another primary convention"
            )
        if not by_convention[convention].same_queries(values[methods[0]][convention]):
            raise GradrankError(
                f"{dataset.folder}: {methods[0]} and {method} were evaluated on different test queries, so one of them "
                "belongs to an older version of the data set. Fix: train and evaluate both again"
            )
    return values


def find_datasets(name: str | Path) -> list[DatasetFolder]:
    """Return the data sets that a name or a path stands for.

    name: a data set in results/, a folder results/<dataset>, or a results root with several data sets. Raises
    GradrankError if there is no summarised data set.
    """
    root, path = Results(), Path(name).resolve()
    named = [root.dataset(str(name)), DatasetFolder(path)]
    roots = (Results(path).datasets(), Results(path / root.folder.name).datasets())
    for datasets in (*([dataset] for dataset in named), *roots):
        if finished := [dataset for dataset in datasets if _is_summarised(dataset)]:
            return finished
    for dataset in named:
        if dataset.methods():
            raise GradrankError(
                f"{dataset.folder}: no {SUMMARY} and {dataset.queries_path.name}. Fix: finish the run "
                f"(`snakemake {dataset.name}`)"
            )
    known = [dataset.name for dataset in root.datasets()]
    hint = unknown("data set", str(name), known) if known else f"no data set {str(name)!r} in {root.folder.resolve()}"
    raise GradrankError(f"{hint}. Fix: name a data set of {root.folder}/, or the folder of its results")


def _is_summarised(dataset: DatasetFolder) -> bool:
    return dataset.summarised and dataset.queries_path.is_file()


def methods_of(dataset: DatasetFolder) -> list[str]:
    """Return the methods of the summary, then the other evaluated methods."""
    evaluated = [method.name for method in dataset.methods() if method.evaluated]
    return list(dict.fromkeys([*dataset.summary(), *evaluated]))


def read_block(
    dataset: DatasetFolder,
    methods: Sequence[str] | None,
    metrics: Sequence[str] | None,
    convention: str | None,
    baseline: str | None = None,
) -> Block:
    """Return the values of some methods and metrics of a data set.

    methods: names of `methods_of`; by default, those of the summary. metrics: by default, all that have values.
    convention: by default, the primary convention. If a method has no values per query under results/, the values in
    git are read. They have two metrics, and under the primary convention also the means of the others. baseline: if
    given, the rows also have the keys of the table baseline, and `detectable_baseline`. Raises GradrankError for a
    metric or a convention without values, and if the baseline is not one of the methods.
    """
    names = sorted(dataset.summary() if methods is None else methods)
    if baseline is not None and baseline not in names:
        raise GradrankError(
            f"{dataset.folder}: {unknown('baseline', baseline, names)}. Fix: name a method of the table"
        )
    is_finished = all(dataset.method(name).evaluated for name in names)
    stored = _finished(dataset, names) if is_finished else _in_git(dataset, names)
    under = _checked_convention(dataset, stored, convention)
    chosen = _checked_metrics(dataset, stored, under, metrics)
    values = {
        name: {
            under: replace(
                own[under], values=_only(own[under].values, chosen), by_seed=_only(own[under].by_seed, chosen)
            )
        }
        for name, own in stored.values.items()
    }
    first = next(iter(values.values()))[under]
    measured = DatasetValues(dataset.name, under, values, baseline=baseline or BASELINE)
    rows = main_rows(measured) if first.values else []
    known = {(row["model"], row["metric"]): row for row in rows}
    if baseline is not None and first.values:
        for row in baseline_rows(measured):
            compared = {key: row[key] for key in ("difference", "low", "high", "decision")}
            known[row["model"], row["metric"]] |= compared | {"detectable_baseline": row["detectable"]}
    unknown_row = dict.fromkeys(("half_width", "queries", "p_best"))
    rows = [
        known.get((name, metric))
        or {"convention": under, "model": name, "metric": metric, "mean": stored.means[name].get(metric)} | unknown_row
        for metric in chosen
        for name in names
    ]
    ties, _ = file_order.note(_in_both_orders(stored.values, under, chosen)) or ("", False)
    constant = [{"model": name, "fold": fold} for name in names for fold in constant_folds(dataset.method(name))]
    note = " ".join(filter(None, (file_order.constant_scores_note(constant, ()), ties)))
    return Block(dataset.name, under, len(np.unique(first.folds)), len(first.qids), rows, note)


def constant_folds(method: MethodFolder) -> list[str]:
    """Return the folds of a method in which all test documents of each query have the same score.

    They are in evaluation.json, which is not in git. Without this file, the result is empty.
    """
    return read_stamp(method.evaluation_path).get(CONSTANT_FOLDS, []) if method.evaluation_path.is_file() else []


def _in_both_orders(
    values: Mapping[str, Mapping[str, QueryValues]], convention: str, metrics: Sequence[str]
) -> list[Row]:
    """Return the rows of `file_order` for some metrics. values: the outer keys are methods, the inner conventions."""
    return [row for row in file_order.file_order(values, convention) if row["metric"] in metrics]


class _Stored(NamedTuple):
    """The values of methods on a data set.

    primary: the primary convention. values: the values per query. means: the rounded means of the summary under the
    primary convention; the outer keys are methods, the inner keys are metrics.
    """

    primary: str
    values: Values
    means: Mapping[str, Mapping[str, float | None]]

    @property
    def conventions(self) -> list[str]:
        return list(next(iter(self.values.values())))


def _finished(dataset: DatasetFolder, methods: Sequence[str]) -> _Stored:
    """Return the values of evaluated methods."""
    primary = read_table(dataset.queries_path, ["convention"]).item(0, 0)
    return _Stored(primary, read_methods(dataset, methods, primary), dataset.summary())


def _in_git(dataset: DatasetFolder, methods: Sequence[str]) -> _Stored:
    """Return the rounded values of queries.parquet; see `write_compact`."""
    primary, *others = compact_conventions(dataset.queries_path)
    values: Values = {method: {} for method in methods}
    for convention in (primary, *others):
        for method, of in read_compact(dataset.queries_path, convention)[1].items():
            if method in values:
                values[method][convention] = of
    return _Stored(primary, values, dataset.summary())


def _checked_convention(dataset: DatasetFolder, stored: _Stored, name: str | None) -> str:
    """Return the convention, by default the primary one. Raises GradrankError if there are no values under it."""
    if name is None:
        return stored.primary
    if name not in CONVENTIONS:
        raise GradrankError(
            f"{unknown('convention', name, CONVENTIONS)}. Fix: choose from {', '.join(stored.conventions)}"
        )
    if name not in stored.conventions:
        raise GradrankError(
            f"{dataset.folder}: no values under convention {name!r}; there are values under "
            f"{', '.join(stored.conventions)}. Fix: add it to `evaluation.conventions` in params.yaml and run "
            f"`snakemake {dataset.name}`"
        )
    return name


def _checked_metrics(
    dataset: DatasetFolder, stored: _Stored, convention: str, names: Sequence[str] | None
) -> list[str]:
    """Return the metrics, by default all with values. Raises GradrankError if there are no values of one."""
    available = list(next(iter(stored.means.values())))
    if convention != stored.primary:
        measured = next(iter(stored.values.values()))[convention].values
        available = [metric for metric in available if metric in measured]
    chosen = available if names is None else list(dict.fromkeys(map(metric_name, names)))
    for metric in chosen:
        if metric not in available:
            raise GradrankError(
                f"{dataset.folder}: no values of metric {metric!r} under {convention}; there are "
                f"{', '.join(available)}. Fix: add it to `evaluation.metrics` in params.yaml and run "
                f"`snakemake {dataset.name}`"
            )
    return chosen


def _only(values: Mapping[str, np.ndarray], metrics: Sequence[str]) -> dict[str, np.ndarray]:
    return {metric: values[metric] for metric in metrics if metric in values}


NAMED = 3  # largest number of methods that the label names one by one


def table(
    *results: str | Path,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    convention: str | None = None,
    intervals: bool = False,
    baseline: str | None = None,
) -> MethodTable:
    """Return a table of methods by metrics from finished results, for a paper.

    The rows are sorted by value. In each column, the methods that may be the best of the table are bold. With 95%
    confidence, every method with the highest expected value is bold (model confidence set, Hansen et al. 2011).

    Parameters
    ----------
    results
        One or more data sets: a name in the folder `results`, a folder `results/<dataset>`, or a results root. With
        several data sets, the columns are grouped by data set.
    methods
        Names of methods. By default, the methods of the summary.
    metrics
        Names of evaluated metrics; the rows are sorted by the first one. By default, all metrics, sorted by NDCG@10 if
        it is one of them.
    convention
        Name of an evaluated convention. By default, the primary convention of each data set.
    intervals
        Whether half the 95% interval of the mean follows each mean. This interval is too wide for comparing methods.
    baseline
        Name of one of the methods. If given, the differences from it follow the means, with their 95% intervals.

    Returns
    -------
    MethodTable
        The table, with `to_markdown()`, `to_latex()`, `to_csv()` and the Polars frame `frame`, which has every digit.

    Raises
    ------
    GradrankError
        If there are no results, if a method, metric or convention is unknown or was not evaluated, or if the baseline
        is not one of the methods.

    Examples
    --------
    >>> import gradrank
    >>> found = gradrank.table("results/synthetic_net", methods=["lambdamart", "mart"], metrics=["ndcg@10"])
    >>> found.methods, found.frame.columns[:4]
    (['lambdamart', 'mart'], ['dataset', 'convention', 'method', 'ndcg@10'])
    """
    refuse_fork("table")
    datasets = _datasets(results)
    known = {dataset.name: methods_of(dataset) for dataset in datasets}
    _check_methods(methods or (), known, datasets)
    blocks = []
    for dataset in datasets:
        chosen = None if methods is None else [name for name in dict.fromkeys(methods) if name in known[dataset.name]]
        if chosen == []:
            raise GradrankError(f"{dataset.folder}: none of the chosen methods. Fix: leave this data set out")
        blocks.append(read_block(dataset, chosen, metrics, convention, baseline))
    sorted_by = metric_name(metrics[0]) if metrics else headline_metric(blocks[0].metrics)
    return MethodTable(blocks, sorted_by, intervals, _choice(methods, metrics), baseline)


def _check_methods(
    methods: Sequence[str], known: Mapping[str, Sequence[str]], datasets: Sequence[DatasetFolder]
) -> None:
    """Raise GradrankError if a method is in none of the data sets. known: the methods of each data set."""
    everything = dict.fromkeys(name for names in known.values() for name in names)
    for method in methods:
        if method not in everything:
            where = ", ".join(str(dataset.folder) for dataset in datasets)
            raise GradrankError(f"{where}: {unknown('method', method, everything)}. Fix: name an evaluated method")


def _datasets(results: Sequence[str | Path]) -> list[DatasetFolder]:
    """Return the data sets. Raises GradrankError if the list is empty or if two data sets have the same name."""
    datasets = [dataset for name in results for dataset in find_datasets(name)]
    if not datasets:
        raise GradrankError("no results. Fix: name a data set, such as results/mq2007")
    names = [dataset.name for dataset in datasets]
    for name in names:
        if names.count(name) > 1:
            raise GradrankError(f"two results are of the data set {name!r}. Fix: make one table for each")
    return datasets


def _choice(methods: Sequence[str] | None, metrics: Sequence[str] | None) -> str:
    """Return the chosen metrics and methods as one word, so that two tables of a data set have different labels."""
    named = list(methods or ())
    more = [f"{len(named) - NAMED}-more"] if len(named) > NAMED else []
    return "-".join([*map(metric_name, metrics or ()), *named[:NAMED], *more])
