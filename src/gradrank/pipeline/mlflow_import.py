"""Import finished results into MLflow: one process, after the fact, as often as wanted.

What a user sees in `mlflow ui`: a parent run a data set, with figures and tables, below it a run a model; a sweep's
variants lie below a run of their own, a study's own variants below the study's, seeds below their model's, where there
are several. The data set is an input of each. A model's run holds

- parameters: the model's, flattened (`hidden`, `grid.C`), `seed`, `convention`, the data's (`data.queries`);
- `test/ndcg_at_10`: the mean over folds of their means (MLflow forbids `@`); so `vali/...`, `train/...`;
- `test_by_fold/ndcg_at_10`: a fold's mean, step = fold;
- `fold1/vali_map`: a curve of history.parquet, step = epoch or round;
- `cost/jobs`, `cost/seconds` and `cost/fit_seconds` (sums over folds), `cost/slowest_fit_seconds`,
  `cost/peak_memory_mb` (the largest), `cost/model_bytes`, `cost/score_microseconds`, and `cost_by_fold/...`;
- artefacts: per_query.parquet and, as `fold1` to `fold5`, each trained model in its own format with a pyfunc
  flavour: `mlflow.pyfunc.load_model("runs:/<id>/fold1").predict(table)` scores a table with columns f1..fd;
- tags, among them `current`: "true" on the version that the results folder held at the last import; `code.train` and
  `code.evaluate_folds`, digests of the code; `processor`, the instruction set that trained it.

Of several seeds the model's run holds the means over them, `seeds`, the whole cost and `test_seed_deviation/...`, and
each seed's its own values, costs, curves and trained models.

A run is found again by its content (tag `key`): what was imported before is left alone, changed results make
a new run beside the old, and a run that a killed import left unfinished is completed. Every write can be
repeated: metrics are stamped with their run's own start time, so MLflow recognises them as the same.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank import __version__
from gradrank.evaluation.elsewhere import IMPORTED
from gradrank.evaluation.primary import primary_convention
from gradrank.git import revision
from gradrank.pipeline.code_closure import code
from gradrank.pipeline.code_closure import digest as digest_of
from gradrank.pipeline.mlflow_content import (
    SEED,
    SEEDS,
    log_models,
    log_numbers,
    means,
    over_seeds,
    parameters,
    training,
)
from gradrank.pipeline.mlflow_parents import (
    PARENT,
    dataset_input,
    dataset_run,
    digest,
    figures_of,
    find_or_create,
    log_pictures,
    study_run,
    sweep_run,
)
from gradrank.pipeline.mlflow_result import Result, read_result
from gradrank.pipeline.mlflow_store import DEFAULT_URI, exclusive, open_store
from gradrank.pipeline.provenance import making_files
from gradrank.results import Fold, Results

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FINISHED = "FINISHED"


class Tracked(NamedTuple):
    """One (data set, model) in MLflow; `new` says whether this import wrote it."""

    dataset: str
    model: str
    run_id: str
    new: bool


def track(
    results: Path,
    datasets: Sequence[str],
    models: Sequence[str],
    params: Mapping[str, Any] | None = None,
    uri: str | None = None,
    studies: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Tracked]:
    """Import results/<dataset>/<model>/ of all `datasets` and `models`, and of the studies', in this order.

    params: params.yaml: the primary convention of a data set says which values are shown (letor4 without it), and the
    settings of `datasets.<dataset>` are recorded. uri: the store; else MLFLOW_TRACKING_URI, else
    sqlite:///mlflow.db in the current folder. studies: the settings of each, by name, `datasets`, `models` and
    `own` (those of them that no one else trains) among them. Raises GradrankError for results that are missing or do
    not belong together, before anything is written, and for a store that cannot be reached.
    """
    root, params, studies = Results(Path(results)), params or {}, studies or {}
    asked = {(dataset, model): None for dataset in datasets for model in models}
    for name, settings in studies.items():
        for each in ((dataset, model) for dataset in settings["datasets"] for model in settings["models"]):
            asked[each] = name if each[1] in settings["own"] else asked.get(each)
    found = {
        each: read_result(root.dataset(each[0]).method(each[1]), primary_convention(params, each[0]))
        for each in asked
    }
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    tracked = []
    with exclusive(root.folder / ".track.lock"), open_store(uri) as (client, experiment):
        above = {name: study_run(client, experiment, root, name, studies[name]) for name in studies}
        for dataset in dict.fromkeys(dataset for dataset, _ in found):
            own = [(found[each], above.get(asked[each])) for each in found if each[0] == dataset]
            data = params.get("datasets", {}).get(dataset) or {}
            tracked += _import(client, experiment, own, data, root)
        for run in above.values():
            client.set_terminated(run.info.run_id)
    return tracked


def _import(
    client: "MlflowClient",
    experiment: str,
    found: list[tuple[Result, "Run | None"]],
    data: dict[str, Any],
    root: Results,
) -> list[Tracked]:
    """One data set's results, each with the run of the study that alone trains it, if one does."""
    dataset, spec = found[0][0].method.dataset, found[0][0].specs[0]
    parent = dataset_run(client, experiment, dataset, spec["data_sha256"])
    given = [dataset_input(dataset, spec, data)]
    tracked, commit = [], revision(root.project)
    for result, study in found:
        name = result.method.name
        entry, _, swept = name.partition("-")
        above = study or parent
        if swept:
            above = sweep_run(client, experiment, above, dataset, entry)
        run = find_or_create(client, experiment, name, _tags(result, commit) | {PARENT: above.info.run_id})
        new = run.info.status != FINISHED
        if new:
            client.log_inputs(run.info.run_id, datasets=given)
            _log(client, run, result, data, root.folder / ".track.partial")
        if swept and (new or above.info.status != FINISHED):
            client.log_inputs(above.info.run_id, datasets=given)
            client.set_terminated(above.info.run_id)
        _mark_current(client, experiment, result, run.info.run_id)
        tracked.append(Tracked(dataset, name, run.info.run_id, new))
    if parent.info.status != FINISHED or any(item.new for item in tracked):
        client.log_inputs(parent.info.run_id, datasets=given)
        log_pictures(client, parent, root.dataset(dataset).tables_path, figures_of(root, dataset))
        client.set_terminated(parent.info.run_id)
    return tracked


def _tags(result: Result, commit: str | None) -> dict[str, str]:
    spec = result.specs[0]
    tags = {
        "kind": "model",
        "dataset": result.method.dataset,
        "model": result.method.name,
        "key": result.key,
        "spec_sha256": result.spec_sha256,
        "data_sha256": spec["data_sha256"],
        "convention": result.convention,
        "gradrank_version": __version__,
        "processor": spec.get("processor", "not recorded"),
        "code.train": digest_of(making_files(spec["model"], spec["params"])).removeprefix("code="),
        "code.evaluate_folds": code("evaluate_folds").removeprefix("code="),
        "mlflow.source.name": "gradrank track",
    }
    return tags | ({"git_revision": commit, "mlflow.source.git.commit": commit} if commit else {})


def _mark_current(client: "MlflowClient", experiment: str, result: Result, run_id: str) -> None:
    """Of all versions of a (data set, model), tag `current` the one that the results folder holds."""
    wanted = f"tags.kind = 'model' AND tags.dataset = '{result.method.dataset}' AND tags.model = '{result.method.name}'"
    for version in client.search_runs([experiment], wanted):
        current = "true" if version.info.run_id == run_id else "false"
        if version.data.tags.get("current") != current:
            client.set_tag(version.info.run_id, "current", current)


def _log(client: "MlflowClient", run: "Run", result: Result, data: dict[str, Any], partial: Path) -> None:
    """Everything of one result; the run is terminated last, which marks it as complete."""
    convention, start = result.convention, run.info.start_time
    client.log_artifact(run.info.run_id, str(result.method.per_query_path))
    log_numbers(
        client, run, parameters(result.specs[0], convention, data), means(result.method, convention, start)
    )
    if len(result.folds) == 1:
        _log_training(client, run, result.folds[0], partial)
    else:
        _log_seeds(client, run, result, data, partial)
    client.set_terminated(run.info.run_id)


def _log_training(client: "MlflowClient", run: "Run", folds: list[Fold], partial: Path) -> None:
    log_numbers(client, run, {}, training(folds, run.info.start_time))
    if folds[0].spec()["model"] != IMPORTED:
        log_models(client, run, folds, partial)


def _log_seeds(
    client: "MlflowClient", run: "Run", result: Result, data: dict[str, Any], partial: Path
) -> None:
    seeds = {folds[0].spec()[SEED]: folds for folds in result.folds}
    method, convention = result.method, result.convention
    log_numbers(
        client, run, {SEEDS: json.dumps([*seeds])}, over_seeds(method, convention, run.info.start_time)
    )
    for seed, folds in seeds.items():
        spec, own = folds[0].spec(), _seed_run(client, run, result, seed)
        client.log_inputs(own.info.run_id, datasets=[dataset_input(method.dataset, spec, data)])
        values = means(method, convention, own.info.start_time, seed)
        log_numbers(client, own, parameters(spec, convention, data), values)
        _log_training(client, own, folds, partial)
        client.set_terminated(own.info.run_id)


def _seed_run(client: "MlflowClient", above: "Run", result: Result, seed: int) -> "Run":
    tags = {
        "kind": "seed",
        "dataset": result.method.dataset,
        "seed": str(seed),
        "key": digest([result.key, seed]),
        PARENT: above.info.run_id,
    }
    return find_or_create(client, above.info.experiment_id, f"{result.method.name} seed {seed}", tags)
