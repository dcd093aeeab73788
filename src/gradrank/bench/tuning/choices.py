"""The choices of a contest: the trials of a tuner that are trained again, and the file choices.json.

A choice on each fold and three other trials for comparison are trained again. A tuner is one independent random search.
Its choice is the trial with the highest validation NDCG@10. All selections depend only on the table of trials, so they
are fixed before any test part is scored.

All choices are in choices.json, which is committed to git. No test part is scored before the file contains the choice.
The choices of a method that combines scores include those of the methods whose scores it combines.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.bench.tuning.folders import Contest
from gradrank.data.stored import StoredCollection
from gradrank.training.registry import get_model

if TYPE_CHECKING:
    import polars as pl


JUDGED = "vali_ndcg@10"  # the column of the trials by which a configuration is selected
DEFAULT = 0  # number of the trial with the default configuration


@dataclass(frozen=True)
class Choice:
    """The selected trials of one tuner on one fold.

    trial: the choice, with the highest validation NDCG@10 on the fold. value: this NDCG@10, or None if the method is
    not evaluated on the validation part. one: the trial with the highest mean validation NDCG@10 over all folds. timed:
    the best of the first trials that end within a given processor time. configuration: the drawn parameters of `trial`.
    params: all parameters of each of these trials and of the default configuration; the key is the number of the trial.
    """

    model: str
    tuner: int
    fold: int
    trial: int
    value: float | None
    one: int
    timed: int
    configuration: dict[str, Any]
    params: dict[int, dict[str, Any]]

    @property
    def entry(self) -> dict[str, Any]:
        """The choice as in choices.json."""
        return {name: getattr(self, name) for name in ("trial", "one", "timed", "configuration")}

    @property
    def sha256(self) -> str:
        """The digest of the whole choice."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def choose(trials: "pl.DataFrame", seconds: float) -> list[Choice]:
    """Return the choice of a tuner on each fold.

    Of equal validation values, the first trial is chosen. trials: the trials of one tuner. seconds: processor time for
    the trial `timed`. The default configuration is always tried.

    Raises GradrankError if every configuration failed on a fold.
    """
    one = _best_of_means(trials)
    return [_choice(rows, one, seconds) for rows in trials.sort("fold", "trial").partition_by("fold")]


def adopt(trials: "pl.DataFrame", folds: int) -> list[Choice]:
    """Return the choice of a tuner on each fold of a collection on which nothing was tuned.

    The choice is the one configuration with the highest mean validation NDCG@10 over the folds of another collection.
    trials: the trials of the tuner on the other collection. folds: number of folds.
    """
    one = _best_of_means(trials)
    rows = trials.filter(trials["fold"] == trials["fold"].min())
    return [_made(rows, fold, one, None, one, one) for fold in range(1, folds + 1)]


def digest(choices: list[Choice]) -> str:
    """Return the digest of several choices, of which choices.json contains one per fold."""
    return hashlib.sha256("".join(choice.sha256 for choice in choices).encode()).hexdigest()


def _choice(rows: "pl.DataFrame", one: int, seconds: float) -> Choice:
    trial, value = _best(rows)
    ended = rows["seconds"].cum_sum() <= seconds
    timed = rows.filter(ended | (rows["trial"] == DEFAULT)).drop_nulls(JUDGED)
    return _made(rows, rows["fold"][0], trial, value, one, _best(timed)[0] if len(timed) else trial)


def _made(rows: "pl.DataFrame", fold: int, trial: int, value: float | None, one: int, timed: int) -> Choice:
    texts = dict(rows.select("trial", "params").iter_rows())
    params = {number: json.loads(texts[number]) for number in sorted({trial, one, timed, DEFAULT})}
    drawn = json.loads(rows.filter(trial=trial)["configuration"][0])
    return Choice(rows["model"][0], rows["tuner"][0], fold, trial, value, one, timed, drawn, params)


def _best(rows: "pl.DataFrame") -> tuple[int, float | None]:
    """Return the first trial with the highest validation value, and this value.

    A method that learns on the validation part has a single trial, which is not evaluated.
    """
    successful = rows.drop_nulls(JUDGED)
    if not successful.is_empty():
        row = successful.row(int(successful[JUDGED].to_numpy().argmax()), named=True)
        return row["trial"], row[JUDGED]
    if rows["error"].null_count() == len(rows) == 1:
        return rows["trial"][0], None
    raise GradrankError(
        f"tuner {rows['tuner'][0]}: every configuration failed, so none can be selected. Fix: correct the cause that "
        "the column `error` of the trials states, or raise `trials`"
    )


def _best_of_means(trials: "pl.DataFrame") -> int:
    """Return the trial with the highest mean validation value. Trials that failed on any fold are left out."""
    import polars as pl

    folds = trials["fold"].n_unique()
    means = trials.group_by("tuner", "trial", maintain_order=True).agg(
        pl.col("error").first(), pl.col(JUDGED).mean(), pl.col(JUDGED).count().alias("judged")
    )
    complete = means.filter(pl.col("judged") == folds)
    return _best((means if complete.is_empty() else complete).sort("trial"))[0]


def write_choices(contest: Contest, parts: Iterable[tuple[str, str, int]], seconds: float) -> None:
    """Write choices.json.

    The keys are `<dataset>/<method>/fold<k>`. Each value contains a digest of the choices and, for each tuner, the
    selected trials and the configuration of the choice. parts: the data set, the method and the number of each tuner.
    seconds: processor time for the trial `timed` of a choice. Raises GradrankError if choices.json exists and gradrank
    has not written it.
    """
    if contest.choices_path.exists():
        _read_choices(contest)
    chosen: dict[str, list[Choice]] = {}
    for dataset, method, tuner in parts:
        for choice in choose(contest.trials.read(dataset, method, tuner), seconds):
            chosen.setdefault(f"{dataset}/{method}/fold{choice.fold}", []).append(choice)
    entries = {
        key: {"sha256": digest(choices)} | {f"tuner{choice.tuner}": choice.entry for choice in choices}
        for key, choices in chosen.items()
    }
    write_json(contest.choices_path, entries)


def _read_choices(contest: Contest) -> dict[str, Any]:
    """Return the content of choices.json. Raises GradrankError if it does not have the form of choices."""
    entries = read_json(contest.choices_path)
    if isinstance(entries, dict) and all(isinstance(entry, dict) and "sha256" in entry for entry in entries.values()):
        return entries
    raise GradrankError(
        f"{contest.choices_path}: contains no choices, so gradrank has not written it. Fix: move it, and run "
        f"`snakemake {contest.choices_path}`"
    )


def frozen_choices(contest: Contest, dataset: str, method: str, tuner: int, seconds: float) -> list[Choice]:
    """Return the choices of a tuner on each fold, which choices.json has to contain.

    Raises GradrankError if choices.json does not contain the choices that follow from the trials.
    """
    choices = choose(contest.trials.read(dataset, method, tuner), seconds)
    written = _read_choices(contest) if contest.choices_path.is_file() else {}
    for choice in choices:
        key = f"{dataset}/{method}/fold{choice.fold}"
        if written.get(key, {}).get(f"tuner{tuner}") != choice.entry:
            raise GradrankError(
                f"{contest.choices_path}: {key}: does not contain the choice of tuner {tuner} that follows from the "
                f"trials. Fix: run `snakemake {contest.choices_path}`, and commit the file before a test part is scored"
            )
    return choices


def by_validation(
    contest: Contest, datasets: Iterable[str], methods: Iterable[str], tuners: int
) -> Mapping[str, float]:
    """Return the mean rank of each method over the data sets by its validation NDCG@10, lowest rank first.

    The validation NDCG@10 of a method is the mean over folds and the first `tuners` tuners of the value of the choice.
    Methods that are not evaluated on the validation part are left out.
    """
    import numpy as np
    from scipy.stats import rankdata

    names, columns, numbers = list(methods), [], range(1, tuners + 1)
    for dataset in datasets:
        means = []
        for method in names:
            keys = contest.trials.existing(dataset, method)
            found = [contest.trials.read(*key) for key in keys if key[-1] in numbers]
            best = [rows[JUDGED].max() for trials in found for rows in trials.partition_by("fold")]
            means.append(np.nan if None in best or not best else float(np.mean(np.array(best, dtype=np.float64))))
        columns.append(rankdata(-np.array(means), nan_policy="omit"))
    ranks = dict(zip(names, np.mean(columns, axis=0).tolist(), strict=True))
    return {name: ranks[name] for name in sorted(names, key=lambda name: ranks[name]) if not np.isnan(ranks[name])}


def tuner_choices(
    contest: Contest, data: Path, method: str, tuner: int, seconds: float, adopted: str = ""
) -> list[Choice]:
    """Return the choices of a tuner on each fold of `data`, which choices.json has to contain.

    seconds: processor time for the trial `timed`. adopted: the data set whose choices are used if nothing is tuned on
    `data`. Raises GradrankError if choices.json does not contain the choices.
    """
    stored = StoredCollection.open(data)
    chosen = frozen_choices(contest, adopted or stored.name, method, tuner, seconds)
    if not adopted:
        return chosen
    return adopt(contest.trials.read(adopted, method, tuner), len(stored.folds))


def member_choices(
    contest: Contest, data: Path, chosen: Sequence[Choice], seconds: float, adopted: str = ""
) -> dict[str, list[Choice]]:
    """Return the choices of each method whose scores a model combines; empty if it combines none.

    The choices are those of the same tuner, or of the last tuner if the member has fewer. chosen: the choices of the
    model. The other arguments are those of `tuner_choices`.
    """
    first, name = chosen[0], StoredCollection.open(data).name
    cls = get_model(first.model)
    choices = {}
    for member in cls.members(cls.Params(**first.params[first.trial])):
        count = len(contest.trials.existing(adopted or name, member))
        own = tuner_choices(contest, data, member, min(first.tuner, count), seconds, adopted)
        choices[member] = [replace(choice, tuner=first.tuner) for choice in own]
    return choices
