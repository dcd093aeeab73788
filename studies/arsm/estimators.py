"""Estimators of the gradient of a loss that depends on sampled levels: REINFORCE, AR, ARS and ARSM.

All estimators use the same draws. Each of the n documents j of a query has C outputs phi_j, races pi_j ~
Dirichlet(1_C), and the level z_j = argmin_c(ln pi_jc - phi_jc). L(z) is the loss of the levels z. L_ck is the loss of
the levels that result if pi_c and pi_k are swapped in every document, so L_cc = L(z) (Yin, Yue & Zhou 2019).

    estimator   gradient with respect to phi_jc              losses per draw
    REINFORCE   L(z) (1[z_j = c] - p_jc)                     1
    AR          L(z) (1 - C pi_jc)                           1
    ARS         (L_cr - mean_m L_mr) (1 - C pi_jr), r drawn  C
    ARSM        sum_r (L_cr - mean_m L_mr) (1/C - pi_jr)     C (C - 1) / 2 + 1

ARSM is the mean of ARS over r. REINFORCE is the mean of AR over the races that give the same z. The variance of ARSM is
therefore at most that of ARS, and the variance of REINFORCE is at most that of AR.
"""

from typing import NamedTuple

import numpy as np

from gradrank.models.arsm.expected_measure import measure_of
from gradrank.models.arsm.gradient import values_of_swaps


class Estimates(NamedTuple):
    """Estimates of one gradient. Each array has the shape (draws, n, C).

    baseline: REINFORCE with the mean loss over all draws subtracted.
    """

    reinforce: np.ndarray
    baseline: np.ndarray
    ar: np.ndarray
    ars: np.ndarray
    arsm: np.ndarray


def estimates(phi: np.ndarray, labels: np.ndarray, draws: int, rng: np.random.Generator) -> Estimates:
    """Return `draws` estimates of the gradient of E[-NDCG@10] with respect to phi, for every estimator.

    All estimators use the same races. phi: (n, C) outputs for the documents of one query. labels: (n,) grades of the
    documents.
    """
    n, C = phi.shape
    measure = measure_of("ndcg@10", labels, np.array([0, n]))
    races = rng.standard_exponential((draws, n, C))
    pi = races / races.sum(axis=2, keepdims=True)
    log_pi = np.log(pi)
    losses = np.array([-measure.scale[0] * values_of_swaps(phi, draw, *measure) for draw in log_pi])
    drawn = losses[:, 0, 0][:, None, None]
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    scores = (np.argmin(log_pi - phi, axis=2)[:, :, None] == np.arange(C)) - p
    centred = losses - losses.mean(axis=1, keepdims=True)  # element (c, r) is L_cr minus its mean over c
    every_draw, reference = np.arange(draws), rng.integers(0, C, draws)
    ars = (1 - C * pi[every_draw, :, reference])[:, :, None] * centred[every_draw, :, reference][:, None, :]
    return Estimates(
        drawn * scores,
        (drawn - drawn.mean()) * scores,
        drawn * (1 - C * pi),
        ars,
        np.matmul(1 / C - pi, centred.transpose(0, 2, 1)),
    )


def losses_of(estimator: str, C: int) -> int:
    """Return the number of losses that an estimator computes per draw with C levels.

    estimator: a field of Estimates.
    """
    return {"ars": C, "arsm": C * (C - 1) // 2 + 1}.get(estimator, 1)
