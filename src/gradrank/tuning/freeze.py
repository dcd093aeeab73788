"""Choices that are taken from a different collection.

Such choices are needed for a collection that is evaluated only once, because nothing may be tuned on that collection.
"""

from collections.abc import Iterable

from gradrank.tuning.folders import TunedFold
from gradrank.tuning.selection import SelectedConfiguration, for_all_folds, freeze_choice, read_trials


def freeze(fold: TunedFold, sources: Iterable[TunedFold]) -> SelectedConfiguration:
    """Write choice.json of `fold` from the trials on a different collection, and return the choice.

    For each tuner, the choice is the configuration with the highest mean validation NDCG@10 over all folds of the other
    collection.

    sources: every fold of the same method on the other collection.

    Raises GradrankError if a source has no trials.parquet.
    """
    sources = list(sources)
    trials = [read_trials(source) for source in sources]
    return freeze_choice(fold, for_all_folds(trials), trials[0], sources)
