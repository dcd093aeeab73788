"""Kernel RankNet (Burges et al. 2005, Eq. 17-18): f(x) = sum_i a_i K(x_i, x), trained on RankNet's cost.

The penalty l2/2 |f|_H^2 is added to the cost. In the paper, the sum over i includes all training documents. Here it
includes only a sample of them, the landmarks (the Nystroem method, see gradrank.models.ranknet_kernel.nystroem). The
saved model contains the landmarks. The landmarks are standardised training documents, so the licence of the data covers
the model.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, check_arrays, check_types, check_width, parse_content, read_arrays
from gradrank.training.scoring_form import KernelForm
from gradrank.training.search_space import Grid, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_pairs_to_order

if TYPE_CHECKING:
    from gradrank.models.ranknet_kernel.nystroem import Kernel

Positive = Annotated[float, Field(gt=0)]


class RankNetKernelParams(ModelParams):
    kernel: Literal["rbf", "polynomial"] = param("rbf", "the 2005 paper, Eq. 17, does not state a kernel")
    gamma: Grid[Positive] = param(
        (2.0**-9,), "on standardised features; the best mean validation MAP on MQ2007 of 2^-11 to 2^-6", min_length=1
    )
    degree: int = param(
        2, "degree of the polynomial kernel; products of two features, as in quadratic PRank", ge=1, le=8
    )
    landmarks: int = param(
        2000, "number in the best published RBF RankSVM on MQ2007; at most all training documents", ge=1
    )
    l2: Grid[Positive] = param(
        (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6),
        "penalty relative to the cost of equal scores; validation MAP is best at 1e-5 on MQ2007 (1,000 training "
        "queries) and above 1e-4 on OHSUMED (60)",
        min_length=1,
    )
    select_by: str = param("map", "LETOR's protocol: gamma and l2 by the validation part's MAP", pattern=CRITERION)


class KernelContent(Content):
    name: Literal["rbf", "polynomial"]
    gamma: Positive
    degree: Annotated[int, Field(ge=1, le=8)]


SHAPES: dict[str, tuple[str, ...]] = {
    "mean": ("features",),
    "scale": ("features",),
    "landmarks": ("landmarks", "features"),
    "coefficients": ("landmarks",),
}


@register("ranknet_kernel")
class RankNetKernel(Model[RankNetKernelParams]):
    Params = RankNetKernelParams
    summary = "Kernel RankNet on all pairs, RBF or polynomial by Nystroem landmarks (Burges et al. 2005)"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar = {"gamma": LogUniform(2.0**-12, 2.0**-5, "an eighth to sixteen times the published 2^-9 to 2^-8")}
    # gamma: the value of the best published RBF RankSVM on MQ2007. l2: the middle of the grid.
    published: ClassVar = {"gamma": 2.0**-8, "l2": 1e-4}

    def __init__(
        self, kernel: "Kernel", landmarks: np.ndarray, coefficients: np.ndarray, mean: np.ndarray, scale: np.ndarray
    ) -> None:
        """Create a ranker with m landmarks.

        landmarks: (m, d) standardised features. coefficients: (m,). mean, scale: (d,) mean and standard deviation with
        which features are standardised.
        """
        self.kernel, self.landmarks, self.coefficients = kernel, landmarks, coefficients
        self.mean, self.scale = mean, scale

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetKernelParams, seed: int, callback: Callback
    ) -> Self:
        """Fit one model per combination of gamma and l2, and return the model that is best on validation.

        The callback is called once per combination. For each gamma, the values of l2 are in descending order. Raises
        GradrankError if no query has a pair or if the kernel overflows.
        """
        from gradrank.models.ranknet_kernel.nystroem import Kernel, Problem, expanded, regularised_path
        from gradrank.training.losses.ranknet import ranknet, ranknet_curvature
        from gradrank.training.nets.net import standardisation, standardised

        train = with_pairs_to_order(train, cls.name)
        targets, ties, weights = train.targets, train.ties, train.query_weights
        mean, scale = standardisation(train.features, train.weights)
        features = standardised(train.features, mean, scale)
        rng = np.random.default_rng(seed)
        landmarks = features[np.sort(rng.permutation(train.rows)[: params.landmarks])]

        def cost(scores: np.ndarray) -> tuple[float, np.ndarray]:
            return ranknet(scores, targets, train.offsets, ties=ties, weights=weights)

        curvature = ranknet_curvature(targets, train.offsets, ties)
        problem = Problem(cost, curvature if train.weights is None else train.weights * curvature, train.offsets)
        validated = standardised(vali.features, mean, scale)

        def candidates() -> Iterator[Candidate]:
            for gamma in params.gamma:
                kernel, matrix = Kernel(params.kernel, gamma, params.degree), None
                for used, coefficients, loss in regularised_path(features, kernel, landmarks, problem, params.l2):
                    matrix = kernel.matrix(validated, used) if matrix is None else matrix
                    model = cls(kernel, used, coefficients, mean, scale)
                    scores = expanded(matrix, coefficients)
                    if not np.isfinite(scores).all():
                        raise GradrankError(
                            f"{cls.name}: the kernel overflows. Fix: lower gamma, now {gamma:g}, or degree, now "
                            f"{params.degree}"
                        )
                    yield Candidate(model, loss, scores)

        return best_of(candidates(), vali, params.select_by, callback).kept

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from gradrank.training.nets.net import standardised

        x = standardised(features, self.mean, self.scale)
        return self.kernel.expansion(x, self.landmarks, self.coefficients)

    def scoring_form(self, features: int) -> KernelForm:
        return KernelForm(self.kernel, self.landmarks, self.coefficients, self.mean, self.scale)

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save

        names = ("landmarks", "coefficients", "mean", "scale")
        # The metadata has a single key, because safetensors writes several keys in an order that varies between calls.
        metadata = {"kernel": json.dumps(dataclasses.asdict(self.kernel))}
        with atomic(folder / "kernel.safetensors") as partial:
            partial.write_bytes(save({name: getattr(self, name) for name in names}, metadata=metadata))

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.models.ranknet_kernel.nystroem import Kernel

        path = folder / "kernel.safetensors"
        arrays, metadata = read_arrays(path)
        stored = parse_content(path, metadata.get("kernel", ""), KernelContent, "kernel.")
        check_arrays(path, arrays, SHAPES)
        check_types(path, arrays, {"landmarks": np.float32})
        return cls(Kernel(stored.name, stored.gamma, stored.degree), **arrays)

    def check_width(self, features: int) -> None:
        check_width("kernel.safetensors", len(self.mean), features)
