"""The files of a run that DVC versions: values per test query and means, with their stamp run.json."""

import csv
from collections.abc import Sequence

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, write_json
from gradrank.base.results import Results
from gradrank.base.stamps import checksums, read_stamp, write_stamp
from gradrank.evaluation.per_query import join_test_queries

PLOTTED = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10")  # the columns of methods.csv, as far as they were measured


def collect(root: Results, datasets: Sequence[str]) -> None:
    """Write per_query.parquet, metrics.json and methods.csv of these data sets, and run.json.

    Raises GradrankError where a data set has no record, or where a file differs from it.
    """
    own = [root.dataset(name) for name in datasets]
    if missing := [str(each.provenance_path) for each in own if not each.recorded]:
        raise GradrankError(f"{', '.join(missing)}: no such file. Fix: run `snakemake --cores 2` first")
    methods = [each.method(name) for each in own for name in read_stamp(each.provenance_path)["methods"]]
    for method in methods:
        method.check()
    with atomic(root.per_query_path) as partial:
        join_test_queries(methods).write_parquet(partial)
    write_json(root.metrics_path, {each.name: each.summary() for each in own})
    with atomic(root.means_path) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", *PLOTTED])
        for each in own:
            for name, means in each.summary().items():
                writer.writerow([f"{each.name}: {name}", *(means.get(metric) for metric in PLOTTED)])
    read = checksums([each.provenance_path for each in own], root.folder)
    write_stamp(root.run_path, {"inputs": read}, [root.per_query_path, root.metrics_path, root.means_path])
