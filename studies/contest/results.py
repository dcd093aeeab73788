"""The results of a contest, read from its files in git, and the expected highest value of n trials.

The files have the trials of each tuner, and test values of its choices. The expected value is computed exactly (Dodge
et al. 2019).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.studies.study import Inputs
from gradrank.bench.tuning.choices import DEFAULT, JUDGED, Choice, adopt, choose
from gradrank.bench.tuning.folders import METRICS, Contest
from gradrank.comparison.variance import Runs

if TYPE_CHECKING:
    import polars as pl


HEADLINE = METRICS[0]
RUN = ("fold", "trial", "whole", "seed")  # the columns that identify a run of a tuner


@dataclass(frozen=True)
class ContestEntry:
    """A method of the contest on one data set.

    choices: the choices of each tuner, one per fold. trials: the table of the trials of each tuner. values: the table
    of the test values of each tuner. files: the files of `values`, which need not be unpacked, with their SHA-256.
    """

    method: str
    dataset: str
    choices: Sequence[Sequence[Choice]]
    trials: "Sequence[pl.DataFrame]"
    values: "Sequence[pl.DataFrame]"
    files: Mapping[Path, str]

    @property
    def first_file(self) -> Path:
        return next(iter(self.files))

    @cached_property
    def folds(self) -> np.ndarray:
        """(q,) fold of each test query."""
        return self._run(0, "trial", HEADLINE, 1, False)["fold"].to_numpy()

    @property
    def seeds(self) -> int:
        """Number of seeds of the choices."""
        return int(self.values[0]["seed"].n_unique())

    def runs(self, metric: str = HEADLINE) -> Runs:
        """Return the (T, S, q) test values of the choices of T tuners, trained with S seeds."""
        return self._runs("trial", metric, self.seeds)

    def whole(self) -> Runs | None:
        """Return the values of the choices that are also trained on the validation part.

        None for a method that combines scores, because it learns from the validation part anyway.
        """
        return None if self.combines_scores else self._runs("trial", HEADLINE, self.seeds, whole=True)

    def selected(self, role: str) -> Runs | None:
        """Return the (T, 1, q) values of another selected trial of each tuner, trained with the first seed.

        role: `trial`, `one` or `timed`, as in Choice, or `default`. None for a method that combines scores.
        """
        return None if self.combines_scores else self._runs(role, HEADLINE, 1)

    def _runs(self, role: str, metric: str, seeds: int, whole: bool = False) -> Runs:
        values = [
            [self._run(number, role, metric, seed, whole)[metric].to_numpy() for seed in range(1, seeds + 1)]
            for number in range(len(self.choices))
        ]
        return Runs(np.array(values, dtype=np.float64), self.folds)

    def _run(self, number: int, role: str, metric: str, seed: int, whole: bool) -> "pl.DataFrame":
        """Return the rows of one run. Queries that the convention leaves out are missing. number: of the tuner."""
        import polars as pl

        trial_of = [
            {"fold": choice.fold, "trial": DEFAULT if role == "default" else getattr(choice, role), "whole": whole}
            | {"seed": seed}
            for choice in self.choices[number]
        ]
        schema = {name: self.values[number].schema[name] for name in RUN}
        wanted = pl.DataFrame(trial_of, schema=schema)
        rows = wanted.join(self.values[number], RUN, how="inner", maintain_order="left_right")
        rows = rows.filter(pl.col(metric).is_not_nan())
        if rows[metric].null_count() or rows["fold"].n_unique() < len(trial_of):
            raise GradrankError(
                f"{[*self.files][number]}: values of a selected trial are missing. Fix: delete the file and run "
                f"`snakemake contest_values_{self.dataset}`"
            )
        return rows

    @property
    def combines_scores(self) -> bool:
        """Whether the method combines the scores of the others. It is then not trained on the validation part again."""
        return not any(self.values[0]["whole"])

    def seconds(self) -> float:
        """Return the processor time of the trials of one tuner in seconds, as the mean over tuners."""
        return float(sum(table["seconds"].sum() for table in self.trials)) / len(self.trials)

    def validation(self, tuners: int = 2) -> float | None:
        """Return the mean validation NDCG@10 of the choices of the first tuners; None if it is not evaluated."""
        values = [choice.value for choices in self.choices[:tuners] for choice in choices]
        return None if None in values else float(np.mean(np.array(values, dtype=np.float64)))


def read_entries(inputs: Inputs, dataset: str) -> list[ContestEntry]:
    """Return the results of every method of the contest on one data set, highest mean first.

    Raises GradrankError if methods have values for different queries.
    """
    entries = [_read_entry(inputs, dataset, method) for method in inputs.settings["methods"]]
    first = entries[0].values[0].filter(seed=1, whole=False)
    for entry in entries:
        own = entry.values[0].filter(seed=1, whole=False)
        if set(own.select("fold", "qid").unique().rows()) != set(first.select("fold", "qid").unique().rows()):
            raise GradrankError(
                f"{entry.first_file}: has other queries than {entries[0].first_file}. Fix: delete the file that was "
                f"made from other data, and run `snakemake contest_values_{dataset}`"
            )
    return sorted(entries, key=lambda entry: (-entry.runs().mean, entry.method))


def _read_entry(inputs: Inputs, dataset: str, method: str) -> ContestEntry:
    contest, first = Contest(inputs.folder), inputs.datasets[0]
    is_frozen = dataset in inputs.settings.get("frozen", ())
    keys = contest.values.existing(dataset, method)
    values = [contest.values.read(*key).drop("made_with") for key in keys]
    files = {contest.values.path(*key): contest.values.sha256(*key) for key in keys}
    trials = [contest.trials.read(first if is_frozen else dataset, method, tuner) for *_, tuner in keys]
    folds = values[0]["fold"].n_unique()
    choices = [adopt(table, folds) if is_frozen else choose(table, inputs.settings["seconds"]) for table in trials]
    return ContestEntry(method, dataset, choices, [] if is_frozen else trials, values, files)


def read_divisions(inputs: Inputs, dataset: str, method: str) -> np.ndarray | None:
    """Return the (d,) means of NDCG@10 over the queries in d divisions, or None if the method has no divisions.

    The mean of a division is taken over its groups of the means over queries, as the mean over folds.
    """
    import polars as pl

    divisions = inputs.settings.get("divisions") or {"datasets": (), "methods": ()}
    datasets = set(inputs.datasets) & set(divisions["datasets"])  # nothing is tuned on the others
    if dataset not in datasets or method not in divisions["methods"]:
        return None
    table = Contest(inputs.folder).divisions.read(dataset, method).drop_nans(HEADLINE)
    groups = table.group_by("division", "group", maintain_order=True).agg(pl.col(HEADLINE).cast(pl.Float64).mean())
    return groups.group_by("division", maintain_order=True).agg(pl.col(HEADLINE).mean())[HEADLINE].to_numpy()


def configuration_in_words(chosen: Choice) -> str:
    """Return a configuration in words, such as `learning_rate 0.05, num_leaves 31`, or `defaults` if it is empty."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in chosen.configuration.items()) or "defaults"


def _shown(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " + ".join(map(str, value)) if value and isinstance(value[0], str) else " × ".join(map(str, value))
    return str(value)


def budgets_in_words(entries: Sequence[ContestEntry]) -> str:
    """Return a sentence with the numbers of tuners and of configurations per tuner and fold, and their methods."""
    groups: dict[tuple[int, int], list[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.method):
        count = entry.trials[0].filter(fold=entry.trials[0]["fold"].min()).height
        groups.setdefault((len(entry.choices), count), []).append(f"`{entry.method}`")
    parts = [
        f"{tuners} {'tuner' if tuners == 1 else 'tuners'} with {count} "
        f"{'configuration' if count == 1 else 'configurations'} each: {', '.join(names)}"
        for (tuners, count), names in sorted(groups.items(), reverse=True)
    ]
    return f"{'; '.join(parts)}."


def best_of_weights(count: int, n: int) -> np.ndarray:
    """Return the (count,) probabilities that each value is the largest of n values drawn without replacement.

    The i-th probability belongs to the i-th smallest of the `count` values.
    """
    return np.array([comb(i, n - 1) / comb(count, n) for i in range(count)])


def expected_best(values: np.ndarray) -> np.ndarray:
    """Return the (P,) expected highest values of n = 1, ..., P trials, drawn without replacement from (P,) values."""
    count, ranked = len(values), np.sort(np.asarray(values, dtype=np.float64))
    return np.array([np.sum(best_of_weights(count, n) * ranked) for n in range(1, count + 1)])


def curves(trials: Mapping[str, "Sequence[pl.DataFrame]"]) -> dict[str, np.ndarray]:
    """Return, for each tuned method, the (n,) expected validation values with 1, ..., n trials, averaged over folds.

    n is the smallest number of drawn trials of any tuned method on any fold. trials: the tables of the tuners.
    """
    import polars as pl

    drawn = {}
    for method, tables in trials.items():
        random = pl.concat(tables).filter(pl.col("trial") > 0).drop_nulls(JUDGED)
        folds = [expected_best(rows[JUDGED].to_numpy()) for rows in random.partition_by("fold", maintain_order=True)]
        if folds:
            reach = min(map(len, folds))
            drawn[method] = np.mean([curve[:reach] for curve in folds], axis=0)
    reach = min(map(len, drawn.values()), default=0)
    return {method: curve[:reach] for method, curve in drawn.items()}


class Crossing(NamedTuple):
    """Two methods whose order depends on the budget.

    `ahead` is the better one with fewer than `budget` trials, and `behind` is the better one with `budget` or more.
    """

    ahead: str
    behind: str
    budget: int


def crossings(curves: Mapping[str, np.ndarray]) -> list[Crossing]:
    """Return the pairs of methods whose order with one trial is reversed with N trials, smallest budget first.

    curves: the (N,) expected values of each method, for budgets of 1, ..., N trials.
    """
    crossed = []
    for first, second in combinations(curves, 2):
        gaps = curves[first] - curves[second]
        if gaps[0] * gaps[-1] < 0:
            has_final_order = np.sign(gaps) == np.sign(gaps[-1])
            budget = len(gaps) - int(np.argmin(np.append(has_final_order[::-1], False))) + 1
            ahead, behind = (first, second) if gaps[0] > 0 else (second, first)
            crossed.append(Crossing(ahead, behind, budget))
    return sorted(crossed, key=lambda crossing: (crossing.budget, crossing))
