"""OAP-BPM (Harrington 2003), the large-margin PRank of Burges et al. 2005: the average of many PRanks."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field

from gradrank.data.collection import Collection
from gradrank.models.prank import PRank, PRankParams, feature_unit
from gradrank.training.best_of import Best, Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.search_space import Grid
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order


def one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, int) else value


class CommitteeParams(ModelParams):
    members: Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(one_or_several)] = param(
        (10, 30, 100),
        "N PRanks run in parallel, chosen on validation (Burges et al. 2005: 100); a number alone is taken as it is",
        min_length=1,
    )
    tau: Grid[Annotated[float, Field(gt=0, le=1)]] = param(
        (0.3, 0.5, 0.7),
        "probability that a member sees an example, chosen on validation (Burges et al. 2005: .3 of these)",
        min_length=1,
    )


class OAPBPMParams(PRankParams, CommitteeParams):
    epochs: int = param(100, "Burges et al. 2005, Table 6: 100 for PRank", ge=1)
    patience: int = param(10, "epochs without a better one on validation after which training ends, for each tau", ge=1)
    select_by: str = param(
        "map", "LETOR's protocol: N, tau and the epoch by the validation part's MAP", pattern=CRITERION
    )


@register("oap_bpm")
class OAPBPM(PRank[OAPBPMParams]):
    """score = w . x, w the mean of the members' weights: an approximation of the Bayes point."""

    Params = OAPBPMParams
    summary = "OAP-BPM: the average of many PRanks on random parts of the stream (Harrington 2003)"

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: OAPBPMParams, seed: int, callback: Callback) -> Self:
        """A step of the callback is one N in an epoch of one tau: every N, epoch by epoch, in the order of tau."""
        train = with_grades_to_order(train, cls.name)
        patience = params.patience * len(params.members)
        found: list[Best] = []
        for tau in params.tau:
            epochs = cls._committee_epochs(train, params, tau, seed)
            before = found[-1].step if found else 0
            found.append(best_of(epochs, vali, params.select_by, callback, patience, before))
        return max(found, key=lambda best: best.value).kept

    @classmethod
    def _committee_epochs(cls, train: Collection, params: OAPBPMParams, tau: float, seed: int) -> Iterator[Candidate]:
        """The first N of the members are a committee of N themselves: only the largest is trained."""
        from gradrank.training.solvers.perceptron import committee_epoch

        shuffle = np.random.default_rng(seed)
        coins = shuffle.spawn(1)[0]
        unit = feature_unit(train.features)
        most = max(params.members)
        weights, thresholds = np.zeros((len(unit), most)), np.zeros((most, train.labels.max()))
        for epoch in range(1, params.epochs + 1):
            rows = shuffle.permutation(train.rows)
            errors, seen = committee_epoch(train.features, unit, train.labels, rows, tau, coins, weights, thresholds)
            for number in params.members:
                mean = np.r_[0.0, weights[:, :number].mean(axis=1)]
                told = {"tau": tau, "members": number, "epoch": epoch}
                yield Candidate(cls(mean[None, :], unit), errors / max(seen, 1), told=told)
