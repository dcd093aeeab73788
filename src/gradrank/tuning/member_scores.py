"""The scores of tuned methods, as features of a model that combines them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.members import member_features
from gradrank.training.registry import get_model
from gradrank.tuning.folders import TunedFold
from gradrank.tuning.selection import read_choice


class MemberScores:
    """The scores of the selected models of other methods, for the documents of one fold."""

    def __init__(self, fold: TunedFold, among: Sequence[str], parts: Mapping[str, Collection]) -> None:
        """Check that a configuration was chosen for every method of `among`.

        fold: the tuning folder of the combining model, next to the folders of the methods in `among`. among: names of
        the methods that can be combined. parts: the parts of the fold by name, with the features of the data set.

        Raises GradrankError if a method of `among` has no choice.json.
        """
        self.fold, self.data = fold, parts
        for member in among:
            choice_path = fold.beside(member).choice_path
            if not choice_path.is_file():
                raise GradrankError(
                    f"{choice_path}: no such file; a model that combines the scores of {member} needs its choice. "
                    f"Fix: tune {member}, then run `gradrank select {choice_path.parent}`"
                )
        self._scores = cache(self._score)

    def parts(self, tuner: int, members: Sequence[str]) -> dict[str, Collection]:
        """Return the parts of the fold by name, with the scores of the members as their features.

        The features are (n, m) float32, with one column per member in the order of `members`.
        """
        return {
            split: replace(
                part,
                features=member_features([self._scores(tuner, member, split) for member in members]),
                names=tuple(members),
            )
            for split, part in self.data.items()
        }

    def _score(self, tuner: int, member: str, split: str) -> np.ndarray:
        fold, part = self.fold.beside(member), self.data[split]
        model = get_model(member).load(fold.model_path(tuner, read_choice(fold).of(tuner).trial))
        return model.score(part.features, part.offsets)
