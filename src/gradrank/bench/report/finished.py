"""The report of the finished methods of a run, for a run in which other methods failed or have not begun.

The summary of a data set needs every method, so it is written for a copy of the finished values. Nothing in results/
changes, except for the report itself.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.stamps import read_stamp
from gradrank.bench.config.params import RunSettings
from gradrank.bench.folds.per_query import SEED, measured_folds
from gradrank.bench.provenance.records import training_code
from gradrank.bench.report.document import report
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import MethodFolder, Results
from gradrank.data.stored import StoredCollection


def finished_report(results: Path, settings: RunSettings, out: Path, params: Path, data: Path) -> str:
    """Write the report of the methods of `run` that are trained and evaluated with the present settings and code.

    The pages name the other methods. params: path of params.yaml. data: folder of the Parquet collections. Returns one
    line per data set, and the path of the report. Raises GradrankError if no method is finished.
    """
    root, lines, missing = Results(Path(results)), [], {}
    with TemporaryDirectory() as folder:
        copy = Results(Path(folder) / "results")
        for dataset in settings.run.datasets:
            names = settings.model_names(dataset)
            methods = {name: root.dataset(dataset).method(name) for name in names}
            finished = [name for name in names if _is_finished(methods[name], settings, data / dataset)]
            missing[dataset] = [name for name in names if name not in finished]
            listed = f"; not finished: {', '.join(missing[dataset])}" if missing[dataset] else ""
            lines.append(f"{dataset}: {len(finished)} of {len(names)} methods{listed}")
            if finished:
                for name in finished:
                    _copy(methods[name], copy.dataset(dataset).method(name))
                convention, baseline = settings.convention(dataset), settings.evaluation.baseline
                summary(copy.dataset(dataset).folder, finished, convention, data / dataset, baseline=baseline)
        if not copy.datasets():
            raise GradrankError(
                f"{root.folder}: no method of the run is finished. Fix: run `snakemake --cores 2` first"
            )
        report(copy.folder, out, settings.evaluation.convention, params, data, missing=missing)
    return "\n".join([*lines, f"The report of the finished methods: {Path(out).resolve()}"])


def _is_finished(method: MethodFolder, settings: RunSettings, data: Path) -> bool:
    """Return whether every fold is trained with the present settings, code and data, and its scores are evaluated.

    data: folder of the Parquet collection.
    """
    variant, dataset = settings.models[method.name], method.dataset
    expected = {"model": variant.model, "params": json.loads(json.dumps(variant.params))}
    try:
        stored = StoredCollection.open(data)
        method.check()
        stamp = read_stamp(method.evaluation_path)
        if not _has_values(stamp.get("conventions"), settings.conventions(dataset)):
            return False
        if not _has_values(stamp.get("metrics"), settings.evaluation.metrics):
            return False
        expected |= {"data_sha256": stored.source_sha256, "code": training_code(variant.model, variant.params)}
        for seed in settings.seeds_of(method.name, dataset):
            for number in range(1, len(stored.folds) + 1):
                fold = method.fold(number, None if seed == settings.first_seed else seed)
                spec, scores = fold.spec(), fold.scores_path
                if any(spec.get(key) != value for key, value in (expected | {SEED: seed}).items()):
                    return False
                if stamp["inputs"].get(scores.relative_to(method.folder).as_posix()) != sha256(scores):
                    return False
    except (GradrankError, OSError, KeyError):  # absent or damaged
        return False
    return True


def _has_values(evaluated: object, wanted: Sequence[str]) -> bool:
    return isinstance(evaluated, list) and set(wanted) <= set(evaluated)


def _copy(method: MethodFolder, copy: MethodFolder) -> None:
    """Copy the values per query of a method and the small files of its folds."""
    copy.folder.mkdir(parents=True)
    for path in (method.per_query_path, method.evaluation_path):
        shutil.copy(path, copy.folder)
    for fold in measured_folds(method):
        target = copy.folder / fold.folder.relative_to(method.folder)
        target.mkdir(parents=True, exist_ok=True)
        for path in (fold.spec_path, fold.timing_path, fold.history_path):
            if path.is_file():
                shutil.copy(path, target)
