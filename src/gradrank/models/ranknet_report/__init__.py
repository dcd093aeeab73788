"""The RankNet of a term report: a net with 64 and 32 ReLU units, trained by Adam on pairs of documents.

The report does not state the input of the net. With `reading: difference`, the input is x_i - x_j, and the output g
gives the probability p_ij = sigmoid(g(x_i - x_j)). Such a net is not antisymmetric, so each pair is scored in both
directions. P_ij = (p_ij + 1 - p_ji) / 2 then satisfies P_ij + P_ji = 1. With `reading: siamese`,
P_ij = sigmoid(f(x_i) - f(x_j)), as in Burges et al. 2005. With `reading: pointwise`, the net is trained on single
documents: sigmoid(f(x)) is the probability that the document is relevant, and documents are sorted by f.

The target of a pair is 1 if its first document is the better one, otherwise 0. With `targets: half_one`, the target of
the second case is 1/2. This is the report's (1 + S) / 2, where S is 1 if the first document is more relevant, otherwise
0.

With `scoring: row_sums`, as in the report, the score of document i of a query is the sum over j of P_ij. This score
depends on all documents of the query. With `scoring: plain`, the score depends only on the document. For a siamese net,
this score is f(x). For a difference net, this score is (g(x) - g(-x)) / 2 on standardised x: the logit of the pair of
the document and the mean document, averaged over both directions. For the other readings, both settings give the same
ranking.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import PositiveInt

from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.model_files import Content, read_content
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.scoring_form import Combined, NetForm, NoScoringForm, ScoringForm
from gradrank.training.search_space import Choice, Dimension, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_pairs_to_order
from gradrank.training.weights import weighted_pairs

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


SPACE: dict[str, Dimension] = {
    "learning_rate": LogUniform(1e-4, 1e-2, "a decade on either side of Adam's default"),
    "hidden": Choice(
        ((32, 16), (64, 32), (128, 64)), "layers half as wide as in the report, as wide, and twice as wide"
    ),
    "scoring": Choice(("row_sums", "plain"), "the report's form, and the output of the net"),
}


Reading = Literal["difference", "siamese", "pointwise"]
Scoring = Literal["row_sums", "plain"]


class ScoringContent(Content):
    reading: Reading
    scoring: Scoring


class RankNetReportParams(ModelParams):
    hidden: tuple[PositiveInt, ...] = param((64, 32), "ReLU units per hidden layer (the report)", min_length=1)
    reading: Reading = param(
        "difference",
        "the report trains on pair differences; siamese: Burges et al. 2005; pointwise: single documents, with the "
        "probability that the document is relevant",
    )
    targets: Literal["zero_one", "half_one"] = param(
        "zero_one",
        "target of a pair whose first document is better: 1, and of one whose first document is worse: 0, as in Burges "
        "et al. 2005; half_one: 1 and 1/2, the report's (1 + S) / 2 for S of 1 and 0",
    )
    scoring: Scoring = param(
        "row_sums", "the report sums the rows of the matrix of pair probabilities; plain: the output of the net"
    )
    epochs: int = param(10, "the report", ge=1)
    batch_pairs: int = param(32, "the report", ge=1)
    pairs_per_epoch: int = param(
        50_000,
        "a random sample per epoch, to save time; the report does not state one. An epoch of all 300,000 pairs of "
        "an MQ2007 fold takes six times as long. For `reading: pointwise`, the number of documents per epoch",
        ge=1,
    )
    learning_rate: float = param(1e-3, "Kingma & Ba 2015, section 2: Adam's default", gt=0)
    l2: float = param(0.0, "the report, without L2", ge=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


class RankNetReportL2Params(RankNetReportParams):
    l2: float = param(0.01, "the report, with L2; penalty l2 |W|^2 on the weights, as in Keras", ge=0)


@register("ranknet_report")
class RankNetReport(NetRanker[RankNetReportParams]):
    Params = RankNetReportParams
    summary = "RankNet (Burges et al. 2005) of the term report: 64-32 ReLU net on pair differences, sorted by row sums"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar = SPACE

    def __init__(self, net: "Net", reading: str, scoring: str = "row_sums") -> None:
        """Create a ranker from a trained net. reading, scoring: as in RankNetReportParams."""
        super().__init__(net)
        self.reading, self.scoring = reading, scoring

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetReportParams, seed: int, callback: Callback
    ) -> Self:
        if params.reading != "pointwise":
            train = with_pairs_to_order(train, cls.name)
        epochs = cls._epochs(train, vali, params, seed)
        return best_of(epochs, vali, params.select_by, callback).kept

    @classmethod
    def _epochs(
        cls, train: Collection, vali: Collection, params: RankNetReportParams, seed: int
    ) -> Iterator[Candidate]:
        from gradrank.models.ranknet_report.pair_net import PairNet, draw_documents, draw_pairs, train_epochs
        from gradrank.training.nets.net import Net, standardisation, standardised

        mean, scale = standardisation(train.features, train.weights)
        rng = np.random.default_rng(seed)
        net = PairNet([train.features.shape[1], *params.hidden, 1], params.reading == "siamese", rng)
        if params.reading == "pointwise":
            relevant = (train.labels > 0).astype(np.float64)
            draw = partial(draw_documents, relevant, train.weights, params.pairs_per_epoch, rng)
        else:
            draw = partial(draw_pairs, weighted_pairs(train), params.pairs_per_epoch, params.targets, rng)
        x = standardised(train.features, mean, scale)
        losses = train_epochs(net, x, draw, params.batch_pairs, params.learning_rate, params.l2)
        for epoch, loss in zip(range(1, params.epochs + 1), losses, strict=False):
            weights, biases = ([layer.copy() for layer in layers] for layers in (net.weights, net.biases))
            model = cls(Net(weights, biases, mean, scale, "relu"), params.reading, params.scoring)
            scores = model.score(vali.features, vali.offsets)
            if not (np.isfinite(scores).all() and np.isfinite(loss)):
                raise GradrankError(
                    f"{cls.name}: training diverged in epoch {epoch}, scores are not finite. Fix: lower "
                    f"learning_rate, now {params.learning_rate:g}, or l2, now {params.l2:g}"
                )
            yield Candidate(model, loss, scores)

    @property
    def scores_whole_queries(self) -> bool:
        return self.scoring == "row_sums"

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from gradrank.models.ranknet_report.pair_net import difference_row_sums, siamese_row_sums
        from gradrank.training.nets.layer_functions import affine
        from gradrank.training.nets.net import Net, standardised

        net = self.net
        assert isinstance(net, Net)
        if self.reading != "difference":
            scores = net.scores(features)
            return scores if self.scoring == "plain" else siamese_row_sums(scores, offsets)
        if self.scoring == "plain":
            return (net.scores(features) - replace(net, scale=-net.scale).scores(features)) / 2.0
        first, *further = net.weights
        x = standardised(features, net.mean, net.scale)
        h = affine(x, first, np.zeros_like(net.biases[0]))
        return difference_row_sums(h, tuple(further), tuple(net.biases), offsets)

    def scoring_form(self, features: int) -> ScoringForm:
        if self.scoring == "row_sums":
            raise NoScoringForm("its scores are sums over the pairs of a document with all documents of the query")
        form = super().scoring_form(features)
        if self.reading != "difference":
            return form
        assert isinstance(form, NetForm)
        mirrored = NetForm(replace(form.net, scale=-form.net.scale))  # g(-x)
        return Combined((form, mirrored), np.array([0.5, -0.5]))

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / "scoring.json", {"reading": self.reading, "scoring": self.scoring})

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.nets.net_files import load_plain_net

        stored = read_content(folder / "scoring.json", ScoringContent)
        return cls(load_plain_net(folder / "net.safetensors"), stored.reading, stored.scoring)


@register("ranknet_report_l2")
class RankNetReportL2(RankNetReport):
    Params = RankNetReportL2Params
    summary = "RankNet (Burges et al. 2005) of the term report, with L2: 64-32 ReLU net on pair differences, row sums"
    space: ClassVar = SPACE | {
        "l2": LogUniform(1e-5, 0.1, "from nearly no penalty to ten times the value of the report")
    }
