"""RankProp (Caruana, Baluja & Mitchell 1996): a net is fitted to ranks, which are recomputed before each epoch.

The ranks order documents by grade and, within equal grades, by the current output of the net. The model deviates from
the paper in three ways: the net has ReLU units, it is trained by AdamW, and the epoch is selected on validation.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, param, register
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.neural import LIBRARY, NET
from gradrank.training.nets.torch_training import create_scorer
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order

if TYPE_CHECKING:
    from gradrank.training.nets.scorer import Scorer


class RankPropParams(ScorerParams):
    """The parameters of the net, of its training by AdamW, and of the ranks."""

    # Overriding a field with a narrower type is safe, because pydantic makes the fields read-only. Type checkers cannot
    # see this in model_config.
    scorer: Literal["linear", "net"] = param(  # pyright: ignore[reportIncompatibleVariableOverride]
        "net", "Caruana et al. 1996; the 2005 paper: linear"
    )
    ranks: Literal["global", "query"] = param(
        "global",
        "one ranking of all documents, as in Caruana et al. 1996; query: one per query, which costs .03 of the mean "
        "validation MAP on MQ2007, because the equal grades of each query are spread over the whole scale and "
        "the net learns noise",
    )
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = param((64,), "the default of the other nets", max_length=8)
    activation: Literal["relu", "tanh"] = param("relu", "the default of the other nets")
    epochs: int = param(100, "Burges et al. 2005, Table 6: 100; the best epoch on validation is kept", ge=1)
    patience: int = param(10, "training ends after this many epochs without a better one on validation", ge=1)
    batch_documents: int = param(500, "best mean validation MAP on MQ2007; nearly equal from 500 to 2000", ge=1)
    learning_rate: float = param(3e-3, "best mean validation MAP on MQ2007; nearly equal from .003 to .01", gt=0)
    weight_decay: float = param(1.0, "Loshchilov & Hutter 2019 (AdamW); best mean validation MAP on MQ2007", ge=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


def rank_targets(scores: np.ndarray, labels: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return the (n,) float64 targets: the rank of each document in its list, scaled to [0, 1].

    Documents are ranked by grade and, within equal grades, by score. The ranks are evenly spaced from 0 for the worst
    document to 1 for the best. In a list with one document, the target is 0. If two documents have the same grade and
    score, the first in the file has the lower target. Caruana et al. 1996 sort and scale in this way. The range [0, 1]
    was not checked against the paper; a different range would change the outputs of the net, but not their order.

    scores: (n,). labels: (n,) grades. lists: (l+1,) offsets of the lists. A list is a query, or all documents together.
    """
    sizes = np.diff(lists)
    list_of_row = np.repeat(np.arange(len(sizes)), sizes)
    group = list_of_row * (int(labels.max()) + 1) + labels
    rows = np.lexsort(
        (scores, group.astype(np.min_scalar_type(group.max())))
    )  # integers of 8 or 16 bits are sorted faster
    targets = np.empty(len(scores))
    targets[rows] = (np.arange(len(rows)) - lists[list_of_row]) / np.maximum(sizes - 1, 1)[list_of_row]
    return targets


@register("rankprop")
class RankProp(NetRanker[RankPropParams]):
    reads_labels = "order"
    Params = RankPropParams
    requires = ("torch",)
    extra = "nets"
    space = NET
    published = LIBRARY
    summary = "RankProp: a net regressed on ranks that it orders itself among equal grades (Caruana et al. 1996)"

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: RankPropParams, seed: int, callback: Callback) -> Self:
        epochs = cls._epochs(with_grades_to_order(train, cls.name), params, seed)
        return best_of(epochs, vali, params.select_by, callback, params.patience).kept

    @classmethod
    def _epochs(cls, train: Collection, params: RankPropParams, seed: int) -> Iterator[Candidate]:
        """Yield one candidate per epoch, with the mean squared error as its loss.

        The targets are recomputed before each epoch.
        """
        import torch

        scorer, optimiser = create_scorer(train.features, params, seed)
        lists = train.offsets if params.ranks == "query" else np.array([0, train.rows])
        shuffle = np.random.default_rng(seed)
        batches = -(-train.rows // params.batch_documents)
        outputs = cls._outputs(scorer, train)
        for epoch in range(1, params.epochs + 1):
            ranks = rank_targets(outputs, train.labels, lists).astype(np.float32)
            targets = torch.from_numpy(ranks).to(scorer.inputs.device)
            error = 0.0
            for batch in np.array_split(shuffle.permutation(train.rows), batches):
                rows = torch.from_numpy(batch).to(targets.device)
                output = scorer.outputs(batch)
                gap = output.detach()[:, 0] - targets[rows]
                optimiser.zero_grad()
                output.backward(gap.mul(2.0).mul_(1.0 / len(batch))[:, None])  # the gradient of the mean squared error
                optimiser.step()
                error += gap.square().sum().item()
            outputs = cls._outputs(scorer, train)
            if not np.isfinite(outputs).all():
                raise GradrankError(
                    f"{cls.name}: training diverged in epoch {epoch}. Fix: lower learning_rate, now "
                    f"{params.learning_rate:g}, or weight_decay, now {params.weight_decay:g}"
                )
            yield Candidate(cls(scorer.export()), error / train.rows)

    @staticmethod
    def _outputs(scorer: "Scorer", train: Collection) -> np.ndarray:
        """Return the (n,) float32 outputs of the net for the whole training part, without dropout or noise."""
        import torch

        scorer.layers.eval()
        with torch.no_grad():
            outputs = scorer.outputs(np.arange(train.rows))[:, 0].cpu().numpy()
        scorer.layers.train()
        return outputs
