"""The trials of one model on one fold: each configuration is trained, then evaluated on the validation part.

The test part is not read, so its files may be missing. As in a training job, it is an error if the model opens these
files during training. Each finished trial is stored immediately, so that an interrupted job can continue.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.base.files import atomic
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.training.fit import fit
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.score_checks import check_scores
from gradrank.training.seeds import job_seed
from gradrank.training.selection import Criterion
from gradrank.training.test_part_guard import guard_test_part
from gradrank.tuning.folders import TunedFold
from gradrank.tuning.member_scores import MemberScores
from gradrank.tuning.selection import JUDGED
from gradrank.tuning.spaces import configuration, count_configurations, members_parameter

if TYPE_CHECKING:
    import polars as pl

    from gradrank.data.normalisation import Normaliser
    from gradrank.data.pairs import StoredPairs

VALIDATION = {"ndcg@10": JUDGED, "map": "vali_map"}  # key: measure; value: column with its validation value
KEYS = ("tuner", "trial")


@dataclass(frozen=True)
class Plan:
    """The number of trials of each tuner. Tuners are independent random searches of the same space.

    trials: number of configurations per tuner, including configuration 0. tuners: number of tuners. among: names of the
    methods that a model can combine, if it combines the scores of other models.
    """

    trials: int
    tuners: int = 1
    among: tuple[str, ...] = ()

    def numbers(self, cls: type[Model]) -> list[tuple[int, int]]:
        """Return the number of the tuner and the number of the trial for every configuration."""
        count = count_configurations(cls, self.trials)
        return [(tuner, trial) for tuner in range(1, self.tuners + 1) for trial in range(count)]


class TrialJob(NamedTuple):
    """The settings and data that all trials of a fold share.

    parts: the training and validation parts, with the keys `train` and `vali`. members: the scores of other models, if
    the model combines them. test_files: files of the test part, which must not be opened. out: the output folder.
    """

    cls: type[Model]
    dataset: str
    fold: int
    seed: int
    plan: Plan
    parts: Mapping[str, Collection]
    members: MemberScores | None
    test_files: Sequence[Path]
    out: TunedFold


def tune(
    model: str,
    data: Path,
    fold: int,
    plan: Plan,
    seed: int,
    out: TunedFold,
    pairs: Path | None = None,
    code: str = "",
    convention: Convention = LETOR4,
) -> "pl.DataFrame":
    """Try configurations of `model` on fold `fold` of the stored collection `data`, and return the table of trials.

    models/, seconds.parquet and, last, trials.parquet are written to `out`. trials.parquet is the returned table and
    has one row per trial. It has the columns `dataset`, `model`, `fold`, `tuner` and `trial`, which identify the trial.
    `configuration` contains the drawn parameters and `params` all parameters, both as JSON. Further columns are the
    `seed` of the training, the validation values, and the `error` of a failed trial.

    If an earlier call was interrupted, its trials are reused only if the data, the seed, the pairs, `plan.among`,
    `code` and the convention are unchanged.

    seed: the seed of the run. pairs: folder of the stored pairs. code: digest of the training code. convention: primary
    convention of the data set, under which the configurations are compared and the models are selected.

    Raises GradrankError if the fold does not exist, packages or members are missing, or every configuration fails.
    """
    cls, stored = get_model(model), StoredCollection.open(data)
    require(*cls.requires, extra=cls.extra, needed_by=model)
    if members_parameter(cls) and not plan.among:
        raise GradrankError(
            f"{model}: no members given; this model combines the scores of methods that are tuned in "
            f"{out.beside('<method>').folder}. Fix: name them, as in `--among ranksvm,lambdamart`"
        )
    if stored.description.get("tests_overlap"):
        raise GradrankError(
            f"{data}: a contest needs folds with different test queries, but a query is in the test parts of several "
            "folds. Fix: divide the data into folds whose test parts do not overlap"
        )
    splits = stored.fold(fold)
    stored_pairs = stored.pairs(pairs) if pairs else None
    normaliser = stored.normaliser(fold)
    parts = {
        split: replace(_read(stored, splits[split], split, cls, stored_pairs, normaliser), convention=convention)
        for split in ("train", "vali")
    }
    members = MemberScores(out, plan.among, parts) if plan.among else None
    test_files = [folder / f"part{part}.parquet" for folder in (data, pairs) if folder for part in splits["test"]]
    tested = [path for path in test_files if path.is_file()]
    job = TrialJob(cls, stored.name, fold, seed, plan, parts, members, tested, out)
    pair_settings = stored_pairs.specification if stored_pairs else {}
    made_with = json.dumps([model, stored.source_sha256, fold, seed, plan.among, code, pair_settings, convention.name])
    rows = list(_trials(job, made_with))
    if all(row["error"] for row in rows):
        raise GradrankError(
            f"{model}: every configuration failed, the first with: {rows[0]['error']}. "
            "Fix: correct the data or the search space of the model"
        )
    return _finish(job, rows)


def _read(
    stored: StoredCollection,
    parts: Sequence[int],
    split: str,
    cls: type[Model],
    pairs: "StoredPairs | None",
    normaliser: "Normaliser | None",
) -> Collection:
    collection = stored.read(parts, pairs if split == "train" and cls.needs_pairs else None, normaliser)
    collection.check(f"{stored.path}, {split} part", missing=cls.takes_missing)
    return collection


def _trials(job: TrialJob, made_with: str) -> Iterator[dict[str, Any]]:
    """Yield one row per trial, beginning with the trials of an interrupted job.

    Each row is stored before it is yielded. made_with: the inputs as JSON; stored trials with different inputs are not
    used.
    """
    import polars as pl

    path, planned = job.out.unfinished_trials_path, job.plan.numbers(job.cls)
    stored = pl.read_parquet(path).filter(made_with=made_with).to_dicts() if path.is_file() else []
    rows = [row for row in stored if tuple(row[key] for key in KEYS) in planned]
    if not rows:
        shutil.rmtree(job.out.folder / "models", ignore_errors=True)
    yield from rows
    done = {tuple(row[key] for key in KEYS) for row in rows}
    progress = Progress(job, len(planned) - len(done))
    for tuner, trial in planned:
        if (tuner, trial) in done:
            continue
        row = _trial(job, tuner, trial)
        rows.append(row | {"made_with": made_with})
        with atomic(path) as partial:
            _frame(rows).write_parquet(partial)
        progress(row)
        yield rows[-1]


def _trial(job: TrialJob, tuner: int, trial: int) -> dict[str, Any]:
    """Train and evaluate one configuration, and return its row of the table of trials."""
    drawn = configuration(job.cls, job.seed, job.dataset, tuner, trial, job.plan.among)
    seed = job_seed(job.seed, job.dataset, f"{job.cls.name}/tuner{tuner}/trial{trial}", job.fold)
    row = {"dataset": job.dataset, "model": job.cls.name, "fold": job.fold, "tuner": tuner, "trial": trial}
    row |= {"configuration": json.dumps(drawn), "seed": seed, "error": None}
    started, faults = time.process_time(), []
    params = validate(job.cls.Params, drawn, "", faults)
    if params is None:
        return row | {"error": "; ".join(faults), "seconds": 0.0}
    row["params"] = params.model_dump_json()
    parts = job.members.parts(tuner, job.cls.members(params)) if job.members else job.parts
    # The guard raises an error when the test part is opened. It raises the error again at the end of the block, in case
    # the model caught it.
    with guard_test_part(job.test_files, job.cls.name):
        row |= _fit(job, parts, params, seed, job.out.model_path(tuner, trial))
    return row | {"seconds": round(time.process_time() - started, 3)}


def _fit(job: TrialJob, parts: Mapping[str, Collection], params: Any, seed: int, folder: Path) -> dict[str, Any]:
    """Train one configuration and save the model to `folder`. Return the validation values, or the error message."""
    vali = parts["vali"]
    try:
        fitted = fit(job.cls, parts["train"], vali, params, seed, _silent)
        scores = check_scores(fitted.score(vali.features, vali.offsets), vali.rows, "scores of the validation part")
    except (MemoryError, OSError):  # a fault of the machine, not of the configuration
        raise
    except Exception as error:
        kind = "" if isinstance(error, GradrankError) else f"{type(error).__name__}: "
        return {"error": f"{kind}{str(error).partition(chr(10))[0]}"}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fitted.save(folder)
    return {column: validation(name, vali, scores) for name, column in VALIDATION.items()}


def validation(measure: str, vali: Collection, scores: np.ndarray) -> float:
    """Return the mean of a measure over the validation queries, as in `Criterion.mean_for_tuning`."""
    return Criterion(measure, vali.labels, vali.offsets, vali.convention).mean_for_tuning(scores)


def _silent(step: int, **values: float) -> None:
    """Do nothing. This is the callback of the trials, whose training steps are not reported."""


def _frame(rows: Sequence[Mapping[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    whole, text, number = pl.Int64, pl.String, pl.Float64
    schema = {"dataset": text, "model": text, "fold": whole, "tuner": whole, "trial": whole}
    schema |= {"configuration": text, "params": text, "seed": whole}
    schema |= dict.fromkeys(VALIDATION.values(), number) | {"error": text, "seconds": number, "made_with": text}
    return pl.DataFrame(rows, schema=schema)


def _finish(job: TrialJob, rows: Sequence[Mapping[str, Any]]) -> "pl.DataFrame":
    """Write trials.parquet and seconds.parquet, and return the table of trials.

    The times are in a separate file, because they differ between runs with the same results.
    """
    frame = _frame(rows).sort(KEYS)
    trials = frame.drop("seconds", "made_with")
    for table, path in ((frame.select(*KEYS, "seconds"), job.out.seconds_path), (trials, job.out.trials_path)):
        with atomic(path) as partial:
            table.write_parquet(partial)
    job.out.unfinished_trials_path.unlink(missing_ok=True)
    return trials


class Progress:
    """The progress of a job, printed to stderr: one line per trial with the result and the estimated remaining time."""

    def __init__(self, job: TrialJob, left: int) -> None:
        self.job = f"{job.dataset}/{job.cls.name}/fold{job.fold}"
        self.left, self.done, self.started = left, 0, time.monotonic()

    def __call__(self, row: Mapping[str, Any]) -> None:
        self.done += 1
        rest = (time.monotonic() - self.started) / self.done * (self.left - self.done)
        result = row["error"] or f"validation NDCG@10 {row[JUDGED]:.4f}"
        print(
            f"{self.job}: tuner {row['tuner']}, trial {row['trial']}: {result}, {row['seconds']:.1f} s; "
            f"{self.left - self.done} left, about {rest / 60:.1f} min",
            file=sys.stderr,
            flush=True,
        )
