"""ARSM-L2R (Dadaneh, Boluki, Zhou & Qian 2020): a net that draws a level a document, trained on any measure.

The measure needs no derivative: ARSM estimates the gradient of its expectation from the drawn levels alone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from gradrank.collection import Collection
from gradrank.errors import GradrankError
from gradrank.model import Callback, Model, ModelParams, param, register
from gradrank.protocol import CRITERION, report, with_grades_to_order
from gradrank.training import rows_of

if TYPE_CHECKING:
    from gradrank.nets import Net


class ARSMParams(ModelParams):
    """The paper's model; its training is `learning_rate: 1e-4, patience: 2000`, ours needs fewer epochs."""

    levels: int = param(20, "C (the paper, experiments)", ge=2, le=255)
    hidden: int = param(500, "tanh units of the one hidden layer (the paper, experiments)", ge=1)
    loss: str = param(
        "ndcg@10",
        "the measure that is raised: ndcg@K, p@K or ap; the paper allows any",
        pattern=r"^(ap|(ndcg|p)@[1-9]\d*)$",
    )
    learning_rate: float = param(1e-3, "Kingma & Ba 2015, section 2: Adam's default (the paper: 1e-4)", gt=0)
    batch_queries: int = param(50, "queries a step", ge=1)
    epochs: int = param(2000, "at most; the best on validation is kept (the paper, experiments)", ge=1)
    patience: int = param(50, "epochs without a better one that end the training (the paper: none)", ge=1)
    select_by: str = param("ndcg@10", "the epoch, by the validation part's", pattern=CRITERION)


@register("arsm")
class ARSM(Model):
    """score = sum_c c p_c, the expected level; p = softmax(phi(x)) over levels c = 1..C."""

    Params = ARSMParams
    summary = "ARSM-L2R: a tanh net trained on NDCG itself by the ARSM gradient (Dadaneh et al. 2020)"

    def __init__(self, net: "Net") -> None:
        self.net = net

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: ARSMParams, seed: int, callback: Callback
    ) -> Self:
        """Raises GradrankError where there is no order to learn or the scores stop being finite."""
        from threadpoolctl import threadpool_limits

        from gradrank.nets import Net, standardisation

        train = with_grades_to_order(train, cls.name)
        mean, scale = standardisation(train.features)
        best, best_value, best_epoch = None, -np.inf, 0
        with threadpool_limits(1, "blas"):  # more threads sum in another order
            for epoch, (loss, parameters) in enumerate(_epochs(train, mean, scale, params, seed), start=1):
                model = cls(Net(parameters[::2], parameters[1::2], mean, scale, "tanh"))
                scores = model.score(vali.features, vali.offsets)
                if not np.isfinite(scores).all():
                    raise GradrankError(
                        f"{cls.name}: training diverged in epoch {epoch}: scores are not finite; lower "
                        f"learning_rate, now {params.learning_rate:g}"
                    )
                value = report(callback, epoch, loss, scores, vali, params.select_by)
                if value > best_value:
                    best, best_value, best_epoch = model, value, epoch
                if epoch - best_epoch >= params.patience:
                    break
        return best

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        phi = self.net.outputs(features).astype(np.float64)
        p = np.exp(phi - phi.max(axis=1, keepdims=True))
        return (p * np.arange(1, p.shape[1] + 1)).sum(axis=1) / p.sum(axis=1)

    def save(self, folder: Path) -> None:
        self.net.save(folder / "net.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.nets import Net

        return cls(Net.load(folder / "net.safetensors"))


def _epochs(
    train: Collection, mean: np.ndarray, scale: np.ndarray, params: ARSMParams, seed: int
) -> Iterator[tuple[float, list[np.ndarray]]]:
    """(mean loss of the drawn levels, copy of the net's parameters) an epoch, on standardised features."""
    from gradrank.arsm_gradient import arsm_gradient, measure_of
    from gradrank.nets import standardised
    from gradrank.tanh_net import Adam, TanhNet

    features = standardised(train.features, mean, scale)
    measure = measure_of(params.loss, train.labels, train.offsets)
    rng = np.random.default_rng(seed)
    net = TanhNet(features.shape[1], params.hidden, params.levels, rng)
    adam = Adam(net.parameters, params.learning_rate)
    steps = -(-train.queries // params.batch_queries)
    for _ in range(params.epochs):
        loss = 0.0
        for batch in np.array_split(rng.permutation(train.queries), steps):
            rows, offsets = rows_of(batch, train.offsets)
            phi = net.forward(features[rows])
            races = rng.standard_exponential(phi.shape)
            batch_loss, gradient = arsm_gradient(phi, races, offsets, measure.of(rows, batch))
            adam.step(net.backward((gradient / len(batch)).astype(np.float32)))
            loss += batch_loss
        yield loss / train.queries, [p.copy() for p in net.parameters]
