"""Scoring forms: the formula of a trained model as data, for export to other programs and for explanations.

A model that can be written as a formula of the features of one document (or, for attention nets, of one query) returns
one of the forms below from `Model.scoring_form`. The forms describe the (n,) float64 scores that `Model.score` returns,
for (n, d) float32 features after the normalisation of the data set.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from gradrank.base.errors import GradrankError

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


class NoScoringForm(GradrankError):
    """Raised by `Model.scoring_form` if the score of the model cannot be written as one of the forms.

    The message is a clause with the reason, such as "its scores depend on the ranks of the other documents".
    """


@dataclass(frozen=True)
class LinearForm:
    """The score weights . x + intercept.

    weights: (d,) float64.
    """

    weights: np.ndarray
    intercept: float = 0.0


@dataclass(frozen=True)
class QuadraticForm:
    """The score z' W z or w . z with z = (1, unit * x), computed in float64.

    weights: (1, d+1) array w, or (d+1, d+1) array W. unit: (d,) factors of the features.
    """

    weights: np.ndarray
    unit: np.ndarray


@dataclass(frozen=True)
class Tree:
    """A binary regression tree. Node 0 is the root. A document x goes to the left child if x_f <= threshold.

    Parameters
    ----------
    feature
        (m,) int feature of each inner node, from 0; -1 for a leaf.
    threshold
        (m,) float64 thresholds; 0 for a leaf. The comparison is that of the float32 value of the feature, converted to
        float64.
    left, right
        (m,) int numbers of the children; -1 for a leaf.
    missing_left
        (m,) bool, whether a missing value (NaN) goes to the left child.
    value
        (m,) float64 values of the leaves; 0 for an inner node.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class TreesForm:
    """The score intercept + the sum of the values of the leaves that a document reaches, one leaf per tree."""

    trees: tuple[Tree, ...]
    intercept: float = 0.0


@dataclass(frozen=True)
class NetForm:
    """The K outputs of all members of a net. They are scores if K = 1; otherwise they are parts of a `Combined`.

    net: the net with the preprocessing of its inputs.
    """

    net: "Net"

    @property
    def outputs(self) -> int:
        """The number K of outputs."""
        members, outputs = self.net.shape
        return members * outputs


class Kernel(Protocol):
    """A kernel k. `rbf` is exp(-gamma |x - z|^2), and `polynomial` is (1 + gamma x.z)^degree."""

    @property
    def name(self) -> str: ...

    @property
    def gamma(self) -> float: ...

    @property
    def degree(self) -> int: ...

    def expansion(self, x: np.ndarray, landmarks: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 sums sum_j a_j k(x_i, z_j) for (n, d) x, (m, d) landmarks z and (m,) a."""
        ...


@dataclass(frozen=True)
class KernelForm:
    """The score sum_j coefficients_j k((x - mean) / scale, landmark_j). (x - mean) / scale is rounded to float32.

    kernel: the function k. landmarks: (m, d) standardised features. coefficients: (m,). mean, scale: (d,) float64.
    """

    kernel: Kernel
    landmarks: np.ndarray
    coefficients: np.ndarray
    mean: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Combined:
    """One score computed from the outputs o_1, ..., o_K of the forms, in their order.

    forms: forms with one output each, or a single NetForm with K outputs.
    weights: (K,) float64 weights w.
    rule: `sum` is sum_k w_k o_k; `logistic` is sum_k w_k / (1 + exp(-o_k)); `softmax` is sum_k w_k p_k, where p is the
    softmax of o; `argmax` is w_k of the largest output, and of the first one if several are largest.
    """

    forms: "tuple[ScoringForm, ...]"
    weights: np.ndarray
    rule: Literal["sum", "logistic", "softmax", "argmax"] = "sum"


ScoringForm = LinearForm | QuadraticForm | TreesForm | NetForm | KernelForm | Combined
