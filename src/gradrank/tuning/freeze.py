"""A choice taken over from another collection: nothing is tried on the one that is looked at once."""

from collections.abc import Iterable

from gradrank.tuning.folders import TunedFold
from gradrank.tuning.selection import SelectedConfiguration, for_all_folds, freeze_choice, read_trials


def freeze(fold: TunedFold, sources: Iterable[TunedFold]) -> SelectedConfiguration:
    """Each tuner's one configuration for all folds of the collection that it tuned on, written for `fold` of another.

    sources: every fold of the method there.
    """
    sources = list(sources)
    trials = [read_trials(source) for source in sources]
    return freeze_choice(fold, for_all_folds(trials), trials[0], sources)
