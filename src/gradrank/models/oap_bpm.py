"""OAP-BPM (Harrington 2003), the large-margin PRank of Burges et al. 2005: the average of many PRanks.

Each member is a PRank that sees a random part of the training documents. The mean of the members' weights approximates
the Bayes point. The number of members and the share of documents that a member sees are selected on validation. In the
papers, both are fixed.
"""

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
    """Return a single number as a tuple with one element, and any other value unchanged."""
    return (value,) if isinstance(value, int) else value


class CommitteeParams(ModelParams):
    """The parameters of a committee, which is a set of PRanks whose weights are averaged."""

    members: Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(one_or_several)] = param(
        (10, 30, 100),
        "number of members, selected on validation (Burges et al. 2005: 100); a single number is not searched",
        min_length=1,
    )
    tau: Grid[Annotated[float, Field(gt=0, le=1)]] = param(
        (0.3, 0.5, 0.7),
        "probability that a member sees a document, selected on validation (Burges et al. 2005: .3)",
        min_length=1,
    )


class OAPBPMParams(PRankParams, CommitteeParams):
    """The parameters of OAP-BPM. The fields of CommitteeParams precede the fields of PRankParams."""

    epochs: int = param(100, "Burges et al. 2005, Table 6: 100 for PRank", ge=1)
    patience: int = param(
        10, "for each tau, training ends after this many epochs without a better one on validation", ge=1
    )
    select_by: str = param(
        "map", "LETOR's protocol: N, tau and the epoch by the validation part's MAP", pattern=CRITERION
    )


@register("oap_bpm")
class OAPBPM(PRank[OAPBPMParams]):
    """A ranker with score = w . x, where w is the mean of the weights of the members."""

    Params = OAPBPMParams
    summary = "OAP-BPM: the average of many PRanks on random parts of the stream (Harrington 2003)"

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: OAPBPMParams, seed: int, callback: Callback) -> Self:
        """Train one committee per value of tau and return the model that is best on validation.

        The callback is called once for every combination of tau, epoch and number of members. tau changes slowest and
        the number of members fastest. Raises GradrankError if no query has two different grades.
        """
        train = with_grades_to_order(train, cls.name)
        patience = params.patience * len(params.members)
        best_per_tau: list[Best] = []
        for tau in params.tau:
            epochs = cls._committee_epochs(train, params, tau, seed)
            before = best_per_tau[-1].step if best_per_tau else 0
            best_per_tau.append(best_of(epochs, vali, params.select_by, callback, patience, before))
        return max(best_per_tau, key=lambda best: best.value).kept

    @classmethod
    def _committee_epochs(cls, train: Collection, params: OAPBPMParams, tau: float, seed: int) -> Iterator[Candidate]:
        """Yield one candidate per epoch and number of members N.

        The candidate consists of the first N members of the largest committee.
        """
        from gradrank.training.solvers.perceptron import committee_epoch

        shuffle = np.random.default_rng(seed)
        coins = shuffle.spawn(1)[0]
        unit = feature_unit(train.features)
        largest = max(params.members)
        weights, thresholds = np.zeros((len(unit), largest)), np.zeros((largest, train.labels.max()))
        for epoch in range(1, params.epochs + 1):
            rows = shuffle.permutation(train.rows)
            errors, seen = committee_epoch(train.features, unit, train.labels, rows, tau, coins, weights, thresholds)
            for number in params.members:
                mean = np.r_[0.0, weights[:, :number].mean(axis=1)]
                step = {"tau": tau, "members": number, "epoch": epoch}
                yield Candidate(cls(mean[None, :], unit), errors / max(seen, 1), reported=step)
