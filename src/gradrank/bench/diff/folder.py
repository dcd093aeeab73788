"""State of a results folder. The folder is results/, results/<dataset>/ or the project folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.validation import flat
from gradrank.bench.config.params_file import read
from gradrank.bench.diff.results import all_measured, methods_of, notices_of, of_provenance, own_model, tie_notices
from gradrank.bench.diff.state import State
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import join_test_queries, read_table
from gradrank.bench.folds.primary import primary_convention
from gradrank.bench.folds.seeds import measured_folds, seeds_of, timings
from gradrank.bench.provenance.record_form import fault_of_record
from gradrank.bench.provenance.records import versions_and_processors
from gradrank.bench.results import PER_QUERY, SUMMARY, DatasetFolder, MethodFolder, Results

if TYPE_CHECKING:
    import polars as pl


def read_folder(path: Path) -> State:
    """Return the state of a results folder. Raises GradrankError if the folder has no results."""
    from gradrank.data.tables.parquet import results_table

    root, only = _located(path)
    datasets = [root.dataset(only)] if only else root.datasets()
    summaries = {dataset.name: dataset.summary() for dataset in datasets if dataset.summarised}
    methods = [method for dataset in datasets for method in _methods(dataset)]
    with results_table(root.per_query_path):
        frame = _values(root, methods)
        names = {*summaries, *([] if frame is None else frame["dataset"].unique())}
    names = sorted(names & {only} if only else names)
    if not names:
        raise GradrankError(
            f"{path}: no results; expected <dataset>/{SUMMARY} or <dataset>/<model>/{PER_QUERY} in this folder"
        )
    fields = _recorded_fields(root, names)
    frames = [read_table(dataset.queries_path) for dataset in datasets if dataset.queries_path.is_file()]
    with results_table(path):
        all_values = all_measured(frames, frame, fields["conventions"])
        ties = tie_notices(frames if frame is None else (*frames, frame), fields["conventions"])
    values = {dataset: of_dataset for dataset, of_dataset in all_values.items() if dataset in names}
    costs = {(method.dataset, method.name): Cost.of(timings(method)) for method in methods}
    fix = "Fix: run `dvc pull` or the workflow in the checkout of this folder"
    return State(
        name=str(path),
        kind="results folder",
        revision=None,
        methods=methods_of(summaries, values, costs),
        notices=(*notices_of(summaries, values, fix), *ties),
        **fields,
    )


def _located(path: Path) -> tuple[Results, str | None]:
    """Return the results root and, if `path` is the folder of a single data set, the name of this data set."""
    if (path / "results").is_dir():
        return Results(path / "results"), None
    dataset = DatasetFolder(path.resolve())
    if dataset.summarised or any(method.folds() for method in dataset.methods()):
        return Results(dataset.folder.parent), dataset.name
    return Results(path), None


def _methods(dataset: DatasetFolder) -> list[MethodFolder]:
    """Return the methods of a data set: those in its summary.json or, without it, all methods with files.

    A folder that an earlier run left, such as that of a former variant of a sweep, belongs to no summary.json.
    """
    named = dataset.summary() if dataset.summarised else None
    return [method for method in dataset.methods() if named is None or method.name in named]


def _values(root: Results, methods: list[MethodFolder]) -> "pl.DataFrame | None":
    """Return the values per query of all methods, or None if no file contains them.

    If there are trained folds, the values are read from the files of the methods. Otherwise, they are read from the
    common file that `dvc pull` restores.
    """
    evaluated = [method for method in methods if method.evaluated]
    if evaluated and any(method.folds() for method in methods):
        return join_test_queries(evaluated)
    return read_table(root.per_query_path) if root.per_query_path.is_file() else None


def _recorded_fields(root: Results, names: list[str]) -> dict[str, Any]:
    """Return the fields of a State that describe how the results were made.

    They are read from provenance.json and from the methods' spec.json, which has every parameter. The members of a
    fusion are included, although they may not be listed as results.
    """
    params_path = root.project / "params.yaml"
    study = read(params_path) if params_path.is_file() else {}
    fields: dict[str, Any] = {"params": {}, "data": {}, "code": {}, "versions": {}}
    fields["conventions"] = {name: primary_convention(study, name) for name in names}
    for dataset in names:
        folder = root.dataset(dataset)
        record = _record(folder)
        for field, value in of_provenance(dataset, record).items():
            fields[field][dataset] = value
        specs = _specs([*_methods(folder), *map(folder.method, record.get("members", {}))])
        run: dict[str, Any] = {}
        for method, spec in specs.items():
            seeds = seeds_of(folder.method(method))
            run |= {"seed": spec["seed"]} | ({"seeds": seeds} if seeds else {})
            params = fields["params"].setdefault(dataset, {"": run})
            params[f"models.{method}"] = flat(spec["params"]) | own_model(method, spec["model"])
            fields["data"].setdefault(dataset, {})["source"] = spec["data_sha256"]
        if specs and dataset not in fields["versions"]:
            fields["versions"][dataset] = versions_and_processors(specs.values())["versions"]
    return fields


def _record(folder: DatasetFolder) -> dict[str, Any]:
    """Return the content of provenance.json; empty if the file is missing or is not a record of gradrank."""
    record = folder.provenance() if folder.recorded else {}
    return record if isinstance(record, dict) and fault_of_record(record, is_study=False) is None else {}


def _specs(methods: Iterable[MethodFolder]) -> dict[str, dict[str, Any]]:
    """Return the spec.json of one fold per method. Methods without a measured fold are left out."""
    return {method.name: fold.spec() for method in methods for fold in measured_folds(method)[:1]}
