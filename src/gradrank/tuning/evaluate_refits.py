"""The evaluation of the retrained models of a contest on the test part."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.data.stored import StoredCollection
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.score_files import read_scores
from gradrank.tuning.folders import Contest
from gradrank.tuning.refits import refitted
from gradrank.tuning.selection import read_choice
from gradrank.tuning.values import METRICS, values_table, write_tables

if TYPE_CHECKING:
    import polars as pl


def evaluate_refits(contest: Contest, method: str, data: Path, seeds: int, convention: str) -> None:
    """Write per_query.parquet of a method, with one row per run and test query.

    The columns are `tuner`, `seed`, `fold` and `qid`, and one column per metric.

    data: folder of the Parquet collection. seeds: number of seeds per tuner. convention: name of the metric convention.

    Raises GradrankError if a run is missing or was trained with different parameters, or if its scores are damaged.
    """
    stored = StoredCollection.open(data)
    tuned = contest.tuned(stored.name, method)

    def tables() -> Iterator["pl.DataFrame"]:
        for number, splits in enumerate(stored.folds, start=1):
            judged = read_judgements(stored, splits["test"])
            choice = read_choice(tuned.fold(number))
            for tuner, seed, run in refitted(contest, choice, stored.name, number, seeds):
                run.check(run.scores_path)
                scores = read_scores(run.scores_path, judged)
                yield values_table(judged, scores, METRICS, convention, tuner=tuner, seed=seed, fold=number)

    write_tables(tables(), tuned.per_query_path, ["tuner", "seed", "fold"])
