"""Combining pairwise probabilities (Burges et al. 2005, section 3.1), and the two panels of its Figure 1.

RankNet models P_ij as sig(o_i - o_j), so log odds add along a chain: what holds between neighbours determines
every other posterior, and any set of neighbours' probabilities is consistent.
"""

import numpy as np
from scipy.special import expit, logit

from gradrank.base.errors import GradrankError
from gradrank.training.losses.ranknet import pair_cost


def combine(p_ij: np.ndarray | float, p_jk: np.ndarray | float) -> np.ndarray:
    """P_ik = P_ij P_jk / (1 + 2 P_ij P_jk - P_ij - P_jk) (Eq. 5), element by element.

    NaN where one is 0 and the other 1: two certainties that say nothing about i and k.
    Raises GradrankError for what is no probability.
    """
    p, q = _probabilities(p_ij), _probabilities(p_jk)
    both, neither = p * q, (1.0 - p) * (1.0 - q)
    with np.errstate(invalid="ignore"):
        return both / (both + neither)  # the same denominator, without cancellation


def chain(p: np.ndarray | float, n: int) -> np.ndarray:
    """P_{i,i+n} = D^n / (1 + D^n), D = P / (1 - P), where every neighbour has the same P (section 3.1).

    n >= 0 steps; 0 steps give 1/2. P > 1/2 tends to 1 with n, P < 1/2 to 0.
    """
    p = _probabilities(p)
    if n < 0:
        raise GradrankError(f"a chain of {n} steps: expected 0 or more")
    return expit(n * logit(p)) if n else np.full_like(p, 0.5)


def posteriors(adjacent: np.ndarray) -> np.ndarray:
    """(n, n) P_ij of n items from the (n-1,) P_{i,i+1} of neighbours (Theorem 1); the diagonal is 1/2.

    NaN where a certain step up and a certain step down lie between two items.
    """
    adjacent = _probabilities(adjacent)
    n = len(adjacent) + 1
    with np.errstate(invalid="ignore"):
        odds = np.cumsum(np.triu(np.tile(logit(adjacent), (n - 1, 1))), axis=1)
    out = np.full((n, n), 0.5)
    above = np.triu_indices(n, 1)
    out[above] = expit(odds[np.triu_indices(n - 1)])
    out.T[above] = 1.0 - out[above]
    return out


def figure1_cost(points: int = 201) -> tuple[np.ndarray, dict[float, np.ndarray]]:
    """Figure 1, left: (points,) o in [-5, 5] and RankNet's cost there for the targets 0, 1/2 and 1."""
    o = np.linspace(-5.0, 5.0, points)
    return o, {target: pair_cost(o, target) for target in (0.0, 0.5, 1.0)}


def figure1_combination(points: int = 201) -> tuple[np.ndarray, np.ndarray]:
    """Figure 1, right: (points,) P = P_ij = P_jk in [0, 1] and the combined P_ik."""
    p = np.linspace(0.0, 1.0, points)
    return p, combine(p, p)


def _probabilities(values: np.ndarray | float) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise GradrankError("a probability is NaN or outside [0, 1]")
    return values
