"""PRank (Crammer & Singer 2002): an online perceptron that learns a weight vector and one threshold per grade.

The three models rank by w . phi(x):
  prank            phi(x) = the features
  prank_quadratic  phi(x) = the features and all their products x_i x_j, i <= j
  prank_kernel     phi(x) = the features times sqrt(2 coef0), the products x_i x_j, i <= j, and the constant coef0;
                   products of two different features are multiplied by sqrt(2). This is the phi(x) of the kernel
                   K(x, z) = (x . z + coef0)^2

The kernel model is stored as the equivalent (d+1, d+1) matrix, not as a list of support documents. This is exact. With
the matrix, a score costs O(d^2). With a list, a score would cost O(d) per support document, and on real collections
there are tens of thousands of support documents.

The model deviates from the paper in one way: the documents are not presented query by query, but in a random order that
is drawn in each epoch.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np

from gradrank.base.files import atomic
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import check_arrays, check_types, check_width, damaged, read_arrays
from gradrank.training.scoring_form import LinearForm, QuadraticForm, ScoringForm
from gradrank.training.search_space import LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order


class PRankParams(ModelParams):
    epochs: int = param(100, "Burges et al. 2005, Table 6: 100", ge=1)
    patience: int = param(
        10, "training ends after this many epochs without a change of the training error; Burges et al. 2005: 10", ge=1
    )
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


class PRankKernelParams(PRankParams):
    coef0: float = param(1.0, "K(x, z) = (x . z + 1)^2: Crammer & Singer 2002, section 4 (from memory)", ge=0)


P = TypeVar("P", bound=PRankParams)


@register("prank")
class PRank(Model[P]):
    """A ranker with score = sum_{i <= j} W_ij z_i z_j, where z = (1, x / scale). Linear models have only the row i = 0.

    Features are divided by their standard deviation, and constant features are left out. Features are not centred:
    centring lowers the mean validation MAP of the quadratic models on MQ2007 by .03 and does not improve the linear
    model.
    """

    reads_labels = "grades"
    Params = PRankParams
    summary = "PRank: perceptron with a threshold a grade, linear (Crammer & Singer 2002)"

    def __init__(self, weights: np.ndarray, unit: np.ndarray) -> None:
        """Create a ranker with the matrix W.

        weights: W, of shape (1, d+1) or (d+1, d+1). unit: (d,) factors by which the features are multiplied.
        """
        self.weights, self.unit = weights, unit

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
        epochs = cls._epochs(with_grades_to_order(train, cls.name), params, seed)
        return best_of(until_unchanged(epochs, params.patience), vali, params.select_by, callback).kept

    @classmethod
    def _epochs(cls, train: Collection, params: P, seed: int) -> Iterator[Candidate]:
        """Yield one candidate per epoch. An epoch is a pass over all documents in random order.

        Models are worse if the documents of each query are presented together.
        """
        from gradrank.training.solvers.perceptron import prank_epoch

        rng = np.random.default_rng(seed)
        unit = feature_unit(train.features)
        squared_scale = cls.squared_scale(len(unit), params)
        weights, thresholds = np.zeros_like(squared_scale), np.zeros(train.labels.max())
        for _ in range(params.epochs):
            errors = prank_epoch(
                train.features, unit, train.labels, rng.permutation(train.rows), squared_scale, weights, thresholds
            )
            yield Candidate(cls(weights.copy(), unit), errors / train.rows)

    @staticmethod
    def squared_scale(features: int, params: P) -> np.ndarray:
        """Return the squares of the factors s_ij in phi_ij = s_ij z_i z_j. Their shape is that of the weights.

        See gradrank.training.solvers.perceptron. features: the number of features d.
        """
        scale = np.ones((1, features + 1))
        scale[0, 0] = 0.0
        return scale

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from gradrank.training.solvers.perceptron import quadratic_scores

        return quadratic_scores(features, self.unit, self.weights)

    def scoring_form(self, features: int) -> ScoringForm:
        if len(self.weights) == 1:
            return LinearForm(self.weights[0, 1:] * self.unit, float(self.weights[0, 0]))
        return QuadraticForm(self.weights, self.unit)

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save

        with atomic(folder / "prank.safetensors") as partial:
            partial.write_bytes(save({"weights": self.weights, "unit": self.unit}))

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / "prank.safetensors"
        arrays, _ = read_arrays(path)
        features = check_arrays(path, arrays, {"unit": ("features",), "weights": ("rows", "columns")})["features"]
        check_types(path, arrays, {})
        if arrays["weights"].shape not in ((1, features + 1), (features + 1, features + 1)):
            raise damaged(path, f"the array weights has the shape {arrays['weights'].shape} for {features} features")
        return cls(**arrays)

    def check_width(self, features: int) -> None:
        check_width("prank.safetensors", len(self.unit), features)


@register("prank_quadratic")
class PRankQuadratic(PRank[PRankParams]):
    summary = "PRank on the features and all their products (Crammer & Singer 2002)"

    @staticmethod
    def squared_scale(features: int, params: PRankParams) -> np.ndarray:
        scale = np.triu(np.ones((features + 1, features + 1)))
        scale[0, 0] = 0.0
        return scale


@register("prank_kernel")
class PRankKernel(PRank[PRankKernelParams]):
    Params = PRankKernelParams
    summary = "PRank with a polynomial kernel of degree 2 (Crammer & Singer 2002)"
    space: ClassVar = {"coef0": LogUniform(0.01, 100.0, "two decades on either side of the paper's value")}

    @staticmethod
    def squared_scale(features: int, params: PRankKernelParams) -> np.ndarray:
        scale = 2.0 * np.triu(np.ones((features + 1, features + 1))) - np.eye(features + 1)
        scale[0] *= params.coef0
        scale[0, 0] *= params.coef0
        return scale


def until_unchanged(epochs: Iterable[Candidate], patience: int) -> Iterator[Candidate]:
    """Yield `epochs` until the training error has been unchanged for `patience` epochs."""
    last, unchanged = None, 0
    for epoch in epochs:
        unchanged = unchanged + 1 if epoch.loss == last else 0
        last = epoch.loss
        yield epoch
        if unchanged == patience:
            return


def feature_unit(features: np.ndarray) -> np.ndarray:
    """Return the (d,) inverse standard deviations of (n, d) features; 0 for a constant feature."""
    varying = np.ptp(features, axis=0) > 0  # due to rounding, the computed deviation of a constant feature can be > 0
    deviation = features.std(axis=0, dtype=np.float64)
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varying)
