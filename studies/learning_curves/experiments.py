"""The jobs of the study: one method is trained on every draw of one number of training queries, on all folds.

The first n queries of one random order of the training queries are a draw. The order depends only on the fold and the
number of the draw. All methods therefore have the same draws, and a smaller draw is part of a larger one. The
validation part is reduced to a third of the training queries, which is the ratio of the folds of LETOR.

Nets that are trained on few queries get smaller batches. Otherwise, they would take one or two steps per epoch.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.training.fit import fit, job_seed, taken_as_is
from gradrank.training.model import ModelParams
from gradrank.training.registry import get_model

METRIC = "ndcg@10"
UNIT = 10_000  # the file of a job has values in ten-thousandths, so that it is small
VALIDATION_SHARE = 3  # training queries per validation query
STEPS = 20  # per epoch at least; on MQ2007 as with the default of 50 queries per batch


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one job, and return NDCG@10 of the test queries per fold and draw, in units of 1 / UNIT.

    `folds` has one dict per fold, with the query ids (`qids`) and one list of values per draw (`values`). A query
    without a value has None. The list is empty if a fold has no more training queries than `settings["queries"]`.
    `seconds` is the mean processor time of a training. settings: one of the values that `training_jobs` returns. seed:
    the seed of the draws.
    """
    cls, stored = get_model(settings["model"]), StoredCollection.open(data / settings["dataset"])
    params, size = cls.Params(**settings["params"]), settings["queries"]
    convention = resolve(settings["convention"])
    pairs = stored.pairs(data.parent / "pairs" / settings["dataset"]) if settings["pairs"] else None
    draws = settings["draws"] if size or cls.uses_seed(params) else 1
    about = {key: settings[key] for key in ("dataset", "method", "queries")}
    folds, counts, seconds = [], [], []
    for number, parts in enumerate(stored.folds, start=1):
        preparation, values = stored.preparation(number, taken_as_is(cls)), []
        train, vali, test = (
            replace(
                stored.read(parts[split], pairs if split == "train" else None, preparation, split == "train"),
                convention=convention,
            )
            for split in ("train", "vali", "test")
        )
        judged = read_judgements(stored, parts["test"])
        counts.append(train.queries)
        if size and size >= train.queries:
            return about | {"folds": [], "training_queries": counts, "seconds": 0.0}
        for draw in range(1, draws + 1):
            own = (
                (train, vali)
                if size is None
                else reduced(train, vali, size, job_seed(seed, stored.name, f"draw{draw}", number))
            )
            started = time.process_time()
            with guard_test_part([stored.part_file(part) for part in parts["test"]], cls.name):
                training_seed = job_seed(settings["seed"], stored.name, f"{settings['method']}/draw{draw}", number)
                fitted = fit(cls, *own, with_steps(params, own[0].queries), training_seed, lambda step, **values: None)
            seconds.append(time.process_time() - started)
            scores = fitted.score(test.features, test.offsets)
            found = compute([METRIC], scores, judged.labels, judged.offsets, convention, ids=judged.docids)[METRIC]
            values.append([None if np.isnan(value) else round(float(value) * UNIT) for value in found])
        folds.append({"qids": judged.ids.tolist(), "values": values})
    return about | {"folds": folds, "training_queries": counts, "seconds": round(float(np.mean(seconds)), 3)}


def with_steps(params: ModelParams, queries: int) -> ModelParams:
    """Return `params` with at most a twentieth of the training queries per batch; unchanged for models without batches.

    queries: number of training queries.
    """
    batch = getattr(params, "batch_queries", None)
    return params if batch is None else params.model_copy(update={"batch_queries": min(batch, -(-queries // STEPS))})


def reduced(train: Collection, vali: Collection, size: int, seed: int) -> tuple[Collection, Collection]:
    """Return `size` training queries and a third as many validation queries. A larger size contains a smaller one."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(part.queries) for part in (train, vali)]
    counts = size, -(-size // VALIDATION_SHARE)
    chosen = [np.isin(np.arange(len(order)), order[:count]) for order, count in zip(orders, counts, strict=True)]
    return train.select_queries(chosen[0]), vali.select_queries(chosen[1])
