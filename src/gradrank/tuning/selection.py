"""Selection of a configuration by its validation NDCG@10.

The selected configurations are called choices. They are written to choice.json before any test part is scored. There is
one choice per tuner. A tuner is an independent random search.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json
from gradrank.tuning.folders import TunedFold

if TYPE_CHECKING:
    import polars as pl

JUDGED = "vali_ndcg@10"  # the column of trials.parquet by which a configuration is selected


class Chosen(NamedTuple):
    """The selected trial of one tuner.

    params: all parameters, as `gradrank train` uses them. configuration: only the drawn parameters. value: validation
    NDCG@10.
    """

    tuner: int
    trial: int
    params: dict[str, Any]
    configuration: dict[str, Any]
    value: float


@dataclass(frozen=True)
class SelectedConfiguration:
    """The content of choice.json.

    model: name of the model. chosen: the selected trials, one per tuner. sha256: digest of `model` and `chosen`.
    """

    model: str
    chosen: list[Chosen]
    sha256: str

    def of(self, tuner: int) -> Chosen:
        """Return the selected trial of one tuner."""
        return next(chosen for chosen in self.chosen if chosen.tuner == tuner)


def select(fold: TunedFold) -> SelectedConfiguration:
    """Write choice.json of a tuned fold and return its content.

    For each tuner, the trial with the highest validation NDCG@10 is selected. If several trials have the highest value,
    the first of them is selected.

    Raises GradrankError if `fold` has no trials.parquet or if every configuration of a tuner failed.
    """
    trials = read_trials(fold)
    return freeze_choice(fold, best_trials(trials), trials, [fold])


def best_trials(trials: "pl.DataFrame") -> list[Chosen]:
    """Return, for each tuner, the first trial with the highest validation NDCG@10.

    Raises GradrankError if every configuration of a tuner failed.
    """
    return [_best(rows) for rows in _by_tuner(trials)]


def for_all_folds(trials: Iterable["pl.DataFrame"]) -> list[Chosen]:
    """Return, for each tuner, the configuration with the highest mean validation NDCG@10 over the folds.

    Configurations that failed on any fold are left out. The test queries of a fold are the validation queries of a
    different fold. On the collection of the trials, every test query has therefore contributed to these choices.

    trials: one table per fold.

    Raises GradrankError if every configuration of a tuner failed on at least one fold.
    """
    import polars as pl

    joined = pl.concat(trials)
    folds = joined["fold"].n_unique()
    means = joined.group_by("tuner", "trial", maintain_order=True).agg(
        pl.col("configuration", "params").first(), pl.col(JUDGED).mean(), pl.col(JUDGED).count().alias("judged")
    )
    return [_best(rows) for rows in _by_tuner(means.filter(judged=folds))]


def read_trials(fold: TunedFold) -> "pl.DataFrame":
    """Return the table trials.parquet of a tuned fold. Raises GradrankError if the file does not exist."""
    import polars as pl

    if not fold.trials_path.is_file():
        raise GradrankError(f"{fold.trials_path}: no such file. Fix: run `gradrank tune ... --out {fold.folder}`")
    return pl.read_parquet(fold.trials_path)


def read_choice(fold: TunedFold) -> SelectedConfiguration:
    """Return the content of choice.json of a tuned fold."""
    stored = read_json(fold.choice_path)
    return SelectedConfiguration(stored["model"], [Chosen(**trial) for trial in stored["chosen"]], stored["sha256"])


def _by_tuner(trials: "pl.DataFrame") -> "list[pl.DataFrame]":
    return trials.sort("tuner", "trial").partition_by("tuner", maintain_order=True)


def _best(trials: "pl.DataFrame") -> Chosen:
    successful = trials.drop_nulls(JUDGED)
    if successful.is_empty():
        raise GradrankError(
            f"tuner {trials['tuner'][0]}: every configuration failed, so none can be selected. Fix: correct the "
            "cause that the column `error` of trials.parquet states, or raise `trials`"
        )
    row = successful.row(int(successful[JUDGED].to_numpy().argmax()), named=True)
    return Chosen(row["tuner"], row["trial"], json.loads(row["params"]), json.loads(row["configuration"]), row[JUDGED])


def freeze_choice(
    fold: TunedFold, chosen: list[Chosen], trials: "pl.DataFrame", sources: Iterable[TunedFold]
) -> SelectedConfiguration:
    """Write choice.json of `fold` and return its content.

    trials: any table of trials of the model, from which only the name of the model is used. sources: the folds from
    whose trials `chosen` was selected. choice.json also contains the SHA-256 of the trials.parquet of these folds.
    """
    content = {"model": trials["model"][0], "chosen": [trial._asdict() for trial in chosen]}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    read = {"trials_sha256": [sha256(source.trials_path) for source in sources]}
    write_json(fold.choice_path, content | {"sha256": digest} | read)
    return SelectedConfiguration(content["model"], chosen, digest)
