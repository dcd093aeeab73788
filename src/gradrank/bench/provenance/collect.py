"""The files of a run that are versioned with DVC: values per test query, means, and the checksum file run.json."""

import csv
from collections.abc import Sequence

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, write_json
from gradrank.base.own_folders import check_own_files
from gradrank.base.stamps import checksums, read_stamp, write_stamp
from gradrank.bench.folds.per_query import join_test_queries
from gradrank.bench.results import Results

# columns of methods.csv; a column is empty if the metric was not measured
PLOTTED = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10")


def collect(root: Results, names: Sequence[str]) -> None:
    """Write per_query.parquet, metrics.json, methods.csv and run.json for these data sets.

    Raises GradrankError if a data set has no provenance.json, if a file does not match its recorded checksum, or if
    one of the four files exists and gradrank has not written it.
    """
    datasets = [root.dataset(name) for name in names]
    if missing := [str(dataset.provenance_path) for dataset in datasets if not dataset.recorded]:
        raise GradrankError(f"{', '.join(missing)}: no such file. Fix: run `snakemake --cores 2` first")
    check_own_files(root.run_path, (root.per_query_path, root.metrics_path, root.means_path, root.run_path))
    methods = [dataset.method(name) for dataset in datasets for name in read_stamp(dataset.provenance_path)["methods"]]
    for method in methods:
        method.check()
    with atomic(root.per_query_path) as partial:
        join_test_queries(methods).write_parquet(partial)
    write_json(root.metrics_path, {dataset.name: dataset.summary() for dataset in datasets})
    with atomic(root.means_path) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", *PLOTTED])
        for dataset in datasets:
            for name, means in dataset.summary().items():
                writer.writerow([f"{dataset.name}: {name}", *(means.get(metric) for metric in PLOTTED)])
    records = checksums([dataset.provenance_path for dataset in datasets], root.folder)
    write_stamp(root.run_path, {"inputs": records}, [root.per_query_path, root.metrics_path, root.means_path])
