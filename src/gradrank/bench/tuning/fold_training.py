"""Trainings of one model on one fold whose scores are used once, so that no model is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradrank.base.conventions import Convention
from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.tuning.trials import silent
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.training.best_of import FrozenStep, History
from gradrank.training.fit import fit, taken_as_is
from gradrank.training.model import Callback, Model
from gradrank.training.score_checks import check_scores

if TYPE_CHECKING:
    import polars as pl


# Models whose steps are not the length of a training: the steps of `coordinate_ascent` belong to several starts.
ALTERNATIVES = ("coordinate_ascent", "single_feature")


class BothScores(NamedTuple):
    """The scores of a model that was trained twice.

    vali, test: scores of the validation and of the test part, after the training on the training part. whole: scores
    of the test part, after the training on the training and validation parts.
    """

    vali: np.ndarray
    test: np.ndarray
    whole: np.ndarray


class FoldTraining:
    """The data of one fold, on which configurations of one model are trained.

    pairs: folder of the stored pairs, for models that need them. convention: primary convention of the data set.
    """

    def __init__(
        self, cls: type[Model], stored: StoredCollection, fold: int, pairs: Path | None, convention: Convention
    ) -> None:
        self.cls, self.stored, self.splits = cls, stored, stored.fold(fold)
        self.pairs = stored.pairs(pairs) if pairs and cls.needs_pairs else None
        self.preparation, self.convention = stored.preparation(fold, taken_as_is(cls)), convention
        self.test_files = [stored.part_file(part) for part in self.splits["test"]]
        self.vali, self.test = self._read("vali"), self._read("test")

    def scores(self, params: Mapping[str, Any], seed: int) -> np.ndarray:
        """Return the (n,) test scores of a model that is trained on the training part."""
        return self._scores(self._read("train"), self.vali, params, seed)

    def scores_of_whole(self, params: Mapping[str, Any], seed: int, step: int | None) -> np.ndarray:
        """Return the (n,) test scores of a model that is trained on the training and validation parts.

        step: the number of the round or epoch after which training ends; None if the model has no such steps. If the
        steps of the model are alternatives, such as the features of `single_feature`, `step` is not used. The
        alternative is then selected again, on both parts.
        """
        whole = self._read("train", "vali")
        if self.cls.name in ALTERNATIVES:
            return self._scores(whole, whole, params, seed)
        vali = self.vali if step is None else FrozenStep.of(self.vali, step)
        return self._scores(whole, vali, params, seed)

    def both(self, params: Mapping[str, Any], seed: int) -> BothScores:
        """Return the scores of a training on the training part, and of the same training on both labelled parts."""
        history, complete = History(f"{self.stored.name}/{self.cls.name}"), self.cls.Params(**params)
        vali, test = self._scored(self._read("train"), self.vali, params, seed, (self.vali, self.test), history)
        step = selected_step(history.frame(), complete.model_dump(mode="json"))
        whole = self.scores_of_whole(params, seed, step)
        return BothScores(vali, test, whole)

    def _scores(self, train: Collection, vali: Collection, params: Mapping[str, Any], seed: int) -> np.ndarray:
        return self._scored(train, vali, params, seed, (self.test,), silent)[0]

    def _scored(
        self,
        train: Collection,
        vali: Collection,
        params: Mapping[str, Any],
        seed: int,
        parts: Sequence[Collection],
        callback: Callback,
    ) -> list[np.ndarray]:
        """Return the scores of each of `parts`."""
        with guard_test_part(self.test_files, self.cls.name):
            fitted = fit(self.cls, train, vali, self.cls.Params(**params), seed, callback)
            scores = [fitted.score(part.features, part.offsets) for part in parts]
        return [
            check_scores(own, part.rows, f"{self.cls.name}: scores") for own, part in zip(scores, parts, strict=True)
        ]

    def _read(self, *splits: str) -> Collection:
        parts = [part for split in splits for part in self.splits[split]]
        pairs = self.pairs if "train" in splits else None
        collection = self.stored.read(parts, pairs, self.preparation, "train" in splits)
        return replace(collection, convention=self.convention)


def selected_step(history: "pl.DataFrame", params: Mapping[str, Any]) -> int | None:
    """Return the number of the step that the validation part selected; None for a model that selects no step.

    history: the training history. params: all parameters of the model.
    """
    column = f"vali_{params.get('select_by')}"
    if column not in history.columns:
        return None
    return int(history["step"][int(history[column].to_numpy().argmax())])
