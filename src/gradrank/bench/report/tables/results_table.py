"""The function `gradrank.table`: a table for a paper from finished results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.forks import refuse_fork
from gradrank.bench.report.tables.dataset_values import headline_metric
from gradrank.bench.report.tables.method_table import MethodTable
from gradrank.bench.report.tables.stored_values import find_datasets, methods_of, read_block
from gradrank.bench.results import DatasetFolder
from gradrank.measures.metric_names import metric_name

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

    The rows are sorted by value. In each column, the chosen methods that may be the best are bold: with 95% confidence,
    every method with the highest expected value is among them (model confidence set, Hansen et al. 2011).

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
        Whether half the 95% interval of the mean follows each mean. It is too wide for comparing methods.
    baseline
        Name of one of the methods. If given, the differences from it follow the means, with their 95% intervals.

    Returns
    -------
    MethodTable
        It has `to_markdown()`, `to_latex()`, `to_csv()` and `frame`, a Polars frame with every digit.

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
