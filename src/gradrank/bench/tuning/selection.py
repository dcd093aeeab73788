"""The trials of a tuner that are trained again: its choice on each fold, and three others for comparison.

A tuner is one independent random search. Its choice is the trial with the highest validation NDCG@10. All selections
depend only on the table of trials, so they are fixed before any test part is scored.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError

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


def read_trials(path: Path) -> "pl.DataFrame":
    """Return the table of trials that `gradrank tune` wrote. Raises GradrankError if the file does not exist."""
    import polars as pl

    if not path.is_file():
        raise GradrankError(f"{path}: no such file. Fix: run `gradrank tune ... --out {path}`")
    return pl.read_parquet(path)


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
