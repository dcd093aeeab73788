"""Read the states that the arguments A and B of `gradrank diff A B` refer to.

A state is a results folder, a git revision or a DVC experiment. The folder is results/, results/<dataset>/ or the
project folder. A revision is read without a checkout, from git or from DVC.

Git contains summary.json, provenance.json, params.yaml and the per-query values of two metrics. DVC stores the
per-query values of every metric. The cost of training is recorded only in results/.
"""

import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from gradrank.base.errors import GradrankError, missing, require
from gradrank.base.validation import flat
from gradrank.bench.config.params_file import read
from gradrank.bench.config.studies import PATTERNS, study_of
from gradrank.bench.diff.state import (
    State,
    all_measured,
    methods_of,
    notices_of,
    of_provenance,
    own_model,
    params_of,
    tie_notices,
)
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import join_test_queries, measured_folds, read_table, seeds_of, timings
from gradrank.bench.folds.settings import primary_convention
from gradrank.bench.git import git
from gradrank.bench.provenance.record_checks import fault_of_record
from gradrank.bench.provenance.records import model_settings, versions_and_processors
from gradrank.bench.results import PER_QUERY, SUMMARY, DatasetFolder, MethodFolder, Results
from gradrank.data.part_files import COLLECTION
from gradrank.training.registry import models

if TYPE_CHECKING:
    import polars as pl


EXPERIMENT = "DVC experiment"
NEEDED = (
    "params.yaml",
    *PATTERNS,
    "dvc.lock",
    "results/*/summary.json",
    "results/*/provenance.json",
    "results/*/queries.parquet",
)


class Committed(NamedTuple):
    """The files of a commit. Paths are relative to the project's folder, which is the working folder.

    rev: the hash of the commit or the name of the experiment; DVC accepts both. kind: `git revision` or `DVC
    experiment`. files: the files in git; the keys are paths, the values are contents.
    """

    rev: str
    kind: str
    files: dict[str, bytes]

    def read(self, path: str) -> bytes:
        """Return the content of a file from git, or from the cache or remote of DVC if git does not contain the file.

        Raises GradrankError if neither git nor DVC has the file. The message explains why per-query values are missing.
        """
        if path in self.files:
            return self.files[path]
        lock = yaml.safe_load(self.files.get("dvc.lock", b"")) or {"stages": {}}
        outs = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])}
        if not outs & {str(parent) for parent in (PurePosixPath(path), *PurePosixPath(path).parents)}:
            raise GradrankError(
                "The dvc.lock of the commit does not list the per-query values, or there is no dvc.lock. Fix: run the "
                f"workflow in a checkout (`git worktree add FOLDER {self.rev[:12]}`) and compare with FOLDER"
            )
        require("dvc", extra="dvc", needed_by=f"The values per query of {self.rev[:12]}")
        import dvc.api

        try:
            return dvc.api.read(path, rev=self.rev, mode="rb")
        except Exception as error:  # DVC's documentation does not list the errors of this function
            raise GradrankError(
                f"DVC has the values per query neither in its cache nor in a remote ({error}). Fix: run `dvc push` "
                f"where they were computed, or `dvc repro` in a checkout of {self.rev[:12]}"
            ) from None


def find_commit(name: str) -> Committed | None:
    """Return the git commit or DVC experiment with this name, or None if neither exists."""
    if commit := git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return _of_git(commit.decode().strip())
    return _of_experiment(name)


def _of_git(commit: str) -> Committed:
    archive = git("archive", "--format=tar", commit)
    if archive is None:
        raise GradrankError(f"{commit}: git cannot read the commit's files. Fix: run in the folder of the project")
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (stream := tar.extractfile(member)) is not None:
                files[member.name] = stream.read()
    return Committed(commit, "git revision", files)


def _of_experiment(name: str) -> Committed | None:
    if missing(["dvc"]):
        return None
    from dvc.api import DVCFileSystem
    from dvc.exceptions import DvcException

    try:
        system = DVCFileSystem(".", rev=name)
        paths = [str(path) for pattern in NEEDED for path in system.glob(pattern)]
        contents = {path.lstrip("/"): system.read_bytes(path) for path in paths}
    except DvcException:
        return None
    files = {path: content for path, content in contents.items() if isinstance(content, bytes)}
    return Committed(name, EXPERIMENT, files)


def read_folder(path: Path) -> State:
    """Return the state of a results folder. Raises GradrankError if the folder has no results."""
    from gradrank.data.tables.files import results_table

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
    fields = _recorded_in_files(root, names)
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


def _recorded_in_files(root: Results, names: list[str]) -> dict[str, Any]:
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


_RESULTS = Results()


def read_revision(name: str, committed: Committed) -> State:
    """Return the state of a commit.

    name: name of the commit as given by the user. Raises GradrankError if the commit has no results.
    """
    import polars as pl

    from gradrank.data.tables.files import results_table

    summaries = {
        dataset.name: json.loads(text)
        for path, text in sorted(committed.files.items())
        if (dataset := _RESULTS.dataset(Path(path).parent.name)).summary_path == Path(path)
    }
    fix = "Fix: run the workflow for these data sets"
    try:
        content = committed.read(str(_RESULTS.per_query_path))
    except GradrankError as error:
        content, fix = None, str(error)
    with results_table(f"{name}: {_RESULTS.per_query_path}"):
        frame = None if content is None else pl.read_parquet(io.BytesIO(content))
        measured: list[str] = [] if frame is None else frame["dataset"].unique().to_list()
    datasets = sorted({*summaries, *measured})
    if not datasets:
        raise GradrankError(
            f"{name}: the commit has no results/<dataset>/{SUMMARY}. Fix: run in the folder of the project"
        )
    fields, notices = _recorded_in_commit(committed, datasets)
    with results_table(name):
        frames = [
            pl.read_parquet(io.BytesIO(text))
            for path, text in sorted(committed.files.items())
            if _RESULTS.dataset(Path(path).parent.name).queries_path == Path(path)
        ]
        values = all_measured(frames, frame, fields["conventions"])
        ties = tie_notices(frames if frame is None else (*frames, frame), fields["conventions"])
    return State(
        name=name,
        kind=committed.kind,
        revision=committed.rev,
        methods=methods_of(summaries, values, {}),
        notices=(*notices, *notices_of(summaries, values, fix), *ties),
        **fields,
    )


def _recorded_in_commit(committed: Committed, datasets: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a State that describe how the results were made, and a list of notices.

    The fields are read from provenance.json, or from the other files of the commit if provenance.json is missing.
    """
    study = yaml.safe_load(committed.files.get("params.yaml", b"")) or {}
    study = {"studies": _study_settings(committed)} | study  # older commits have the studies in params.yaml
    params, notices = _params(study, datasets)
    fields: dict[str, Any] = {
        "conventions": {dataset: primary_convention(study, dataset) for dataset in datasets},
        "params": params,
        "data": {dataset: _data(committed, dataset) for dataset in datasets},
        "code": {},
        "versions": {},
    }
    for dataset in datasets:
        for field, value in _provenance(committed, dataset).items():
            fields[field][dataset] = value
    return fields, notices


def _study_settings(committed: Committed) -> dict[str, Any]:
    """Return the settings of each study, as `config.studies.read_settings` does for a project folder."""
    paths = {PurePosixPath("/", name): text for name, text in committed.files.items()}
    return {
        study_of(path): yaml.safe_load(text) or {}
        for path, text in sorted(paths.items())
        if any(path.match(f"/{pattern}") for pattern in PATTERNS)
    }


def _provenance(committed: Committed, dataset: str) -> dict[str, Any]:
    """Return the fields in the committed provenance.json, or an empty dict if the file is missing."""
    record = committed.files.get(str(_RESULTS.dataset(dataset).provenance_path))
    return of_provenance(dataset, json.loads(record)) if record else {}


def _params(study: Mapping[str, Any], datasets: Iterable[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the parameters of each data set, resolved as in provenance.json, and a list of notices.

    If the present code rejects the settings, the values in params.yaml are used without validation, and a notice
    reports this.
    """
    from gradrank.bench.config.params import check

    try:
        params = check(study)
    except GradrankError as error:
        *headings, reason = str(error).splitlines()
        file = next((line for line in reversed(headings) if not line.startswith(" ")), reason).partition(":")[0]
        notice = (
            f"the present code rejects {file} ({reason.strip()}); params.yaml is compared as written, over present "
            "defaults"
        )
        return {dataset: _unchecked(study, dataset) for dataset in datasets}, [notice]
    checked = params.model_dump(mode="json")
    settings = {dataset: model_settings(params, checked["models"], [dataset]) for dataset in datasets}
    for dataset, values in settings.items():
        own = checked["datasets"].get(dataset) or {}
        values["dataset"] = {key: value for key, value in own.items() if key != "seeds"}
    return {dataset: params_of(dataset, values) for dataset, values in settings.items()}, []


def _unchecked(study: Mapping[str, Any], dataset: str) -> dict[str, dict[str, Any]]:
    """Return the seeds of a data set and the models as written in params.yaml.

    If a model is still registered, its parameters that are not set get their defaults.
    """
    written = (study.get("run") or {}).get("seeds")
    seeds = written if isinstance(written, list) and written else [study.get("seed")]
    count = ((study.get("datasets") or {}).get(dataset) or {}).get("seeds")
    if isinstance(seeds[0], int) and isinstance(count, int) and 1 <= count <= 100:  # other counts are refused
        seeds = list(range(seeds[0], seeds[0] + count))
    sections: dict[str, dict[str, Any]] = {"": {"seed": seeds[0]} | ({"seeds": seeds} if len(seeds) > 1 else {})}
    for name, values in (study.get("models") or {}).items():
        defaults = models()[name].Params().model_dump(mode="json") if name in models() else {}
        sections[f"models.{name}"] = flat(defaults) | flat(values or {})
    return sections


def _data(committed: Committed, dataset: str) -> dict[str, str]:
    """Return a dict with the checksum of the source data under the key `source`.

    The dict is empty if collection.json is neither in git nor in DVC.
    """
    older = f"data/parquet/{dataset}.json"  # path of collection.json in older commits
    for path in (f"data/parquet/{dataset}/{COLLECTION}", older):
        with suppress(GradrankError):
            return {"source": json.loads(committed.read(path))["source_sha256"]}
    return {}


def read_state(name: str) -> State:
    """Return the state called `name`: a folder, git revision or DVC experiment, tried in this order.

    Raises GradrankError if none of these has the name, or if the state has no results.
    """

    if Path(name).is_dir():
        return read_folder(Path(name))
    if commit := find_commit(name):
        return read_revision(name, commit)
    raise GradrankError(
        f"{name}: not a folder, git revision or DVC experiment. Fix: give one of these. `dvc exp show` lists "
        "experiments"
    )
