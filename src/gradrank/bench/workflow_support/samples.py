"""Samples of the trainings whose code changed since they were recorded, and commands that compute them again.

Each command runs in a process of its own. Its expected time follows from the trials of tuned studies that are in git. A
fold that was trained again is compared with the record of its data set and with the values per query in git.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.bench.config.code_digest import PACKAGE
from gradrank.bench.folds.evaluate import evaluate_part, resolve_conventions
from gradrank.bench.folds.per_query import COMPACT, DECIMALS, SEED
from gradrank.bench.parts import TRIALS, Parts
from gradrank.bench.provenance.record_checks import TRAIN, Record
from gradrank.bench.provenance.records import scores_digest
from gradrank.bench.results import METHODS, NumberedFold, Results
from gradrank.bench.workflow_support.plan import Plan
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check. ok: True if equal, False if different or not computed, None if not comparable."""

    ok: bool | None
    text: str


class Confirmation(NamedTuple):
    """A changed code digest that a sample confirms.

    record: name of the record. key: key of the code digest. sample, compared: as in `rechecked` of a record.
    """

    record: str
    key: str
    sample: str
    compared: str


class Training(NamedTuple):
    """A training of a method on one fold of a data set, with one seed."""

    dataset: str
    method: str
    fold: int
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.method}, fold {self.fold}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Sample:
    """The trainings that are to confirm a changed code digest.

    key: the key of the code digest, such as `train lambdamart`. was: the recorded digest. records: the records with
    this digest. trainings: empty if no record of a data set has values of the method.
    """

    key: str
    was: str
    records: tuple[Record, ...]
    trainings: tuple[Training, ...]

    @property
    def method(self) -> str:
        return self.key.removeprefix(f"{TRAIN} ")


def changed_digests(records: Iterable[Record], current: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, list]]:
    """Return, for each key, the recorded digests that differ from the current one, each with its records.

    current: the current digests per record. Keys that only one of the two has are left out: a training cannot confirm
    them.
    """
    changed: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        for key, was in record.code().items():
            if was != current[record.name].get(key, was):
                changed.setdefault(key, {}).setdefault(was, []).append(record)
    return changed


def training_samples(
    plan: Plan, changed: Mapping[str, Mapping[str, list[Record]]], count: int, seed: int, only: Iterable[str]
) -> Iterator[Sample]:
    """Yield a sample of at most `count` trainings for each changed digest of a training code.

    seed: seed of the sample. only: the data sets from which the sample is drawn; if empty, all.
    """
    for key, by_digest in changed.items():
        if not key.startswith(f"{TRAIN} "):
            continue
        method = key.removeprefix(f"{TRAIN} ")
        # Methods that combine the same members get the same folds, so that the members are trained once for all.
        label = ",".join(plan.members(method)) or method
        for was, records in by_digest.items():
            population = [training for record in records for training in recorded_trainings(plan, record, method)]
            population = [each for each in population if not only or each.dataset in only]
            yield Sample(key, was, tuple(records), tuple(drawn(population, count, seed, label)))


def recorded_trainings(plan: Plan, record: Record, method: str) -> Iterator[Training]:
    """Yield the trainings of a method with values in the record of a data set, or in the files that it covers."""
    if record.is_study or record.name not in plan.datasets:
        return
    has_values = method in record.content["methods"] or "folds" in record.methods[method]
    if has_values and not plan.settings.imported(method):
        for fold in plan.folds(record.name):
            yield from (Training(record.name, method, fold, seed) for seed in plan.seeds_of(method, record.name))


def drawn(population: Iterable[Training], count: int, seed: int, label: str) -> list[Training]:
    """Return at most `count` trainings. The order of the draw depends on `seed`, `label`, data set, fold and seed."""

    def position(training: Training) -> str:
        text = f"{seed} {label} {training.dataset} {training.fold} {training.seed}"
        return hashlib.sha256(text.encode()).hexdigest()

    return sorted(set(population), key=position)[:count]


def run_command(
    arguments: Sequence[str], folder: Path, log: Path, source: Path = PACKAGE.parent, limit: int | None = None
) -> bool:
    """Run a command of gradrank in `folder`, write its output to `log`, and return whether it succeeded.

    source: the folder that contains the package, which may be that of another commit. limit: processor time in seconds,
    after which the command is ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "gradrank", *arguments]
    if limit is not None:
        command = ["bash", "-c", f'ulimit -t {limit}; exec "$@"', "bash", *command]
    with log.open("w") as stream:
        return (
            subprocess.run(command, cwd=folder, env=with_source(source), stdout=stream, stderr=stream).returncode == 0
        )


def with_source(source: Path) -> dict[str, str]:
    """Return the environment of a process that imports the package from the folder `source`."""
    return os.environ | {"PYTHONPATH": str(source)}


GUESS = 20.0  # seconds per training if there are no trials
START = 5.0  # seconds per job for imports, reading, scoring and writing, which a trial does not repeat


class TrainingTimes:
    """The mean processor time of a training, by model and data set."""

    def __init__(self, root: Results) -> None:
        columns = ["dataset", "model", "seconds"]
        tables = [Parts(study.folder, TRIALS).whole() for study in root.studies().values()]
        found = [table.select(columns) for table in tables if table is not None]
        trials = pl.concat(found) if found else None
        self.source = "from the times of the trials in git" if found else f"{GUESS:.0f} s per training, a guess"
        self.means: dict[tuple[str, ...], float] = {}
        if trials is not None:
            for keys in (["model", "dataset"], ["model"], ["dataset"]):
                rows = trials.group_by(keys).agg(pl.col("seconds").mean()).rows()
                self.means |= {tuple(row[:-1]): row[-1] for row in rows}

    def of(self, model: str, dataset: str) -> float:
        """Return the expected seconds of a job: START, and the mean of the model, preferably on the same data set."""
        known = (self.means.get(key) for key in ((model, dataset), (model,), (dataset,)))
        return START + next((seconds for seconds in known if seconds is not None), GUESS)


UNKNOWN = "-"  # in `folds` of a record: a fold without a digest


class Comparison(NamedTuple):
    """The outcome of a comparison.

    text: the outcome in words. what: what was compared. values: what was compared of the values per query, if they are
    equal. digest: the digest of the new scores.
    """

    ok: bool
    text: str
    what: str = ""
    values: str = ""
    digest: str = ""


def compare(record: Record, training: Training, project: Path, folder: str) -> Comparison:
    """Compare a fold in a project's folder with the digest of its scores in the record, and with its values per query.

    The values per query are compared under every convention of queries.parquet.
    """
    fold = NumberedFold(project / folder)
    if not fold.finished:
        log = folder.removeprefix("results/").replace(f"/{METHODS}/", "/")
        return Comparison(False, f"not trained; see {project}/logs/train/{log}.log")
    digest, recorded = scores_digest(fold), _recorded_digest(record, training)
    outcomes = {} if recorded is None else {"scores": recorded == digest}
    committed = _committed_values(record, training)
    if committed is not None:
        conventions = committed["convention"].unique(maintain_order=True).to_list()
        metrics = [metric for metric in COMPACT if metric in committed.columns]
        values = f"values per query ({', '.join(metrics)} under {len(conventions)} conventions)"
        computed = _computed_values(project, fold, training, conventions, metrics)
        outcomes[values] = _are_equal(committed, computed, conventions, metrics)
    if not outcomes:
        return Comparison(False, "trained, but the record has nothing to compare with")
    wrong = [what for what, is_equal in outcomes.items() if not is_equal]
    what = " and ".join(outcomes)
    equal_values = next((each for each, is_equal in outcomes.items() if is_equal and each != "scores"), "")
    text = f"{' and '.join(wrong)} differ" if wrong else f"{what} are equal"
    return Comparison(not wrong, text, what, equal_values, digest)


def _recorded_digest(record: Record, training: Training) -> str | None:
    digests = record.methods[training.method].get("folds", {}).get(str(training.seed), "").split()
    found = digests[training.fold - 1] if len(digests) >= training.fold else UNKNOWN
    return None if found == UNKNOWN else found


def _committed_values(record: Record, training: Training) -> pl.DataFrame | None:
    """Return the rows of a training in queries.parquet; None if it has none."""
    path = record.path.with_name("queries.parquet")
    if not path.is_file():
        return None
    table = pl.scan_parquet(path).filter(model=training.method, fold=training.fold)
    if SEED in table.collect_schema().names():
        table = table.filter((pl.col(SEED) == training.seed) | pl.col(SEED).is_null())
    rows = table.collect()
    return None if rows.is_empty() else rows


def _computed_values(
    project: Path, fold: NumberedFold, training: Training, conventions: list[str], metrics: list[str]
) -> pl.DataFrame:
    stored = StoredCollection.open(project / "data/parquet" / training.dataset)
    judgements = read_judgements(stored, stored.fold(training.fold)["test"])
    resolved = resolve_conventions(stored, conventions)
    keys = {"fold": training.fold}
    return pl.concat(evaluate_part(fold, "test", judgements, resolved, metrics, keys, len(stored.folds)))


def _are_equal(committed: pl.DataFrame, computed: pl.DataFrame, conventions: list[str], metrics: list[str]) -> bool:
    """Return whether the values are equal, rounded as in queries.parquet, with equal queries in equal order."""
    for convention in conventions:
        old, new = committed.filter(convention=convention), computed.filter(convention=convention)
        if old["qid"].to_list() != new["qid"].to_list():
            return False
        for metric in metrics:
            rounded = np.round(new[metric].to_numpy(), DECIMALS).astype(np.float32)
            if not np.array_equal(old[metric].to_numpy(), rounded, equal_nan=True):
                return False
    return True
