"""The results of a contest, read from its files: the runs of each method, its choices and its trials."""

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
class ContestEntry:
    """A method of the contest on one data set.

    values: the (T, S, q) test values of each metric, for T tuners, S seeds and q test queries. folds: the (q,) folds of
    the queries. tuned: the tuning files of each fold; the key is the number of the fold.

    T is 1 for a method without a search space. There is nothing to tune, so its runs differ only in their seeds.
    """

    method: str
    dataset: str
    values: Mapping[str, np.ndarray]
    folds: np.ndarray
    tuned: Mapping[int, TunedFold]

    def runs(self, metric: str = HEADLINE) -> Runs:
        """Return the runs of the method for one metric."""
        return Runs(self.values[metric], self.folds)

    @cached_property
    def choices(self) -> dict[int, SelectedConfiguration]:
        """The selected configurations of each fold. The key is the number of the fold."""
        return {number: read_choice(fold) for number, fold in self.tuned.items()}

    def seconds(self) -> float | None:
        """Return the total CPU time of all trials in seconds, or None if there were no trials."""
        import polars as pl

        paths = [fold.seconds_path for fold in self.tuned.values() if fold.seconds_path.is_file()]
        return float(sum(pl.read_parquet(path)["seconds"].sum() for path in paths)) if paths else None

    def refit_seconds(self, contest: Contest, seeds: int) -> float:
        """Return the total fitting time, in seconds, of the final runs, which train the choices on one thread.

        Runs without a timing.json are left out.
        """
        folds = (
            contest.run(tuner, seed).dataset(self.dataset).method(self.method).fold(number)
            for number, choice in self.choices.items()
            for tuner, seed in runs(choice, seeds)
        )
        return sum(fold.timing()["fit_seconds"] for fold in folds if fold.timing_path.is_file())


@dataclass(frozen=True)
class EntryTrials:
    """The trials of a method on one data set.

    trials: the rows of trials.parquet for all folds. tested: the values of each trial's model on the test queries.
    choices: the selected configurations of each fold; the key is the number of the fold.
    """

    trials: "pl.DataFrame"
    tested: "pl.DataFrame"
    choices: Mapping[int, SelectedConfiguration]

    @cached_property
    def for_all(self) -> list[Chosen]:
        """The choice of each tuner if the tuner may choose only one configuration for all folds.

        The choice is the configuration with the best mean validation value over all folds.
        """
        return for_all_folds(self.trials.partition_by("fold"))

    def failed(self) -> "pl.DataFrame":
        """Return the trials that ended with an error."""
        return self.trials.filter(self.trials["error"].is_not_null())

    def values(self, trial_of: Mapping[tuple[int, int], int]) -> Runs | None:
        """Return the test values of one trial per tuner and fold, computed with the models of the trials.

        trial_of: the number of the trial for each key (tuner, fold). Returns None if `trial_of` is empty or one of the
        trials failed.
        """
        import polars as pl

        if not trial_of:
            return None
        rows = [{"tuner": tuner, "fold": fold, "trial": trial} for (tuner, fold), trial in trial_of.items()]
        picked = pl.DataFrame(rows).join(
            self.tested, ["tuner", "fold", "trial"], maintain_order="left_right", how="left"
        )
        if picked[HEADLINE].null_count():
            return None
        tuners = picked.partition_by("tuner", maintain_order=True)
        ordered = [tuner.sort("fold", maintain_order=True) for tuner in tuners]
        values = np.stack([tuner[HEADLINE].to_numpy() for tuner in ordered])
        return Runs(values[:, None, :], ordered[0]["fold"].to_numpy())

    def per_fold(self) -> Runs | None:
        """Return the test values of the configuration chosen per tuner and fold, or None as in `values`."""
        return self.values(
            {(chosen.tuner, fold): chosen.trial for fold, choice in self.choices.items() for chosen in choice.chosen}
        )

    def one_for_all(self) -> Runs | None:
        """Return the test values of the one configuration per tuner for all folds, or None as in `values`."""
        return self.values({(chosen.tuner, fold): chosen.trial for fold in self.choices for chosen in self.for_all})

    def default(self) -> Runs | None:
        """Return the test values of the default configuration, which is trial 0, or None as in `values`."""
        return self.values(
            {(chosen.tuner, fold): 0 for fold, choice in self.choices.items() for chosen in choice.chosen}
        )


def read_entries(inputs: Inputs, dataset: str) -> list[ContestEntry]:
    """Return the results of every method of the contest on one data set, highest mean first."""
    contest = Contest(inputs.folder)
    count = len(StoredCollection.open(inputs.data / dataset).folds)
    entries = [
        _read_entry(contest.tuned(dataset, method), dataset, method, count) for method in inputs.settings["methods"]
    ]
    return sorted(entries, key=lambda entry: (-entry.runs().mean, entry.method))


def _read_entry(tuned: Tuned, dataset: str, method: str, folds: int) -> ContestEntry:
    import polars as pl

    table = pl.read_parquet(tuned.per_query_path).sort("tuner", "seed", "fold", maintain_order=True)
    cls, runs_of = get_model(method), (table["tuner"].n_unique(), table["seed"].n_unique())
    has_choice = space_of(cls) or members_parameter(cls)  # each tuner of a fusion chooses the members
    shape = (*(runs_of if has_choice else (1, math.prod(runs_of))), -1)
    values = {name: table[name].to_numpy().reshape(shape) for name in METRICS}
    fold_of = table["fold"].to_numpy().reshape(shape)[0, 0]
    return _without_dropped_queries(ContestEntry(method, dataset, values, fold_of, tuned.folds(folds)))


def _without_dropped_queries(entry: ContestEntry) -> ContestEntry:
    """Return the entry without the queries that the convention leaves out.

    These queries are the same for all methods.
    """
    known = ~np.isnan(entry.values[HEADLINE][0, 0])
    values = {name: runs[:, :, known] for name, runs in entry.values.items()}
    return ContestEntry(entry.method, entry.dataset, values, entry.folds[known], entry.tuned)


def read_entry_trials(inputs: Inputs, entry: ContestEntry) -> EntryTrials:
    """Return the trials of a method on one data set, with their values on the test queries."""
    import polars as pl

    path = Contest(inputs.folder).tuned(entry.dataset, entry.method).trials_test_path
    trials = pl.concat([read_trials(fold) for fold in entry.tuned.values()])
    return EntryTrials(trials, pl.read_parquet(path).drop_nans(HEADLINE), entry.choices)


def constant_score_runs(inputs: Inputs, dataset: str) -> dict[str, dict[str, Runs]]:
    """Return the runs of a ranking that gives every document the same score.

    The outer keys are the titles of the table rows, and the inner keys are the metrics. One row breaks ties by the
    order of the file. The other row has the expected value over all orders. The second row exists only if the
    convention has an expected variant.
    """
    dataset_convention = inputs.settings["conventions"][dataset]
    named = {dataset_convention: "constant score, file order"}
    if other := in_expectation(dataset_convention):
        named[other] = "constant score, expected"
    values = constant_score(inputs.data / dataset, METRICS, named)
    return {
        title: {name: _single_run(values[convention].values[name], values[convention].folds) for name in METRICS}
        for convention, title in named.items()
    }


def _single_run(values: np.ndarray, folds: np.ndarray) -> Runs:
    """Return (q,) values as the Runs of one tuner and one seed. Queries without a value are left out."""
    known = ~np.isnan(values)
    return Runs(values[known][None, None], folds[known])


def configuration_in_words(chosen: Chosen) -> str:
    """Return a configuration in words, such as `learning_rate 0.05, num_leaves 31`, or `defaults` if it is empty."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in chosen.configuration.items()) or "defaults"


def _shown(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " + ".join(map(str, value)) if value and isinstance(value[0], str) else " × ".join(map(str, value))
    return str(value)
