"""The choices of a method, and of the methods whose scores it combines, for one tuner."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradrank.bench.tuning.choices import frozen_choices
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.selection import Choice, adopt, read_trials
from gradrank.data.stored import StoredCollection
from gradrank.training.registry import get_model


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
    return adopt(read_trials(contest.trials_path(adopted, method, tuner)), len(stored.folds))


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
        count = len(contest.trials_paths(adopted or name, member))
        own = tuner_choices(contest, data, member, min(first.tuner, count), seconds, adopted)
        choices[member] = [replace(choice, tuner=first.tuner) for choice in own]
    return choices
