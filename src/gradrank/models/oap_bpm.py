"""OAP-BPM (Harrington 2003), the large-margin PRank of Burges et al. 2005: the average of many PRanks."""

from collections.abc import Iterator
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.learning.best_of import Best, Candidate, best_of
from gradrank.learning.model import Callback, ModelParams, param, register
from gradrank.learning.selection import CRITERION
from gradrank.learning.training_part import with_grades_to_order
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
        found: list[Best] = []
        for tau in params.tau:
            epochs = cls._epochs(train, params, tau, seed)
            before = found[-1].step if found else 0
            found.append(best_of(epochs, vali, params.select_by, callback, params.patience, before))
        return max(found, key=lambda best: best.value).kept

    @classmethod
    def _epochs(cls, train: Collection, params: OAPBPMParams, tau: float, seed: int) -> Iterator[Candidate]:
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
            yield Candidate(cls(mean[None, :], unit), errors / max(seen, 1), told={"tau": tau})
