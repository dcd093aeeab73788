"""Every trial's model on the test part, once all choices of a contest are frozen.

Nothing is chosen by it: it shows what a budget is worth, and what a choice on all folds together would have gained.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.judgements import read_judgements
from gradrank.training.registry import get_model
from gradrank.training.score_checks import checked
from gradrank.tuning.folders import Contest, TunedFold
from gradrank.tuning.member_scores import MemberScores
from gradrank.tuning.selection import JUDGED, read_trials
from gradrank.tuning.values import OF_TRIALS, values_table, write_tables

if TYPE_CHECKING:
    import polars as pl


def score_trials(contest: Contest, method: str, data: Path, convention: str) -> None:
    """Write trials_test.parquet: columns `tuner`, `trial`, `fold`, `qid`, one a metric, of each trial's model."""
    stored = StoredCollection.open(data)
    tuned = contest.tuned(stored.name, method)

    def tables() -> Iterator["pl.DataFrame"]:
        for number, splits in enumerate(stored.folds, start=1):
            judged = read_judgements(stored, splits["test"])
            test = stored.read(splits["test"])
            for row, scores in _trial_scores(tuned.fold(number), test):
                own = {"tuner": row["tuner"], "trial": row["trial"], "fold": number}
                yield values_table(judged, scores, OF_TRIALS, convention, **own)

    write_tables(tables(), tuned.trials_test_path, ["tuner", "trial", "fold"])


def _trial_scores(fold: TunedFold, test: Collection) -> Iterator[tuple[Mapping[str, Any], np.ndarray]]:
    """Each trial that did not fail, and its model's (n,) scores of the test part."""
    rows = read_trials(fold).drop_nulls(JUDGED).rows(named=True)
    made_of = {row["params"]: _members(row) for row in rows}
    scored = MemberScores(fold, sorted(set(chain(*made_of.values()))), {"test": test})
    for row in rows:
        members, path = made_of[row["params"]], fold.model_path(row["tuner"], row["trial"])
        part = scored.parts(row["tuner"], members)["test"] if members else test
        scores = get_model(row["model"]).load(path).score(part.features, part.offsets)
        yield row, checked(scores, part.rows, f"{path}: scores of the test part")


def _members(row: Mapping[str, Any]) -> tuple[str, ...]:
    cls = get_model(row["model"])
    return cls.members(cls.Params.model_validate_json(row["params"]))
