"""Estimators of the gradient of a measure that takes drawn levels: REINFORCE, AR, ARS and ARSM, from the same draws.

With races pi ~ Dirichlet(1_C) a document, levels z = argmin_c(ln pi_c - phi_c), and L_ck the loss of z^(c<->k), the
levels with pi_c and pi_k swapped in every document (Yin, Yue & Zhou 2019; L_cc is the loss of z):

    REINFORCE   L(z) (1[z_j = c] - p_jc)                                  1 loss a draw
    AR          L(z) (1 - C pi_jc)                                        1
    ARS         (L_cr - mean_m L_mr) (1 - C pi_jr), r drawn               C
    ARSM        sum_r (L_cr - mean_m L_mr) (1/C - pi_jr)                  C (C - 1) / 2 + 1

ARSM is the mean of ARS over r, and REINFORCE that of AR over the races that give the same z: neither varies more.
"""

from typing import NamedTuple

import numpy as np

from gradrank.models.arsm.expected_measure import measure_of
from gradrank.models.arsm.gradient import values_of_swaps


class Estimates(NamedTuple):
    """(draws, n, C) estimates of one gradient. baseline: REINFORCE with the loss less its mean over the draws."""

    reinforce: np.ndarray
    baseline: np.ndarray
    ar: np.ndarray
    ars: np.ndarray
    arsm: np.ndarray


def estimates(phi: np.ndarray, labels: np.ndarray, draws: int, rng: np.random.Generator) -> Estimates:
    """The gradient of E[-NDCG@10] by phi (n, C), estimated `draws` times from the same races by each estimator.

    labels: (n,) grades of the one query.
    """
    n, C = phi.shape
    measure = measure_of("ndcg@10", labels, np.array([0, n]))
    races = rng.standard_exponential((draws, n, C))
    pi = races / races.sum(axis=2, keepdims=True)
    log_pi = np.log(pi)
    losses = np.array([-measure.scale[0] * values_of_swaps(phi, own, *measure) for own in log_pi])
    drawn = losses[:, 0, 0][:, None, None]
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    scores = (np.argmin(log_pi - phi, axis=2)[:, :, None] == np.arange(C)) - p
    centred = losses - losses.mean(axis=1, keepdims=True)  # column r is L_cr less its mean over c
    each, reference = np.arange(draws), rng.integers(0, C, draws)
    ars = (1 - C * pi[each, :, reference])[:, :, None] * centred[each, :, reference][:, None, :]
    return Estimates(
        drawn * scores,
        (drawn - drawn.mean()) * scores,
        drawn * (1 - C * pi),
        ars,
        np.matmul(1 / C - pi, centred.transpose(0, 2, 1)),
    )


def losses_of(estimator: str, C: int) -> int:
    """How many losses a draw of an estimator, named as in Estimates, takes at C levels."""
    return {"ars": C, "arsm": C * (C - 1) // 2 + 1}.get(estimator, 1)
