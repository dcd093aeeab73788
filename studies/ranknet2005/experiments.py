"""The jobs of the study: experiments on one random target, or one additional training of a method in Table 4.

The values of the methods in Table 4 are NDCG@15 per query. The training with the first seed is that of the workflow,
and its scores are in results/. The jobs of the study run the trainings with the other seeds, and the trainings on fewer
queries. Like every training job, each job reads the test part only after the model is fitted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.studies.study import Inputs
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.training.fit import job_seed
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model
from studies.ranknet2005.artificial import run_experiments

METRIC, CONVENTION = "ndcg@15", "standard"  # section 6: gain 2^r - 1, discount 1 / log(1 + j), cutoff 15
SPLITS = ("train", "vali", "test")
DIGITS = 6  # decimal places of the values in the file of a job

Step = Mapping[str, float]  # the values that a model reports for one epoch


@dataclass(frozen=True)
class Training:
    """One training of a method on every fold.

    values: NDCG@15 of the queries; the key is the split. kept: the selected step of each fold, as a dict of the values
    that the model reported, the number of the step's epoch (`epoch`) and the number of trained epochs (`epochs`).
    """

    values: Mapping[str, QueryValues]
    kept: Sequence[Step]

    def mean(self, split: str) -> float:
        """Return the mean of METRIC over folds."""
        return self.values[split].mean(METRIC)


def train_again(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one job: train a method on every fold.

    Returns the selected step and the per-query values of each split, for every fold. settings: data set, method, model,
    parameters, seed of the job, and number of training queries or None. seed: the seed of the workflow.
    """
    cls, stored = get_model(settings["model"]), StoredCollection.open(data / settings["dataset"])
    params = cls.Params(**settings["params"])
    named = f"{settings['dataset']}/seed{settings['seed']}"
    folds = []
    for number, parts in enumerate(stored.folds, start=1):
        query_seed = job_seed(seed, f"{named}/queries", str(settings["queries"]), number)
        training_seed = job_seed(seed, named, cls.name, number)
        folds.append(_train_fold(cls, params, stored, parts, training_seed, settings["queries"], query_seed))
    return {key: settings[key] for key in ("dataset", "method", "seed", "queries")} | {"folds": folds}


def _train_fold(
    cls: type[Model],
    params: ModelParams,
    stored: StoredCollection,
    parts: Mapping[str, Sequence[int]],
    seed: int,
    queries: int | None,
    query_seed: int,
) -> dict[str, Any]:
    history: list[Step] = []

    def record_step(step: int, **values: float) -> None:
        history.append(values)

    with guard_test_part([stored.part_file(part) for part in parts["test"]], cls.name):
        read = {split: stored.read(parts[split]) for split in ("train", "vali")}
        if queries is not None:
            read["train"] = some_queries(read["train"], queries, query_seed)
        fitted = cls.fit(read["train"], read["vali"], params, seed, record_step)
    read["test"] = stored.read(parts["test"])
    result: dict[str, Any] = {
        "kept": kept_step(history, params.model_dump()["select_by"]),
        "documents": read["train"].rows,
    }
    for split, part in read.items():
        scores = fitted.score(part.features, part.offsets)
        values = compute([METRIC], scores, part.labels, part.offsets, CONVENTION)[METRIC]
        result[split] = {"qids": part.qids.tolist(), "values": np.round(values, DIGITS).tolist()}
    return result


def some_queries(part: Collection, count: int, seed: int) -> Collection:
    """Return a random sample of `count` queries in their original order, or all queries if there are fewer."""
    chosen = np.zeros(part.queries, bool)
    chosen[np.random.default_rng(seed).permutation(part.queries)[:count]] = True
    return part.select_queries(chosen)


def kept_step(history: Sequence[Step], select_by: str) -> dict[str, float]:
    """Return the first step with the best validation value of `select_by`.

    The result also has the number of the step's epoch (`epoch`) and the number of trained epochs (`epochs`). A model
    with several steps per epoch reports `epoch` in each step. For other models, the number of the step is the number of
    the epoch.
    """
    values = [step[f"vali_{select_by}"] for step in history]
    epochs = [step.get("epoch", number) for number, step in enumerate(history, start=1)]
    best = int(np.argmax(values))
    return {**history[best], "epoch": int(epochs[best]), "epochs": int(max(epochs))}


def trainings(inputs: Inputs, dataset: str) -> dict[str, list[Training]]:
    """Return the trainings on all queries for each variant, in ascending order of the seed."""
    trainings_of = {method: [_training_of_workflow(inputs, dataset, method)] for method in inputs.models}
    for job in jobs_on(inputs, dataset):
        if job["queries"] is None and job["method"] in trainings_of and job["seed"] <= inputs.settings["seeds"]:
            trainings_of[job["method"]].append(training_of_job(job))
    return trainings_of


def jobs_on(inputs: Inputs, dataset: str) -> list[dict[str, Any]]:
    """Return the results of the training jobs on a data set, in ascending order of the seed."""
    return sorted((job for job in inputs.jobs() if job.get("dataset") == dataset), key=lambda job: job["seed"])


def training_of_job(job: Mapping[str, Any]) -> Training:
    """Build a Training from the result of a job."""
    numbered = list(enumerate(job["folds"], start=1))
    values = {
        split: QueryValues(
            np.concatenate([np.full(len(fold[split]["qids"]), number) for number, fold in numbered]),
            np.concatenate([fold[split]["qids"] for _, fold in numbered]),
            {METRIC: np.concatenate([fold[split]["values"] for _, fold in numbered])},
        )
        for split in SPLITS
    }
    return Training(values, [fold["kept"] for _, fold in numbered])


def _training_of_workflow(inputs: Inputs, dataset: str, method: str) -> Training:
    """Build a Training from the scores and training histories that the workflow has stored."""
    values = {split: inputs.measure(dataset, method, [METRIC], CONVENTION, split) for split in SPLITS}
    select_by = inputs.params(dataset, method)["select_by"]
    histories = (fold.history() for fold in inputs.method(dataset, method).folds())
    return Training(values, [kept_step(history.to_dicts(), select_by) for history in histories])


def over_seeds(trained: Iterable[Training], split: str) -> QueryValues:
    """Return the per-query values of a split, averaged over the trainings."""
    per_seed = [training.values[split] for training in trained]
    mean = np.mean([values.values[METRIC] for values in per_seed], axis=0)
    return QueryValues(per_seed[0].folds, per_seed[0].qids, {METRIC: mean})


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one of the study's jobs and return its result. settings: one of the values that `jobs` returns."""
    if "target" in settings:
        return run_experiments(settings, seed)
    return train_again(settings, data, seed)
