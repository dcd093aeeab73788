"""ARSM-L2R (Dadaneh, Boluki, Zhou & Qian 2020): a net that is trained directly on a ranking measure.

For each document, the net returns the probabilities of several levels. In training, a level is drawn per document, and
documents are ranked by level. The measure need not be differentiable, because ARSM estimates the gradient of the
expected measure from the drawn levels. The defaults deviate from the paper to make the training more stable (see
ARSMParams).
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.data.row_ranges import rows_of
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.model_files import Content, read_content
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.scoring_form import Combined
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order
from gradrank.training.weights import relative_weights

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net

ROWS = 512  # documents per block of scoring, so that the outputs of 500 hidden units fit into the CPU cache


Combination = Literal["level", "square", "upper_half", "likeliest"]


class ScoringContent(Content):
    combination: Combination


class ARSMParams(ModelParams):
    """The parameters of ARSM-L2R. With the defaults, the training is more stable than with the settings of the paper.

    The settings that the paper states are `learning_rate: 0.0001, discount: standard, entropy: 0, draws: 1,
    averaged: 0, least_steps: 1, epochs: 2000, patience: 2000`. These settings are the variant `arsm_paper` of the study
    `arsm` in params.yaml.
    """

    levels: int = param(20, "C (the paper, experiments)", ge=2, le=255)
    hidden: int = param(500, "tanh units of the hidden layer (the paper, experiments)", ge=1)
    loss: str = param(
        "ndcg@10",
        "the measure that is maximised: ndcg@K, p@K or ap; the paper allows any",
        pattern=r"^(ap|(ndcg|p)@[1-9]\d*)$",
    )
    discount: Literal["letor4", "standard"] = param(
        "letor4",
        "discount of the maximised NDCG: 1 / log2 r from rank 2 on, as in LETOR's evaluation; standard: "
        "1 / log2(1 + r) (the paper)",
    )
    entropy: float = param(
        0.3,
        "weight of the mean entropy of the level of a document, added to the measure (Williams & Peng 1991). Without "
        "it (the paper), six of ten irrelevant documents have the same level and most levels are unused. Best mean "
        "validation MAP on MQ2007's folds 1 and 3 of 0 to 1.5, nearly equal above .1",
        ge=0,
    )
    draws: int = param(
        3,
        "draws of the levels per step, whose gradients are averaged (the paper: 1): less noise for a third more time",
        ge=1,
    )
    combination: Combination = param(
        "level",
        "score from the probabilities p_c of the levels: the expected level, sum c p_c (the paper); sum c^2 p_c; the "
        "probability of the upper half of the levels; or the most likely level",
    )
    learning_rate: float = param(1e-3, "Kingma & Ba 2015, section 2: Adam's default (the paper: 1e-4)", gt=0)
    averaged: float = param(
        8.0,
        "epochs over which the weights of the scoring net are averaged; 0: weights of the last step (the paper)",
        ge=0,
    )
    batch_queries: int = param(50, "queries per step", ge=1)
    least_steps: int = param(
        10,
        "smallest number of steps per epoch; an epoch makes several passes over a small collection (the paper: one "
        "pass). Mean validation NDCG@10 of OHSUMED, whose pass has 2 steps, rises for 300 passes",
        ge=1,
    )
    epochs: int = param(60, "largest number of epochs; the best on validation is kept (the paper: 2000)", ge=1)
    patience: int = param(
        30, "training ends after this many epochs without a better one (the paper: no such rule)", ge=1
    )
    select_by: str = param("ndcg@10", "validation measure that selects the epoch", pattern=CRITERION)


@register("arsm")
class ARSM(NetRanker[ARSMParams]):
    """A ranker whose score is the expected level, sum_c c p_c, where p = softmax(phi(x)) over the levels c = 1..C.

    The parameter `combination` can select a different score.
    """

    Params = ARSMParams
    uses_weights = "queries"
    summary = "ARSM-L2R: a tanh net trained on NDCG itself by the ARSM gradient (Dadaneh et al. 2020)"
    space: ClassVar = {
        "learning_rate": LogUniform(1e-4, 1e-2, "from the paper's to ten times Adam's default"),
        "entropy": Choice(
            (0.0, 0.1, 0.3, 1.0), "none, as in the paper, to the largest weight that leaves the measure dominant"
        ),
        "levels": Choice(
            (5, 10, 20, 40), "around the paper's 20; according to the paper, more levels than grades help"
        ),
        "hidden": Choice((100, 500), "the paper's 500, and a fifth of it"),
        "combination": Choice(("level", "square", "upper_half"), "the paper's score, and others from the same p_c"),
    }
    # The settings of the paper, except for its 2,000 epochs, because no other method has such a budget.
    published: ClassVar = {
        "learning_rate": 1e-4,
        "discount": "standard",
        "entropy": 0.0,
        "draws": 1,
        "averaged": 0.0,
        "least_steps": 1,
        "epochs": 300,
    }

    def __init__(self, net: "Net", combination: str = "level") -> None:
        """Create a ranker from a net whose C outputs are phi. combination: as in ARSMParams."""
        super().__init__(net)
        self.combination = combination

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: ARSMParams, seed: int, callback: Callback) -> Self:
        """Train the net and return the model of the best epoch.

        Raises GradrankError if no query has two different grades or if the training diverges.
        """
        from threadpoolctl import threadpool_limits

        train = with_grades_to_order(train, cls.name)
        with threadpool_limits(1, "blas"):  # with more threads, sums would be computed in a different order
            epochs = cls._epochs(train, params, seed)
            return best_of(epochs, vali, params.select_by, callback, params.patience).kept

    @classmethod
    def _epochs(cls, train: Collection, params: ARSMParams, seed: int) -> Iterator[Candidate]:
        """Yield one candidate per epoch. Its loss is the mean over queries of the loss of the drawn levels.

        The gradient of a query is multiplied by the relative weight of the query. The reported loss is not weighted.
        """
        from gradrank.models.arsm.expected_measure import measure_of
        from gradrank.models.arsm.gradient import arsm_gradient, entropy_gradient
        from gradrank.models.arsm.tanh_net import TanhNet
        from gradrank.training.nets.net import Net, standardisation, standardised
        from gradrank.training.solvers.adam import Adam, Average

        mean, scale = standardisation(train.features, train.weights)
        weights = relative_weights(train)
        features = standardised(train.features, mean, scale)
        measure = measure_of(params.loss, train.labels, train.offsets, params.discount)
        rng = np.random.default_rng(seed)
        net = TanhNet(features.shape[1], params.hidden, params.levels, rng)
        adam = Adam(net.parameters, params.learning_rate)
        steps = -(-train.queries // params.batch_queries)
        passes = -(-params.least_steps // steps)
        average = Average(net.parameters, max(1.0, params.averaged * passes * steps))
        for epoch in range(1, params.epochs + 1):
            loss = 0.0
            orders = (rng.permutation(train.queries) for _ in range(passes))
            for batch in chain.from_iterable(np.array_split(order, steps) for order in orders):
                rows, offsets = rows_of(batch, train.offsets)
                phi = net.forward(features[rows])
                gradient = params.entropy * entropy_gradient(phi, offsets)
                for _ in range(params.draws):
                    races = rng.standard_exponential(phi.shape)
                    drawn_loss, drawn = arsm_gradient(phi, races, offsets, measure.of(rows, batch))
                    gradient += drawn / params.draws
                    loss += drawn_loss / params.draws
                if weights is not None:
                    gradient *= np.repeat(weights[batch], np.diff(offsets))[:, None]
                adam.step(net.backward((gradient / len(batch)).astype(np.float32)))
                average.step()
            parameters = [p.copy() for p in average.means]
            if not all(np.isfinite(p).all() for p in parameters):
                raise GradrankError(
                    f"{cls.name}: training diverged in epoch {epoch}, weights are not finite. Fix: lower "
                    f"learning_rate, now {params.learning_rate:g}"
                )
            trained = Net(parameters[::2], parameters[1::2], mean, scale, "tanh")
            yield Candidate(cls(trained, params.combination), loss / (passes * train.queries))

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        blocks = range(0, max(len(features), 1), ROWS)  # the score of a document does not depend on other documents
        return np.concatenate([self._combined(features[start : start + ROWS]) for start in blocks])

    def _combined(self, features: np.ndarray) -> np.ndarray:
        """Return the (n,) scores that `combination` computes from the probabilities of the levels."""
        phi = self.net.outputs(features).astype(np.float64)
        if self.combination == "likeliest":
            return phi.argmax(axis=1) + 1.0
        p = np.exp(phi - phi.max(axis=1, keepdims=True))
        return (p * self._worth(phi.shape[1])).sum(axis=1) / p.sum(axis=1)

    def _worth(self, levels: int) -> np.ndarray:
        """Return the (C,) factors with which `combination` multiplies the probabilities of the levels."""
        level = np.arange(1, levels + 1)
        return {"level": level, "square": level**2, "upper_half": level > levels / 2}[self.combination]

    def scoring_form(self, features: int) -> Combined:
        form = self.outputs_form()
        if self.combination == "likeliest":
            return Combined((form,), np.arange(1.0, form.outputs + 1), "argmax")
        return Combined((form,), self._worth(form.outputs).astype(np.float64), "softmax")

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / "scoring.json", {"combination": self.combination})

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_plain_net

        stored = read_content(folder / "scoring.json", ScoringContent)
        return cls(load_plain_net(folder / "net.safetensors"), stored.combination)
