"""The methods that were trained since the last report, with the change of their means.

The report writes printed.json into the folder of each data set: the methods and means that it has printed. The next
report compares them with the present results. The file is not an output of a Snakemake rule, because Snakemake deletes
the outputs of a job before the job starts. It is written last, so a report that was killed is repeated in full.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.base.numbers import number
from gradrank.bench.results import DatasetFolder

KEYS = {"metric", "convention", "source", "methods"}  # of printed.json
MOST = 8  # maximum number of methods with a line of their own
TRAINING = ("digest", "train", "results")  # the digests of a record that differ after a method was trained again


def write_printed(dataset: DatasetFolder, metric: str, convention: str) -> None:
    """Write printed.json of a data set with a record. A file that is not ours stays as it is."""
    if dataset.recorded and (not os.path.lexists(dataset.printed_path) or _former(dataset)):
        write_json(dataset.printed_path, _present(dataset, metric, convention))


def training_changes(dataset: DatasetFolder, metric: str, convention: str) -> Iterator[str]:
    """Yield lines on the methods that were trained since printed.json was written; none if this file is missing.

    A method is listed if its parameters, its code, its model or its scores changed. The former mean is shown if it has
    the same metric, convention and data. If gradrank has not written the file, one line says so.
    """
    if not (dataset.recorded and dataset.printed_path.is_file()):
        return
    before = _former(dataset)
    if before is None:
        yield f"{dataset.printed_path}: damaged, or not written by gradrank."
        yield "So methods that were trained since the last report are not listed."
        yield "Fix: if it is yours, move it; else delete it"
        return
    now = _present(dataset, metric, convention)
    comparable = all(before.get(key) == now[key] for key in ("metric", "convention", "source"))
    former = before["methods"]
    trained = [name for name, method in now["methods"].items() if _was_trained(former.get(name), method)]
    if not trained:
        return
    yield "Trained since the last report" + ("" if comparable else " (other data, metric or convention before)") + ":"
    width = max(map(len, trained[:MOST]))
    for name in trained[:MOST]:
        mean = now["methods"][name]["mean"]
        old = former[name]["mean"] if comparable and name in former else None
        yield f"  {name:{width}}  {number(mean)}  {_change(mean, old, name in former)}".rstrip()
    if len(trained) > MOST:
        yield f"  and {len(trained) - MOST} more"


def _former(dataset: DatasetFolder) -> dict[str, Any] | None:
    """Return the content of printed.json; None if it does not have the form that `_present` gives it."""
    try:
        content = read_json(dataset.printed_path)
    except GradrankError:
        return None
    return content if isinstance(content, dict) and content.keys() >= KEYS else None


def _present(dataset: DatasetFolder, metric: str, convention: str) -> dict[str, Any]:
    """Return the content of printed.json for the present results. The best methods are first."""
    record = dataset.provenance()
    means = {name: values.get(metric) for name, values in dataset.summary().items()}
    ranked = sorted(means, key=lambda name: (means[name] is None, -(means[name] or 0), name))
    methods = record.get("methods", {})
    trained = {name: [methods.get(name, {}).get(key) for key in TRAINING] for name in ranked}
    return {
        "metric": metric,
        "convention": convention,
        "source": record.get("data", {}).get("source_sha256"),
        "methods": {name: {"trained": trained[name], "mean": means[name]} for name in ranked},
    }


def _was_trained(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    return before is None or before["trained"] != now["trained"]


def _change(mean: float | None, before: float | None, is_known: bool) -> str:
    if not is_known:
        return "new"
    if mean is None or before is None:
        return ""
    return f"{number(mean - before, '+.4f')} (before: {number(before)})" if mean != before else "unchanged"
