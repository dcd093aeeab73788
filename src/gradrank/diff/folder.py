"""A results folder as a Side: results/, results/<dataset>/ or the project around it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.results import PER_QUERY, SUMMARY, DatasetFolder, MethodFolder, Results
from gradrank.base.validation import flat
from gradrank.config.params_file import read
from gradrank.diff.results import all_measured, faults, methods_of, of_provenance
from gradrank.diff.state import State
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import join_test_queries
from gradrank.evaluation.primary import primary_convention
from gradrank.evaluation.seeds import seeds_of, timings

if TYPE_CHECKING:
    import polars as pl


def read_folder(path: Path) -> State:
    """Raises GradrankError where there are no results."""
    import polars as pl

    root, only = _located(path)
    datasets = [root.dataset(only)] if only else root.datasets()
    summaries = {each.name: each.summary() for each in datasets if each.summarised}
    methods = [method for each in datasets for method in each.methods()]
    frame = _values(root, methods)
    names = {*summaries, *([] if frame is None else frame["dataset"].unique())}
    names = sorted(names & {only} if only else names)
    if not names:
        raise GradrankError(
            f"{path}: no results; expected <dataset>/{SUMMARY} or <dataset>/<model>/{PER_QUERY} below it"
        )
    known = _known(root, names)
    frames = [pl.read_parquet(each.queries_path) for each in datasets if each.queries_path.is_file()]
    values = all_measured(frames, frame, known["conventions"])
    values = {dataset: own for dataset, own in values.items() if dataset in names}
    costs = {(method.dataset, method.name): Cost.of(timings(method)) for method in methods}
    cure = "run `dvc pull`, or the workflow, in its checkout"
    return State(
        name=str(path),
        kind="results folder",
        revision=None,
        methods=methods_of(summaries, values, costs),
        notices=tuple(faults(summaries, values, cure)),
        **known,
    )


def _located(path: Path) -> tuple[Results, str | None]:
    """The folder of all data sets, and the name of the one that is meant (None: all)."""
    if (path / "results").is_dir():
        return Results(path / "results"), None
    own = DatasetFolder(path.resolve())
    if own.summarised or any(method.folds() for method in own.methods()):
        return Results(own.folder.parent), own.name
    return Results(path), None


def _values(root: Results, methods: list[MethodFolder]) -> "pl.DataFrame | None":
    """Each method's own file; where they are not here, what `dvc pull` brings: all of them in one."""
    import polars as pl

    evaluated = [method for method in methods if method.evaluated]
    if evaluated and any(method.folds() for method in methods):
        return join_test_queries(evaluated)
    return pl.read_parquet(root.per_query_path) if root.per_query_path.is_file() else None


def _known(root: Results, names: list[str]) -> dict[str, Any]:
    """How the results were made: what provenance.json says, and of the methods what their spec.json says."""
    beside = root.project / "params.yaml"
    study = read(beside) if beside.is_file() else {}
    known: dict[str, Any] = {"params": {}, "data": {}, "code": {}, "versions": {}}
    known["conventions"] = {name: primary_convention(study, name) for name in names}
    for dataset in names:
        if (own := root.dataset(dataset)).recorded:
            for part, value in of_provenance(dataset, own.provenance()).items():
                known[part][dataset] = value
        run: dict[str, Any] = {}
        for method in own.methods():
            for fold in method.folds()[:1]:
                spec, seeds = fold.spec(), seeds_of(method)
                params = known["params"].setdefault(dataset, {})
                run |= {"seed": spec["seed"]} | ({"seeds": seeds} if seeds else {})
                params |= {"": run, f"models.{method.name}": flat(spec["params"])}
                known["data"].setdefault(dataset, {})["source"] = spec["data_sha256"]
                known["versions"].setdefault(dataset, spec["versions"])
    return known
