"""What a contest has found, read back: a method's runs, its choices, and its trials with their test values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradrank.data.stored import StoredCollection
from gradrank.evaluation.conventions import in_expectation
from gradrank.evaluation.file_order import constant_score
from gradrank.evaluation.variance import Runs
from gradrank.studies.common.study import Inputs
from gradrank.training.registry import get_model
from gradrank.tuning.folders import Contest, Tuned, TunedFold
from gradrank.tuning.refits import runs
from gradrank.tuning.selection import Chosen, SelectedConfiguration, for_all_folds, read_choice, read_trials
from gradrank.tuning.spaces import members_parameter, space_of
from gradrank.tuning.values import METRICS

if TYPE_CHECKING:
    import polars as pl

HEADLINE = METRICS[0]


@dataclass(frozen=True)
class Entry:
    """A method on one data set. values: (T, S, q) a metric; folds: (q,) of the test queries; tuned: by fold.

    Of a method without a space T is 1: its tuners have nothing to choose, and all that their runs differ by are seeds.
    """

    method: str
    dataset: str
    values: Mapping[str, np.ndarray]
    folds: np.ndarray
    tuned: Mapping[int, TunedFold]

    def runs(self, metric: str = HEADLINE) -> Runs:
        return Runs(self.values[metric], self.folds)

    @cached_property
    def choices(self) -> dict[int, SelectedConfiguration]:
        """By fold."""
        return {number: read_choice(fold) for number, fold in self.tuned.items()}

    def seconds(self) -> float | None:
        """Processor seconds of all trials, none where nothing was tried."""
        import polars as pl

        found = [fold.seconds_path for fold in self.tuned.values() if fold.seconds_path.is_file()]
        return float(sum(pl.read_parquet(path)["seconds"].sum() for path in found)) if found else None

    def refit_seconds(self, contest: Contest, seeds: int) -> float:
        """Seconds of fitting the choices anew, on one thread, as far as the runs are here."""
        found = (
            contest.run(tuner, seed).dataset(self.dataset).method(self.method).fold(number)
            for number, choice in self.choices.items()
            for tuner, seed in runs(choice, seeds)
        )
        return sum(run.timing()["fit_seconds"] for run in found if run.timing_path.is_file())


@dataclass(frozen=True)
class Tried:
    """A method's trials on one data set: as trials.parquet has them, of all folds, and their values on test queries."""

    trials: "pl.DataFrame"
    tested: "pl.DataFrame"
    choices: Mapping[int, SelectedConfiguration]

    @cached_property
    def for_all(self) -> list[Chosen]:
        """The one configuration for all folds of each tuner."""
        return for_all_folds(self.trials.partition_by("fold"))

    def failed(self) -> "pl.DataFrame":
        return self.trials.filter(self.trials["error"].is_not_null())

    def values(self, trial_of: Mapping[tuple[int, int], int]) -> Runs | None:
        """What choosing `trial_of` each (tuner, fold) is worth on the test queries, by the trials' own models.

        None where one of them failed.
        """
        import polars as pl

        if not trial_of:
            return None
        rows = [{"tuner": tuner, "fold": fold, "trial": trial} for (tuner, fold), trial in trial_of.items()]
        own = pl.DataFrame(rows).join(self.tested, ["tuner", "fold", "trial"], maintain_order="left_right", how="left")
        if own[HEADLINE].null_count():
            return None
        tuners = own.partition_by("tuner", maintain_order=True)
        ordered = [each.sort("fold", maintain_order=True) for each in tuners]
        values = np.stack([each[HEADLINE].to_numpy() for each in ordered])
        return Runs(values[:, None, :], ordered[0]["fold"].to_numpy())

    def per_fold(self) -> Runs | None:
        """The choices of the contest."""
        return self.values(
            {(own.tuner, fold): own.trial for fold, choice in self.choices.items() for own in choice.chosen}
        )

    def one_for_all(self) -> Runs | None:
        return self.values({(own.tuner, fold): own.trial for fold in self.choices for own in self.for_all})

    def default(self) -> Runs | None:
        """Configuration 0."""
        return self.values({(own.tuner, fold): 0 for fold, choice in self.choices.items() for own in choice.chosen})


def entries(inputs: Inputs, dataset: str) -> list[Entry]:
    """Every method of the contest on one data set, the highest mean first."""
    contest = Contest(inputs.folder)
    count = len(StoredCollection.open(inputs.data / dataset).folds)
    found = [_entry(contest.tuned(dataset, method), dataset, method, count) for method in inputs.settings["methods"]]
    return sorted(found, key=lambda entry: (-entry.runs().mean, entry.method))


def _entry(tuned: Tuned, dataset: str, method: str, folds: int) -> Entry:
    import polars as pl

    table = pl.read_parquet(tuned.per_query_path).sort("tuner", "seed", "fold", maintain_order=True)
    cls, runs_of = get_model(method), (table["tuner"].n_unique(), table["seed"].n_unique())
    chosen = space_of(cls) or members_parameter(cls)  # a tuner's members are those that it has chosen
    shape = (*(runs_of if chosen else (1, math.prod(runs_of))), -1)
    values = {name: table[name].to_numpy().reshape(shape) for name in METRICS}
    fold_of = table["fold"].to_numpy().reshape(shape)[0, 0]
    return _known(Entry(method, dataset, values, fold_of, tuned.folds(folds)))


def _known(entry: Entry) -> Entry:
    """Without the queries that the convention leaves out, which are the same for all methods."""
    known = ~np.isnan(entry.values[HEADLINE][0, 0])
    values = {name: each[:, :, known] for name, each in entry.values.items()}
    return Entry(entry.method, entry.dataset, values, entry.folds[known], entry.tuned)


def tried(inputs: Inputs, entry: Entry) -> Tried:
    import polars as pl

    path = Contest(inputs.folder).tuned(entry.dataset, entry.method).trials_test_path
    trials = pl.concat([read_trials(fold) for fold in entry.tuned.values()])
    return Tried(trials, pl.read_parquet(path).drop_nans(HEADLINE), entry.choices)


def constant(inputs: Inputs, dataset: str) -> dict[str, dict[str, Runs]]:
    """Every document alike, a metric each: in the file's order, and in expectation over all orders."""
    own = inputs.settings["conventions"][dataset]
    named = {own: "constant score, file order"}
    if other := in_expectation(own):
        named[other] = "constant score, expected"
    found = constant_score(inputs.data / dataset, METRICS, named)
    return {
        title: {name: _alone(found[convention].values[name], found[convention].folds) for name in METRICS}
        for convention, title in named.items()
    }


def _alone(values: np.ndarray, folds: np.ndarray) -> Runs:
    """Of one run, its (q,) values that are known."""
    known = ~np.isnan(values)
    return Runs(values[known][None, None], folds[known])


def in_words(chosen: Chosen) -> str:
    """`learning_rate 0.05, num_leaves 31`; of one that sets nothing `defaults`."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in chosen.configuration.items()) or "defaults"


def _shown(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " + ".join(map(str, value)) if value and isinstance(value[0], str) else " × ".join(map(str, value))
    return str(value)
