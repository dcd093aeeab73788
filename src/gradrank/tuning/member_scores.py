"""The scores of tuned methods, as features of a model that is made of them."""

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
    """What each tuner's choices of the methods `among` give the documents of one fold.

    own: the fold of the model that is made of them; theirs lie beside it. parts: by name, with the data's features.
    """

    def __init__(self, own: TunedFold, among: Sequence[str], parts: Mapping[str, Collection]) -> None:
        self.own, self.data = own, parts
        for member in among:
            if not own.beside(member).choice_path.is_file():
                raise GradrankError(
                    f"{own.beside(member).choice_path}: no such file; a model made of others' scores needs theirs: "
                    f"tune {member} first, then `gradrank select {own.beside(member).folder}`"
                )
        self._scores = cache(self._scored)

    def parts(self, tuner: int, members: Sequence[str]) -> dict[str, Collection]:
        """Each part with (n, m) float32 features: the scores of m members in their order."""
        return {
            split: replace(part, features=member_features([self._scores(tuner, member, split) for member in members]))
            for split, part in self.data.items()
        }

    def _scored(self, tuner: int, member: str, split: str) -> np.ndarray:
        fold, part = self.own.beside(member), self.data[split]
        model = get_model(member).load(fold.model_path(tuner, read_choice(fold).of(tuner).trial))
        return model.score(part.features, part.offsets)
