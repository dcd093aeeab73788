"""Import finished results into MLflow: one run per data set and study, with one child run per method.

The run of a method contains:

- parameters, such as `grid.C`, `seed` and `data.queries`;
- means, such as `test/ndcg_at_10` (MLflow does not allow `@` in names);
- means per fold, such as `test_by_fold/ndcg_at_10`, with the number of the fold as step;
- costs, and training curves such as `fold1/selection_map`, the validation MAP by which epochs and rounds are selected;
- the file with the values per query, the data set as input, and one logged model per fold.

The tag `key` of a run is a digest of its content. The tag `current` is "true" for the run with the results of the last
import of a method. If an import is killed, the status of its run is not FINISHED. The next import deletes such a run
and writes it again. On a server, it does so after an hour, because the run of another import also has this status. The
tag `selection` names the convention of the training curves, such as `letor4, ties in expectation`; the means follow the
convention in the tag `convention`.

`mlflow.pyfunc.load_model("models:/<id>")` loads the logged model of a fold.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradrank.base.conventions import selection_convention, selection_label
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.validation import flat
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import SEED, measured_folds, timings
from gradrank.bench.folds.settings import IMPORTED, primary_convention
from gradrank.bench.git import revision
from gradrank.bench.results import PER_QUERY, MethodFolder, NumberedFold, Results
from gradrank.bench.tracking.store import open_store
from gradrank.data.reader import TrainingSchema
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.query_values import QUERY
from gradrank.training.selection import CRITERION

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Dataset, Metric, Run
    from mlflow.models import Model


COST, DATA, SEEDS, CONVENTION = "cost", "data.", "seeds", "convention"  # names that `gradrank diff` reads
CURVE_POINTS = 40  # largest number of points per training curve
DIGEST_LENGTH = 36  # MLflow's limit
# group, {name: value}, step, and id of a logged model or None
Values = tuple[str, Mapping[str, float | None], int, str | None]


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return a flat dict of parameters as strings. Nested names are dotted. MLflow truncates long values."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in flat(values).items()}


class Result:
    """The finished results of a method under one convention, in the form of an MLflow run.

    settings: the section `datasets.<dataset>` of params.yaml. Raises GradrankError unless exactly the trained folds and
    seeds have been evaluated under this convention.
    """

    def __init__(self, method: MethodFolder, convention: str, settings: Mapping[str, Any]) -> None:
        import polars as pl

        if not method.evaluated:
            raise GradrankError(f"{method.folder}: no {PER_QUERY}. Fix: train and evaluate the method first")
        self.method, self.convention, self.settings = method, convention, settings
        self.folds = [fold for fold in measured_folds(method) if fold.model_path.is_dir()]
        self.specs = [fold.spec() for fold in self.folds]
        self.seeds = list(dict.fromkeys(spec[SEED] for spec in self.specs))
        values = pl.read_parquet(method.per_query_path).filter(convention=convention)
        if SEED not in values.columns:
            values = values.with_columns(pl.lit(seed).alias(SEED) for seed in self.seeds[:1])
        # The values of queries that the convention leaves out are null. Polars' mean skips them.
        by_fold = values.drop("convention", "qid", QUERY, strict=False).group_by(
            SEED, "split", "fold", maintain_order=True
        )
        means = by_fold.mean()
        self.means = means.sort(SEED, "split", "fold")
        trained = sorted((spec[SEED], fold.number) for fold, spec in zip(self.folds, self.specs, strict=True))
        if not trained or trained != self.means.select(SEED, "fold").unique().sort(SEED, "fold").rows():
            raise GradrankError(
                f"{method.folder}: under convention {convention!r}, {PER_QUERY} must have values of exactly the "
                f"trained pairs (seed, fold): {trained}. Fix: train the missing folds and evaluate the method again"
            )
        self.digests = {"spec_sha256": digest(self.specs), "per_query_sha256": sha256(method.per_query_path)}
        self.key = digest(self.digests | {"method": method.name, CONVENTION: convention})

    def suffix(self, spec: Mapping[str, Any]) -> str:
        """Return a suffix such as `_seed2`, which makes names unique if there are several seeds; empty for one seed."""
        return f"_seed{spec[SEED]}" if len(self.seeds) > 1 else ""

    def parameters(self) -> dict[str, str]:
        """Return the model's parameters, seeds, convention and data set settings."""
        run = {SEED: self.seeds[0], SEEDS: self.seeds, CONVENTION: self.convention}
        return texts(self.specs[0]["params"] | run | flat(self.settings, DATA))

    def dataset(self) -> "Dataset":
        """Return the data set with its name, digest, schema and source."""
        from mlflow.entities import Dataset
        from mlflow.types import ColSpec, Schema, TensorSpec

        name, spec, entry = self.method.dataset, self.specs[0], catalogue().get(self.method.dataset)
        columns: list[ColSpec | TensorSpec] = [
            ColSpec("long", "qid"),
            ColSpec("long", "label"),
            ColSpec("string", "docid"),
        ]
        columns += [ColSpec("float", feature) for feature in TrainingSchema.of(spec).feature_names]
        kind, source = "local", {"uri": self.settings.get("path", name)}
        if entry and "path" not in self.settings:
            kind, source = "http", {"url": entry.homepage}
            if entry.generator:
                kind, source = "code", {"tags": {"generator": entry.generator, **self.settings}}
        schema = json.dumps({"mlflow_colspec": Schema(columns).to_dict()})
        return Dataset(name, spec["data_sha256"][:DIGEST_LENGTH], kind, json.dumps(source), schema)

    def metrics(self, models: Mapping[Path, str], time: int) -> "list[Metric]":
        """Return means, costs and training curves.

        models: dict from the folder of a fold to the id of its logged model. The metrics of a fold are also attached to
        its logged model. time: timestamp in milliseconds.
        """
        from mlflow.entities import Metric

        data = self.dataset()
        return [
            Metric(f"{group}/{name.replace('@', '_at_')}", float(value), time, step, model, data.name, data.digest)
            for group, values, step, model in self._values(models)
            for name, value in values.items()
            if value is not None
        ]

    def _values(self, models: Mapping[Path, str]) -> Iterator[Values]:
        """Yield the values for `metrics`, one group after the other."""
        import polars as pl

        by_seed = self.means.group_by(SEED, "split", maintain_order=True).mean().drop("fold", SEED)
        for row in by_seed.group_by("split", maintain_order=True).mean().iter_rows(named=True):
            yield row.pop("split"), row, 0, None
        if len(self.seeds) > 1:
            deviations = by_seed.filter(split="test").drop("split").std()
            yield "test_seed_deviation", deviations.row(0, named=True), 0, None
        if cost := Cost.of(timings(self.method)):
            yield COST, asdict(cost), 0, None
        for fold, spec in zip(self.folds, self.specs, strict=True):
            suffix, step, model = self.suffix(spec), fold.number, models.get(fold.folder)
            means = self.means.filter(pl.col(SEED) == spec[SEED], fold=step).drop("fold", SEED)
            for row in means.iter_rows(named=True):
                yield f"{row.pop('split')}_by_fold{suffix}", row, step, model
            if fold.timing_path.is_file():
                yield f"cost_by_fold{suffix}", fold.timing(), step, model
            history = fold.history()
            for name in history.columns[1:]:
                points = history.select("step", name).drop_nulls()
                curve = _curve_name(name)
                chosen = np.linspace(0, len(points) - 1, min(CURVE_POINTS, len(points))).round().astype(int)
                for training_step, value in points[chosen].iter_rows():
                    yield f"fold{step}{suffix}", {curve: value}, training_step, None


def _curve_name(column: str) -> str:
    """Return the name of a training curve. Criteria of the selection get the prefix `selection_` instead of `vali_`.

    Their convention can differ from that of the means of the validation part, whose names begin with `vali`.
    """
    measure = column.removeprefix("vali_")
    return f"selection_{measure}" if measure != column and re.fullmatch(CRITERION, measure) else column


DATA_FOLDER = "fold"  # folder in MLflow's data/ with spec.json and the model


class ModelLog:
    """Log the models of folds.

    `mlflow.pyfunc.save_model` checks the example and the installed packages, which takes most of the time of a fold.
    Folds with the same inputs and packages therefore share one folder. save_model writes it for the first of these
    folds. For the others, only the trained model and the file MLmodel are replaced.

    folder: an empty folder for temporary files.
    """

    def __init__(self, client: "MlflowClient", folder: Path) -> None:
        self.client, self.folder = client, folder
        self.saved: dict[str, Model] = {}  # by digest of the inputs and packages

    def log(self, run: "Run", result: Result, fold: NumberedFold) -> str:
        """Log the model of a fold and return its id."""
        spec, method = fold.spec(), result.method
        name = f"{method.name}-fold{fold.number}{result.suffix(spec)}".replace(".", "_")  # MLflow forbids dots
        identity = {"dataset": method.dataset, "model": method.name, "fold": fold.number, SEED: spec[SEED]}
        tags = texts(identity | {"data_sha256": spec["data_sha256"], "spec_sha256": sha256(fold.spec_path)})
        run_id = run.info.run_id
        model = self.client.create_logged_model(run.info.experiment_id, name, run_id, tags, result.parameters())
        ids = {"artifact_path": model.artifact_location, "run_id": run_id, "model_id": model.model_id}
        self.client.log_model_artifacts(model.model_id, str(self._write(fold, spec, ids)))
        self.client.finalize_logged_model(model.model_id, "READY")
        return model.model_id

    def _write(self, fold: NumberedFold, spec: Mapping[str, Any], ids: Mapping[str, Any]) -> Path:
        """Write the folder of a logged model and return it. The next fold with the same inputs overwrites the folder.

        ids: the entries of MLmodel that belong to one logged model.
        """
        from mlflow.models import Model

        trained = TrainingSchema.of(spec)
        query, names = trained.columns.query or "qid", trained.feature_names
        key = digest([query, names, spec["versions"]])
        data, folder = self.folder / DATA_FOLDER, self.folder / key
        if key not in self.saved:
            _copy(fold, data)
            self.saved[key] = Model(**ids)
            _save(folder, data, self.saved[key], query, names, spec["versions"])
            return folder
        saved, data = self.saved[key], folder / "data" / DATA_FOLDER
        others = (saved.model_size_bytes or 0) - _size(data)
        _copy(fold, data)
        self.saved[key] = Model(
            **ids,
            flavors=saved.flavors,
            signature=saved.signature,
            saved_input_example_info=saved.saved_input_example_info,
            model_size_bytes=others + _size(data),
        )
        self.saved[key].save(folder / "MLmodel")
        return folder


def _copy(fold: NumberedFold, folder: Path) -> None:
    """Replace a folder by the trained model and the specification of a fold.

    Hidden files are left out: Snakemake writes .snakemake_timestamp into each folder that is an output.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(fold.model_path, folder / fold.model_path.name, ignore=shutil.ignore_patterns(".*"))
    shutil.copy(fold.spec_path, folder)


def _size(folder: Path) -> int:
    """Return the number of bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _save(folder: Path, data: Path, model: "Model", query: str, names: list[str], versions: Mapping[str, str]) -> None:
    """Write the folder of a logged model by `save_model`.

    data: folder with the fold. query: name of the column with query ids. names: names of the features.
    versions: dict from package to version.
    """
    import mlflow.pyfunc
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType

    columns: list[ColSpec | TensorSpec] = [ColSpec(AnyType(), query, required=False)]
    columns += [ColSpec(AnyType(), name) for name in names]
    public = {package: version.partition("+")[0] for package, version in versions.items()}
    mlflow.pyfunc.save_model(
        folder,
        mlflow_model=model,
        loader_module="gradrank.ranker.predict",
        data_path=data,
        # The inputs have AnyType, because MLflow does not accept integers for a double. The example is artificial,
        # because rows of a licensed collection must not be copied.
        signature=ModelSignature(Schema(columns), Schema([ColSpec("double", "score")])),
        input_example=pd.DataFrame(np.eye(2, len(names)), columns=names),
        pip_requirements=[f"{package}=={version}" for package, version in public.items() if package != "python"],
    )


FINISHED, PARENT = "FINISHED", "mlflow.parentRunId"
METRICS_PER_CALL = 1000  # MLflow's limit
ABANDONED_AFTER = 3_600_000  # milliseconds; the import of one method takes seconds


class Tracked(NamedTuple):
    """The MLflow run of a method on a data set. new: True if this import wrote the run, False if it existed before."""

    dataset: str
    model: str
    run_id: str
    new: bool


def track(
    results: Path,
    datasets: Mapping[str, Sequence[str]],
    params: Mapping[str, Any] | None = None,
    studies: Mapping[str, Mapping[str, Any]] | None = None,
    report: Path | None = None,
    uri: str | None = None,
) -> list[Tracked]:
    """Import the results of the methods of each data set and of each study, and return their runs.

    datasets: dict from data set to names of methods. params: content of params.yaml. studies: dict from study to its
    settings, with the keys `datasets`, `models` and `own` (the models that only this study trains). report: path of the
    HTML report; its figures are in the folder of the same name. uri: see `open_store`.
    Raises GradrankError if the store cannot be reached, or if results are missing or incomplete. Results are checked
    before anything is written.
    """
    root, params, studies = Results(Path(results)), params or {}, studies or {}
    study_of: dict[tuple[str, str], str | None] = {
        (data, model): None for data, models in datasets.items() for model in models
    }
    for name, study in studies.items():
        for data in study["datasets"]:
            for model in study["models"]:
                study_of[data, model] = name if model in study["own"] else study_of.get((data, model))
    results_of: dict[str, dict[Result, str | None]] = {}  # {data set: {result: study}}
    for (data, model), study in study_of.items():
        settings = params.get("datasets", {}).get(data) or {}
        result = Result(root.dataset(data).method(model), primary_convention(params, data), settings)
        results_of.setdefault(data, {})[result] = study
    with open_store(uri) as (client, experiment), TemporaryDirectory() as folder:
        log, figures = ModelLog(client, Path(folder)), report or root.report_path
        importer = _Import(client, experiment, log, root, figures, revision(root.project))
        parents = {name: importer.study(name, studies[name]) for name in studies}
        imported = [importer.dataset(data, by_result, parents) for data, by_result in results_of.items()]
    return [tracked for by_dataset in imported for tracked in by_dataset]


@dataclass(frozen=True)
class _Import:
    """One import into an experiment of an MLflow store."""

    client: "MlflowClient"
    experiment: str
    log: ModelLog
    root: Results
    report: Path
    revision: str | None

    def study(self, name: str, settings: Mapping[str, Any]) -> "Run":
        """Find or write the run of a study, with its settings, page, numbers and tables, and return it."""
        folder = self.root.study(name)
        run = self._parent("study", name, [settings, sha256(folder.numbers_path)])
        if run.info.status != FINISHED:
            for key, value in texts(settings).items():
                self.client.log_param(run.info.run_id, key, value)
            self._finish(run, f"studies/{name}", folder.markdown_path, folder.numbers_path, folder.tables_path)
        return run

    def dataset(self, name: str, results: Mapping[Result, str | None], studies: Mapping[str, "Run"]) -> list[Tracked]:
        """Import the methods of a data set.

        The run of a method is a child of the run of its study or, without a study, of the run of the data set.

        results: dict from result to the name of its study, or None. studies: dict from the name of a study to its run.
        """
        first = next(iter(results))
        run = self._parent("dataset", name, first.specs[0]["data_sha256"])
        tracked = [self._method(result, studies[study] if study else run) for result, study in results.items()]
        if run.info.status != FINISHED or any(method.new for method in tracked):
            self._log_input(run, first)
            self._finish(run, name, self.root.dataset(name).tables_path)
        return tracked

    def _method(self, result: Result, parent: "Run") -> Tracked:
        """Find or write the run of a result, and set its tag `current`. Unfinished runs of the method are deleted."""
        data, name, same = result.method.dataset, result.method.name, None
        query = f"tags.kind = 'method' AND tags.dataset = '{data}' AND tags.model = '{name}'"
        for run in self.client.search_runs([self.experiment], query):
            if run.info.status != FINISHED:
                if self._is_abandoned(run):
                    self._delete(run)
            elif run.data.tags["key"] == result.key:
                same = run
            elif run.data.tags.get("current") == "true":
                self.client.set_tag(run.info.run_id, "current", "false")
        run_id = (same or self._write(result)).info.run_id
        for tag, value in {"current": "true", PARENT: parent.info.run_id}.items():
            self.client.set_tag(run_id, tag, value)
        return Tracked(data, name, run_id, same is None)

    def _is_abandoned(self, run: "Run") -> bool:
        """Return whether no import still writes an unfinished run. A SQLite store is used by one import at a time."""
        age = 1000 * time.time() - run.info.start_time
        return self.client.tracking_uri.startswith("sqlite") or age > ABANDONED_AFTER

    def _write(self, result: Result) -> "Run":
        """Write the run of a method and return it."""
        from mlflow.entities import LoggedModelOutput, Param

        client, method, spec = self.client, result.method, result.specs[0]
        tags = {"kind": "method", "dataset": method.dataset, "model": method.name, "key": result.key}
        tags |= {CONVENTION: result.convention, **result.digests}
        tags |= {name: spec[name] for name in ("data_sha256", "processor") if name in spec}
        tags |= {} if spec["model"] == IMPORTED else {"selection": selection_label(selection_convention(spec))}
        tags |= {"git_revision": self.revision} if self.revision else {}
        run = client.create_run(self.experiment, tags=tags, run_name=method.name)
        run_id, trained = run.info.run_id, [fold for fold in result.folds if spec["model"] != IMPORTED]
        self._log_input(run, result)
        client.log_artifact(run_id, str(method.per_query_path))
        client.log_batch(run_id, params=[Param(*parameter) for parameter in result.parameters().items()])
        models = {fold.folder: self.log.log(run, result, fold) for fold in trained}
        client.log_outputs(run_id, [LoggedModelOutput(model, 0) for model in models.values()])
        metrics = result.metrics(models, run.info.start_time)
        for start in range(0, len(metrics), METRICS_PER_CALL):
            client.log_batch(run_id, metrics=metrics[start : start + METRICS_PER_CALL])
        client.set_terminated(run_id)
        return run

    def _log_input(self, run: "Run", result: Result) -> None:
        from mlflow.entities import DatasetInput, InputTag

        dataset = DatasetInput(result.dataset(), [InputTag("mlflow.data.context", "train, vali, test")])
        self.client.log_inputs(run.info.run_id, datasets=[dataset])

    def _delete(self, run: "Run") -> None:
        """Delete a run and its logged models."""
        query = f"source_run_id = '{run.info.run_id}'"
        for model in self.client.search_logged_models([self.experiment], query):
            self.client.delete_logged_model(model.model_id)
        self.client.delete_run(run.info.run_id)

    def _parent(self, kind: str, name: str, content: Any) -> "Run":
        """Find the run of a study or data set with this content, or create it."""
        tags = {"kind": kind, kind: name, "key": digest([name, content])}
        same = self.client.search_runs([self.experiment], f"tags.key = '{tags['key']}'")
        return same[0] if same else self.client.create_run(self.experiment, tags=tags, run_name=name)

    def _finish(self, run: "Run", page: str, *paths: Path) -> None:
        """Log the files, the folders and the figures that exist, and finish the run.

        page: folder of the figures, within the folder of the report.
        """
        figures = self.report.with_suffix("") / page
        for path, name in (*((path, path.name) for path in paths), (figures, "figures")):
            if path.is_dir():
                for file in sorted(file for file in path.rglob("[!.]*") if file.is_file()):
                    folder = (Path(name) / file.relative_to(path)).parent.as_posix()
                    self.client.log_artifact(run.info.run_id, str(file), folder)
            elif path.is_file():
                self.client.log_artifact(run.info.run_id, str(path))
        self.client.set_terminated(run.info.run_id)
