"""Samples of the trainings whose code changed since their results were recorded."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gradrank.bench.provenance.record_code import TRAIN, Record
from gradrank.bench.workflow_support.plan import Plan


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
