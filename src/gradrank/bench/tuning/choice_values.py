"""The test values of a tuner's choices alone, for studies that compare no other trials.

No model is stored. The table has the form of `gradrank.bench.tuning.refits.refit`, without the rows of the trainings on
the training and validation parts together and without the rows of other trials.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradrank.bench.tuning.choices import Choice
from gradrank.bench.tuning.fold_training import FoldTraining
from gradrank.bench.tuning.folders import OF_OTHERS, Contest, values_table, write_tables
from gradrank.bench.tuning.refits import Refits, run_seed, seeds_of
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.training.fit import job_seed
from gradrank.training.registry import get_model

if TYPE_CHECKING:
    import polars as pl

CHOICE_VALUES = __name__  # part of the code digest of the jobs that use this module


def evaluate_choices(contest: Contest, method: str, tuner: int, choices: list[Choice], settings: Refits) -> None:
    """Train the choices of one tuner, one per fold, with each seed, and write their NDCG@10 per test query.

    The seeds are those that `refit` would use. choices: the choices of `method`.
    """
    cls, stored = get_model(method), StoredCollection.open(settings.data)

    def tables() -> Iterator["pl.DataFrame"]:
        for choice in choices:
            judged = read_judgements(stored, stored.fold(choice.fold)["test"])
            fold = FoldTraining(cls, stored, choice.fold, settings.pairs, settings.convention)
            for number in range(1, seeds_of(cls, settings.seeds) + 1):
                seed = job_seed(run_seed(settings.seed, tuner, number), stored.name, method, choice.fold)
                scores = fold.scores(choice.params[choice.trial], seed)
                about = {"fold": choice.fold, "trial": choice.trial, "whole": False, "seed": number}
                yield values_table(judged, scores, OF_OTHERS, settings.convention.name, **about)

    write_tables(tables(), contest.values_path(stored.name, method, tuner), settings.made_with(stored, choices))
