"""OAP-BPM (Harrington 2003), the large-margin PRank of Burges et al. 2005: the average of many PRanks."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.learning.early_stopping import Epoch, best_epoch
from gradrank.learning.model import Callback, ModelParams, param, register
from gradrank.learning.protocol import CRITERION, with_grades_to_order
from gradrank.models.prank import PRank, feature_unit


class OAPBPMParams(ModelParams):
    members: int = param(100, "N PRanks run in parallel; Burges et al. 2005: 100", ge=1)
    tau: tuple[Annotated[float, Field(gt=0, le=1)], ...] = param(
        (0.3, 0.5, 0.7),
        "probability that a member sees an example, chosen on validation (Burges et al. 2005: .3 of these)",
        min_length=1,
    )
    epochs: int = param(100, "Burges et al. 2005, Table 6: 100 for PRank", ge=1)
    patience: int = param(10, "as for PRank, for each tau", ge=1)
    select_by: str = param(
        "map", "LETOR's protocol: tau and the epoch by the validation part's MAP", pattern=CRITERION
    )


@register("oap_bpm")
class OAPBPM(PRank):
    """score = w . x, w the mean of the members' weights: an approximation of the Bayes point."""

    Params = OAPBPMParams
    summary = "OAP-BPM: the average of 100 PRanks on random parts of the stream (Harrington 2003)"

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: OAPBPMParams, seed: int, callback: Callback
    ) -> Self:
        """A step of the callback is an epoch of one value of tau, in the order given."""
        train = with_grades_to_order(train, cls.name)
        best, step = None, 0
        for tau in params.tau:
            epochs = cls._epochs(train, params, tau, seed)
            told = partial(callback, tau=tau)
            found = best_epoch(epochs, vali, params.select_by, params.patience, told, steps_before=step)
            if best is None or found.value > best.value:
                best = found
            step = found.step
        return best.model

    @classmethod
    def _epochs(cls, train: Collection, params: OAPBPMParams, tau: float, seed: int) -> Iterator[Epoch]:
        from gradrank.learning.perceptron import committee_epoch

        shuffle = np.random.default_rng(seed)
        coins = shuffle.spawn(1)[0]
        unit = feature_unit(train.features)
        weights = np.zeros((len(unit), params.members))
        thresholds = np.zeros((params.members, train.labels.max()))
        for _ in range(params.epochs):
            rows = shuffle.permutation(train.rows)
            errors, seen = committee_epoch(
                train.features, unit, train.labels, rows, tau, coins, weights, thresholds
            )
            mean = np.r_[0.0, weights.mean(axis=1)]
            yield Epoch(cls(mean[None, :], unit), errors / max(seen, 1))
