"""The combination of pairwise probabilities (Burges et al. 2005, section 3.1), and the two panels of Figure 1.

RankNet models P_ij as sig(o_i - o_j), so log odds add up along a chain of items. The probabilities of neighbours
determine all other probabilities, and any choice of probabilities for the neighbours is consistent.
"""

import numpy as np
from scipy.special import expit, logit

from gradrank.base.errors import GradrankError
from gradrank.training.losses.pairwise import pair_cost


def combine(p_ij: np.ndarray | float, p_jk: np.ndarray | float) -> np.ndarray:
    """Return P_ik = P_ij P_jk / (1 + 2 P_ij P_jk - P_ij - P_jk) (Eq. 5), element by element.

    The result is nan if one probability is 0 and the other one is 1, because then P_ik is not determined. Raises
    GradrankError if a value is nan or outside [0, 1].
    """
    p, q = _probabilities(p_ij), _probabilities(p_jk)
    both, neither = p * q, (1.0 - p) * (1.0 - q)
    with np.errstate(invalid="ignore"):
        return both / (both + neither)  # both + neither is the denominator of Eq. 5, computed without cancellation


def chain(p: np.ndarray | float, n: int) -> np.ndarray:
    """Return P_{i,i+n} = D^n / (1 + D^n) with D = P / (1 - P), if all neighbours have the probability P (section 3.1).

    n: number of steps, at least 0. The result is 1/2 for n = 0. As n grows, it tends to 1 for P > 1/2 and to 0 for P <
    1/2. Raises GradrankError if n is negative, or if a value is nan or outside [0, 1].
    """
    p = _probabilities(p)
    if n < 0:
        raise GradrankError(f"a chain of {n} steps: expected 0 or more")
    return expit(n * logit(p)) if n else np.full_like(p, 0.5)


def posteriors(adjacent: np.ndarray) -> np.ndarray:
    """Return the (n, n) matrix of P_ij, computed from the (n-1,) probabilities P_{i,i+1} of neighbours (Theorem 1).

    The diagonal is 1/2. P_ij is nan if the probabilities of the neighbours from i to j include both 0 and 1. Raises
    GradrankError if a value is nan or outside [0, 1].
    """
    adjacent = _probabilities(adjacent)
    n = len(adjacent) + 1
    with np.errstate(invalid="ignore"):
        odds = np.cumsum(np.triu(np.tile(logit(adjacent), (n - 1, 1))), axis=1)
    matrix = np.full((n, n), 0.5)
    above = np.triu_indices(n, 1)
    matrix[above] = expit(odds[np.triu_indices(n - 1)])
    matrix.T[above] = 1.0 - matrix[above]
    return matrix


def figure1_cost(points: int = 201) -> tuple[np.ndarray, dict[float, np.ndarray]]:
    """Return the curves in the left panel of Figure 1.

    The first value is the (points,) array of o in [-5, 5]. The second value is a dict. Its keys are the targets 0, 1/2
    and 1, and its values are the (points,) costs of RankNet at these o.
    """
    o = np.linspace(-5.0, 5.0, points)
    return o, {target: pair_cost(o, target) for target in (0.0, 0.5, 1.0)}


def figure1_combination(points: int = 201) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve in the right panel of Figure 1.

    The first array has the (points,) values of P = P_ij = P_jk in [0, 1]. The second array has the (points,) combined
    P_ik.
    """
    p = np.linspace(0.0, 1.0, points)
    return p, combine(p, p)


def _probabilities(values: np.ndarray | float) -> np.ndarray:
    """Return the values as float64. Raises GradrankError if a value is nan or outside [0, 1]."""
    values = np.asarray(values, dtype=np.float64)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise GradrankError("a probability is NaN or outside [0, 1]")
    return values
