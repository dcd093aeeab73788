"""The paper's methods on a real collection, trained with several seeds: NDCG@15 of each query, and the epochs kept.

The first seed's training is the run's own, whose scores lie in results/; the further ones, and those on fewer training
queries, are the study's jobs. A job sees the test part as a training job does: after the fit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.metrics import compute
from gradrank.evaluation.per_query import QueryValues
from gradrank.studies.common.study import Inputs
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model
from gradrank.training.seeds import job_seed
from gradrank.training.test_part_guard import guard_test_part

METRIC, CONVENTION = "ndcg@15", "standard"  # section 6: 2^r - 1 over log(1 + j), cut at 15
SPLITS = ("train", "vali", "test")
DIGITS = 6  # of a query's value in a job's file

Step = Mapping[str, float]  # what a model reports of an epoch


@dataclass(frozen=True)
class Training:
    """One training of a method on every fold.

    values: METRIC of the queries by split. kept: of each fold the step that was kept, `epoch` among what it says, and
    `epochs`, how many there were.
    """

    values: Mapping[str, QueryValues]
    kept: Sequence[Step]

    def mean(self, split: str) -> float:
        """The mean over folds."""
        return self.values[split].mean(METRIC)


def train_again(told: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """What a job finds: what it was told, and fold by fold `kept` and each split's values; seed: the run's."""
    cls, stored = get_model(told["model"]), StoredCollection.open(data / told["dataset"])
    params = cls.Params(**told["params"])
    named = f"{told['dataset']}/seed{told['seed']}"
    folds = []
    for number, parts in enumerate(stored.folds, start=1):
        drawn = job_seed(seed, f"{named}/queries", str(told["queries"]), number)
        own = job_seed(seed, named, cls.name, number)
        folds.append(_train_fold(cls, params, stored, parts, own, told["queries"], drawn))
    return {key: told[key] for key in ("dataset", "method", "seed", "queries")} | {"folds": folds}


def _train_fold(
    cls: type[Model],
    params: ModelParams,
    stored: StoredCollection,
    parts: Mapping[str, Sequence[int]],
    seed: int,
    queries: int | None,
    drawn: int,
) -> dict[str, Any]:
    history: list[Step] = []

    def told_of(step: int, **values: float) -> None:
        history.append(values)

    with guard_test_part([stored.part_file(part) for part in parts["test"]], cls.name):
        read = {split: stored.read(parts[split]) for split in ("train", "vali")}
        if queries is not None:
            read["train"] = some_queries(read["train"], queries, drawn)
        fitted = cls.fit(read["train"], read["vali"], params, seed, told_of)
    read["test"] = stored.read(parts["test"])
    found: dict[str, Any] = {"kept": kept_step(history, params.select_by), "documents": read["train"].rows}
    for split, part in read.items():
        scores = fitted.score(part.features, part.offsets)
        values = compute([METRIC], scores, part.labels, part.offsets, CONVENTION)[METRIC]
        found[split] = {"qids": part.qids.tolist(), "values": np.round(values, DIGITS).tolist()}
    return found


def some_queries(part: Collection, count: int, seed: int) -> Collection:
    """`count` of the part's queries, drawn at random, in the part's order; all where there are no more."""
    chosen = np.zeros(part.queries, bool)
    chosen[np.random.default_rng(seed).permutation(part.queries)[:count]] = True
    return part.select_queries(chosen)


def kept_step(history: Sequence[Step], select_by: str) -> dict[str, float]:
    """The first of the steps with the best `select_by` on validation; with `epoch`, and how many `epochs` there were.

    A model of several steps an epoch reports `epoch` itself.
    """
    values = [step[f"vali_{select_by}"] for step in history]
    epochs = [step.get("epoch", number) for number, step in enumerate(history, start=1)]
    best = int(np.argmax(values))
    return {**history[best], "epoch": int(epochs[best]), "epochs": int(max(epochs))}


def trainings(inputs: Inputs, dataset: str) -> dict[str, list[Training]]:
    """Each variant's trainings on all queries, by seed."""
    found = {method: [_of_the_run(inputs, dataset, method)] for method in inputs.models}
    for job in jobs_on(inputs, dataset):
        if job["queries"] is None and job["method"] in found and job["seed"] <= inputs.settings["seeds"]:
            found[job["method"]].append(of_job(job))
    return found


def jobs_on(inputs: Inputs, dataset: str) -> list[dict[str, Any]]:
    """What the jobs on a data set found, by seed."""
    return sorted((job for job in inputs.jobs() if job.get("dataset") == dataset), key=lambda job: job["seed"])


def of_job(job: Mapping[str, Any]) -> Training:
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


def _of_the_run(inputs: Inputs, dataset: str, method: str) -> Training:
    values = {split: inputs.measure(dataset, method, [METRIC], CONVENTION, split) for split in SPLITS}
    select_by = inputs.params(dataset, method)["select_by"]
    histories = (fold.history() for fold in inputs.method(dataset, method).folds())
    return Training(values, [kept_step(history.to_dicts(), select_by) for history in histories])


def over_seeds(trained: Iterable[Training], split: str) -> QueryValues:
    """Each query's mean over the trainings."""
    own = [training.values[split] for training in trained]
    mean = np.mean([values.values[METRIC] for values in own], axis=0)
    return QueryValues(own[0].folds, own[0].qids, {METRIC: mean})
