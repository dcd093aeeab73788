"""The choice of a configuration, by validation alone, frozen before any test part is scored."""

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

JUDGED = "vali_ndcg@10"  # of the trials' columns, by which a configuration is chosen


class Chosen(NamedTuple):
    """One tuner's. params: all in force, for `train`; configuration: of them, what was drawn."""

    tuner: int
    trial: int
    params: dict[str, Any]
    configuration: dict[str, Any]
    value: float


@dataclass(frozen=True)
class SelectedConfiguration:
    """What choice.json holds. sha256: of all that is chosen, and of nothing else."""

    model: str
    chosen: list[Chosen]
    sha256: str

    def of(self, tuner: int) -> Chosen:
        return next(each for each in self.chosen if each.tuner == tuner)


def select(fold: TunedFold) -> SelectedConfiguration:
    """For each tuner the configuration with the highest validation NDCG@10, the earlier one of equals.

    Reads trials.parquet and writes choice.json, which names its hash.
    """
    trials = read_trials(fold)
    return freeze_choice(fold, chosen(trials), trials, [fold])


def chosen(trials: "pl.DataFrame") -> list[Chosen]:
    """Each tuner's, of a fold's trials."""
    return [_best(own) for own in _by_tuner(trials)]


def for_all_folds(trials: Iterable["pl.DataFrame"]) -> list[Chosen]:
    """For each tuner the configuration with the highest mean validation value over the folds, of those without failure.

    On the collection that was tuned this has seen every test query in another fold's validation part.
    """
    import polars as pl

    joined = pl.concat(trials)
    folds = joined["fold"].n_unique()
    means = joined.group_by("tuner", "trial", maintain_order=True).agg(
        pl.col("configuration", "params").first(), pl.col(JUDGED).mean(), pl.col(JUDGED).count().alias("judged")
    )
    return [_best(own) for own in _by_tuner(means.filter(judged=folds))]


def read_trials(fold: TunedFold) -> "pl.DataFrame":
    """Raises GradrankError where none are."""
    import polars as pl

    if not fold.trials_path.is_file():
        raise GradrankError(f"{fold.trials_path}: no such file; first run `gradrank tune`")
    return pl.read_parquet(fold.trials_path)


def read_choice(fold: TunedFold) -> SelectedConfiguration:
    said = read_json(fold.choice_path)
    return SelectedConfiguration(said["model"], [Chosen(**each) for each in said["chosen"]], said["sha256"])


def _by_tuner(trials: "pl.DataFrame") -> "list[pl.DataFrame]":
    return trials.sort("tuner", "trial").partition_by("tuner", maintain_order=True)


def _best(trials: "pl.DataFrame") -> Chosen:
    found = trials.drop_nulls(JUDGED)
    if found.is_empty():
        raise GradrankError(
            f"tuner {trials['tuner'][0]}: every configuration failed, and none can be chosen; raise `trials`"
        )
    row = found.row(int(found[JUDGED].to_numpy().argmax()), named=True)
    return Chosen(row["tuner"], row["trial"], json.loads(row["params"]), json.loads(row["configuration"]), row[JUDGED])


def freeze_choice(
    fold: TunedFold, taken: list[Chosen], trials: "pl.DataFrame", sources: Iterable[TunedFold]
) -> SelectedConfiguration:
    """Write choice.json. sources: the folds whose trials it was taken from, which `trials` is one of."""
    said = {"model": trials["model"][0], "chosen": [each._asdict() for each in taken]}
    own = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    read = {"trials_sha256": [sha256(source.trials_path) for source in sources]}
    write_json(fold.choice_path, said | {"sha256": own} | read)
    return SelectedConfiguration(said["model"], taken, own)
