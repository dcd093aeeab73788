"""The scores of all trials on the test part. They are computed after all choices of a contest have been written.

No choice depends on these scores. They show how much better the results would have been with a larger budget, or with
one choice for all folds.
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
from gradrank.training.score_checks import check_scores
from gradrank.tuning.folders import Contest, TunedFold
from gradrank.tuning.member_scores import MemberScores
from gradrank.tuning.selection import JUDGED, read_trials
from gradrank.tuning.values import OF_TRIALS, values_table, write_tables

if TYPE_CHECKING:
    import polars as pl


def score_trials(contest: Contest, method: str, data: Path, convention: str) -> None:
    """Write trials_test.parquet of a method, with one row per successful trial and test query.

    The columns are `tuner`, `trial`, `fold` and `qid`, and one column per metric.

    data: folder of the Parquet collection. convention: name of the metric convention.

    Raises GradrankError if a fold has no trials.parquet or if a model returns invalid scores.
    """
    stored = StoredCollection.open(data)
    tuned = contest.tuned(stored.name, method)

    def tables() -> Iterator["pl.DataFrame"]:
        for number, splits in enumerate(stored.folds, start=1):
            judged = read_judgements(stored, splits["test"])
            test = stored.read(splits["test"], normaliser=stored.normaliser(number))
            for row, scores in _trial_scores(tuned.fold(number), test):
                keys = {"tuner": row["tuner"], "trial": row["trial"], "fold": number}
                yield values_table(judged, scores, OF_TRIALS, convention, **keys)

    write_tables(tables(), tuned.trials_test_path, ["tuner", "trial", "fold"])


def _trial_scores(fold: TunedFold, test: Collection) -> Iterator[tuple[Mapping[str, Any], np.ndarray]]:
    """Yield the table row of each successful trial, and the (n,) scores of its model for the test part."""
    rows = read_trials(fold).drop_nulls(JUDGED).rows(named=True)
    members_of = {row["params"]: _members(row) for row in rows}
    member_scores = MemberScores(fold, sorted(set(chain(*members_of.values()))), {"test": test})
    for row in rows:
        members, path = members_of[row["params"]], fold.model_path(row["tuner"], row["trial"])
        part = member_scores.parts(row["tuner"], members)["test"] if members else test
        scores = get_model(row["model"]).load(path).score(part.features, part.offsets)
        yield row, check_scores(scores, part.rows, f"{path}: scores of the test part")


def _members(row: Mapping[str, Any]) -> tuple[str, ...]:
    cls = get_model(row["model"])
    return cls.members(cls.Params.model_validate_json(row["params"]))
