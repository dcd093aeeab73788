"""Import finished results into MLflow: one run per data set and study, with one child run per method.

The run of a method contains:

- parameters, such as `grid.C`, `seed` and `data.queries`;
- means, such as `test/ndcg_at_10` (MLflow does not allow `@` in names);
- means per fold, such as `test_by_fold/ndcg_at_10`, with the number of the fold as step;
- costs, and training curves such as `fold1/selection_map`, the validation MAP by which epochs and rounds are selected;
- the file with the values per query, the data set as input, and one logged model per fold.

The tag `key` of a run is a digest of its content. The tag `current` is "true" for the run with the results of the last
import of a method. If an import is killed, the status of its run is not FINISHED. The next import deletes such a run
and writes it again. The tag `selection` names the convention of the training curves, such as `letor4, ties in
expectation`; the means follow the convention in the tag `convention`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank.base.conventions import selection_convention, selection_label
from gradrank.base.files import sha256
from gradrank.bench.folds.primary import primary_convention
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.bench.git import revision
from gradrank.bench.results import Results
from gradrank.bench.tracking.content import CONVENTION, Result, digest, texts
from gradrank.bench.tracking.logged_models import ModelLog
from gradrank.bench.tracking.store import open_store

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FINISHED, PARENT = "FINISHED", "mlflow.parentRunId"
METRICS_PER_CALL = 1000  # MLflow's limit


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
                self._delete(run)
            elif run.data.tags["key"] == result.key:
                same = run
            elif run.data.tags.get("current") == "true":
                self.client.set_tag(run.info.run_id, "current", "false")
        run_id = (same or self._write(result)).info.run_id
        for tag, value in {"current": "true", PARENT: parent.info.run_id}.items():
            self.client.set_tag(run_id, tag, value)
        return Tracked(data, name, run_id, same is None)

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
                self.client.log_artifacts(run.info.run_id, str(path), name)
            elif path.is_file():
                self.client.log_artifact(run.info.run_id, str(path))
        self.client.set_terminated(run.info.run_id)
