"""The trials of one tuner: each configuration is trained on every fold, then evaluated on the validation part.

The test parts are not read, so their files may be missing. As in a training job, it is an error if the model opens
these files during training. Each finished trial is stored immediately, so that an interrupted job can continue.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.errors import GradrankError, require
from gradrank.base.validation import validate
from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.parts import write_part
from gradrank.bench.tuning.choices import JUDGED
from gradrank.bench.tuning.folders import check_made_with
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.training.fit import fit, job_seed, taken_as_is
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.score_checks import check_scores
from gradrank.training.selection import Criterion
from gradrank.training.spaces import configuration, count_configurations, members_parameter

if TYPE_CHECKING:
    import polars as pl

    from gradrank.data.pairs import StoredPairs
    from gradrank.data.preparation import Preparation

VALIDATION = {"ndcg@10": JUDGED, "map": "vali_map"}  # key: measure; value: column with its validation value
KEYS = ("fold", "trial")
SHOWN = 0.00005  # a smaller difference does not change a value with four decimals


@dataclass(frozen=True)
class Plan:
    """The trials of one tuner. Tuners are independent random searches of the same space.

    trials: number of configurations, including configuration 0. tuner: number of the tuner, from 1. among: names of the
    methods that a model combines, if it combines the scores of other models. Such a model has a single configuration.
    """

    trials: int
    tuner: int = 1
    among: tuple[str, ...] = ()


class TrialJob(NamedTuple):
    """The settings and data that all trials of a fold share.

    parts: the training and validation parts, with the keys `train` and `vali`. test_files: files of the test part,
    which must not be opened.
    """

    cls: type[Model]
    dataset: str
    fold: int
    seed: int
    plan: Plan
    parts: Mapping[str, Collection]
    test_files: Sequence[Path]


def tune(
    model: str,
    data: Path,
    plan: Plan,
    seed: int,
    out: Path,
    pairs: Path | None = None,
    code: str = "",
    convention: Convention = LETOR4,
    folds: Sequence[int] | None = None,
) -> "pl.DataFrame":
    """Try configurations of `model` on the folds of the stored collection `data`, and return the table of trials.

    The table is written to `out`. It has one row per fold and trial. It has the columns `dataset`, `model`, `fold`,
    `tuner` and `trial`, which identify the trial. `configuration` contains the drawn parameters and `params` all
    parameters, both as JSON. Further columns are the `seed` of the training, the validation values, the `error` of a
    failed trial, the processor time in `seconds`, and `made_with`, the inputs of the trials as JSON.

    If an earlier call was interrupted, its trials are in a file next to `out`. They are reused only if the data, the
    seed, the pairs, `plan.among`, `code` and the convention are unchanged.

    seed: the seed of the run. pairs: folder of the stored pairs. code: digest of the training code. convention: primary
    convention of the data set, under which the configurations are compared and the models are selected. folds: numbers
    of the folds; by default, all folds.

    Raises GradrankError if a fold does not exist, packages or members are missing, every configuration fails, or the
    file next to `out` is not ours.
    """
    cls, stored = get_model(model), StoredCollection.open(data)
    require(*cls.requires, extra=cls.extra, needed_by=model)
    if members_parameter(cls) and not plan.among:
        raise GradrankError(
            f"{model}: no members given; this model combines the scores of other methods. "
            "Fix: name them, as in `--among ranksvm,lambdamart`"
        )
    if stored.description.get("tests_overlap"):
        raise GradrankError(
            f"{data}: a contest needs folds with different test queries, but a query is in the test parts of several "
            "folds. Fix: divide the data into folds whose test parts do not overlap"
        )
    stored_pairs = stored.pairs(pairs) if pairs else None
    pair_settings = stored_pairs.specification if stored_pairs else {}
    inputs = {"source": stored.source_sha256, "seed": seed, "among": plan.among, "code": code, "pairs": pair_settings}
    store = TrialStore(out, json.dumps(inputs | {"convention": convention.name}))
    numbers = folds or range(1, len(stored.folds) + 1)
    count = count_configurations(cls, plan.trials)
    progress = Progress(f"{stored.name}/{model}/tuner{plan.tuner}", len(numbers) * count - len(store.rows))
    for fold in numbers:
        missing = [trial for trial in range(count) if (fold, trial) not in store.done]
        if missing:
            job = _job(cls, stored, fold, seed, plan, stored_pairs, convention)
            for trial in missing:
                progress(store.add(_trial(job, trial)))
    if all(row["error"] for row in store.rows):
        raise GradrankError(
            f"{model}: every configuration failed, the first with: {store.rows[0]['error']}. "
            "Fix: correct the data or the search space of the model"
        )
    return store.finish(numbers, count)


def _job(
    cls: type[Model],
    stored: StoredCollection,
    fold: int,
    seed: int,
    plan: Plan,
    pairs: "StoredPairs | None",
    convention: Convention,
) -> TrialJob:
    """Read the training and validation parts of a fold, and return the job of its trials."""
    splits, preparation = stored.fold(fold), stored.preparation(fold, taken_as_is(cls))
    parts = {
        split: replace(_read(stored, splits[split], split, cls, pairs, preparation), convention=convention)
        for split in ("train", "vali")
    }
    folders = [stored.path, *([pairs.path] if pairs else [])]
    files = [folder / f"part{part}.parquet" for folder in folders for part in splits["test"]]
    return TrialJob(cls, stored.name, fold, seed, plan, parts, [path for path in files if path.is_file()])


def _read(
    stored: StoredCollection,
    parts: Sequence[int],
    split: str,
    cls: type[Model],
    pairs: "StoredPairs | None",
    preparation: "Preparation",
) -> Collection:
    own_pairs = pairs if split == "train" and cls.needs_pairs else None
    collection = stored.read(parts, own_pairs, preparation, split == "train")
    collection.check(f"{stored.path}, {split} part", missing=cls.takes_missing)
    return collection


def _trial(job: TrialJob, trial: int) -> dict[str, Any]:
    """Train and evaluate one configuration, and return its row of the table of trials.

    A model that combines the scores of others has nothing to choose, so it is not trained here.
    """
    tuner = job.plan.tuner
    drawn = configuration(job.cls, job.seed, job.dataset, tuner, trial, job.plan.among)
    seed = job_seed(job.seed, job.dataset, f"{job.cls.name}/tuner{tuner}/trial{trial}", job.fold)
    row = {"dataset": job.dataset, "model": job.cls.name, "fold": job.fold, "tuner": tuner, "trial": trial}
    row |= {"configuration": json.dumps(drawn), "seed": seed, "error": None, "seconds": 0.0}
    started, faults = time.process_time(), []
    params = validate(job.cls.Params, drawn, "", faults)
    if params is None:
        return row | {"error": "; ".join(faults)}
    row["params"] = params.model_dump_json()
    if job.plan.among:
        return row
    # The guard raises an error when the test part is opened. It raises the error again at the end of the block, in case
    # the model caught it.
    with guard_test_part(job.test_files, job.cls.name):
        values, scores = _fit(job, params, seed)
    row |= values | {"seconds": round(time.process_time() - started, 3)}
    if scores is not None and (note := _tie_note(job.parts["vali"], scores, row[JUDGED])):
        print(f"{job.dataset}/{job.cls.name}, fold {job.fold}, trial {trial}: {note}", file=sys.stderr, flush=True)
    return row


def _fit(job: TrialJob, params: Any, seed: int) -> tuple[dict[str, Any], np.ndarray | None]:
    """Train one configuration. Return the validation values and scores, or the error message and None."""
    vali = job.parts["vali"]
    try:
        fitted = fit(job.cls, job.parts["train"], vali, params, seed, silent)
        scores = check_scores(fitted.score(vali.features, vali.offsets), vali.rows, "scores of the validation part")
    except (MemoryError, OSError):  # a fault of the machine, not of the configuration
        raise
    except Exception as error:
        kind = "" if isinstance(error, GradrankError) else f"{type(error).__name__}: "
        return {"error": f"{kind}{str(error).partition(chr(10))[0]}"}, None
    return {column: validation(name, vali, scores) for name, column in VALIDATION.items()}, scores


def _tie_note(vali: Collection, scores: np.ndarray, value: float) -> str | None:
    """Return a sentence if equal scores change the value under a convention that compares them in file order."""
    expected = validation("ndcg@10", replace(vali, convention=vali.convention.in_expectation()), scores)
    if abs(value - expected) < SHOWN:
        return None
    return f"equal scores are in the order of the file; in expectation, validation NDCG@10 is {expected:.4f}"


def validation(measure: str, vali: Collection, scores: np.ndarray) -> float:
    """Return the mean of a measure over the validation queries, as in `Criterion.mean_for_tuning`."""
    return Criterion(measure, vali.labels, vali.offsets, vali.convention).mean_for_tuning(scores)


def silent(step: int, **values: float) -> None:
    """Do nothing. This is the callback of trainings whose steps are not reported."""


class TrialStore:
    """The rows of the trials of one tuner, which are stored in a file next to `out` until all trials are finished.

    made_with: the inputs as JSON. Stored rows with different inputs are not used.
    """

    def __init__(self, out: Path, made_with: str) -> None:
        import polars as pl

        self.out, self.made_with = out, made_with
        self.path = out.with_name(f"{out.stem}.unfinished.parquet")
        check_made_with(self.path)
        stored = pl.read_parquet(self.path).filter(made_with=made_with).to_dicts() if self.path.is_file() else []
        self.rows: list[dict[str, Any]] = stored
        self.done = {(row["fold"], row["trial"]) for row in stored}

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        """Store a row and return it."""
        self.rows.append(row | {"made_with": self.made_with})
        write_part(self.frame(), self.path)
        return row

    def frame(self) -> "pl.DataFrame":
        import polars as pl

        whole, text, number = pl.Int64, pl.String, pl.Float64
        schema = {"dataset": text, "model": text, "fold": whole, "tuner": whole, "trial": whole}
        schema |= {"configuration": text, "params": text, "seed": whole}
        schema |= dict.fromkeys(VALIDATION.values(), number) | {"error": text, "seconds": number, "made_with": text}
        return pl.DataFrame(self.rows, schema=schema).sort(KEYS)

    def finish(self, folds: Sequence[int], count: int) -> "pl.DataFrame":
        """Write `out` with the trials 0 to `count` - 1 of the given folds, and return its table."""
        import polars as pl

        table = self.frame().filter(pl.col("fold").is_in(list(folds)), pl.col("trial") < count)
        write_part(table, self.out)
        self.path.unlink(missing_ok=True)
        return table


class Progress:
    """The progress of a job, printed to stderr: one line per trial with the result and the estimated remaining time."""

    def __init__(self, job: str, left: int) -> None:
        self.job, self.left, self.done, self.started = job, left, 0, time.monotonic()

    def __call__(self, row: Mapping[str, Any]) -> None:
        self.done += 1
        rest = (time.monotonic() - self.started) / self.done * (self.left - self.done)
        value = row.get(JUDGED)
        result = row["error"] or ("not evaluated" if value is None else f"validation NDCG@10 {value:.4f}")
        print(
            f"{self.job}, fold {row['fold']}, trial {row['trial']}: {result}, {row['seconds']:.1f} s; "
            f"{self.left - self.done} left, about {rest / 60:.1f} min",
            file=sys.stderr,
            flush=True,
        )
