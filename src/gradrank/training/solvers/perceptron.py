"""Compiled online updates of PRank (Crammer & Singer 2002), for one linear or quadratic PRank or many linear PRanks.

There are k grades and ascending thresholds b_1 <= ... <= b_{k-1}. The predicted rank is the least r with score < b_r,
or k if no threshold is above the score. Here, grades start at 0: the predicted grade is the number of thresholds that
do not exceed the score.
"""

import numpy as np

from gradrank.base.compiled import compiled

DRAW_ROWS = 4096  # documents per call of the random number generator


@compiled()
def move_thresholds(score, grade, thresholds):
    """Update the (k-1,) `thresholds` in place for one document; return the sum of tau_r and the error in ranks.

    If the predicted grade is wrong, tau_r = y_r where y_r (score - b_r) <= 0, else 0, with y_r = +1 for r < grade and
    -1 otherwise, r from 0; then b_r -= tau_r. The caller adds (sum of tau_r) x to the weights. The thresholds remain
    ascending integers. Source: Crammer & Singer 2002, Figure 2 and Lemma 1.
    """
    predicted = 0
    while predicted < len(thresholds) and score >= thresholds[predicted]:
        predicted += 1
    if predicted == grade:
        return 0, 0
    move = 0
    for r in range(len(thresholds)):
        side = 1 if r < grade else -1
        if side * (score - thresholds[r]) <= 0.0:
            move += side
            thresholds[r] -= side
    return move, abs(predicted - grade)


@compiled()
def _expand(x, unit, z):
    """Write z = (1, x * unit) in place."""
    z[0] = 1.0
    for j in range(len(x)):
        z[j + 1] = x[j] * unit[j]


@compiled()
def _form(z, weights, inner):
    """Return sum_{i <= j} z_i W_ij z_j over the rows of W. inner: (len(z),) scratch array.

    The inner sums are independent, so the compiler can use vector instructions without changing their order.
    """
    inner[:] = 0.0
    for i in range(len(weights)):
        for j in range(i, len(z)):
            inner[j] += z[i] * weights[i, j]
    total = 0.0
    for j in range(len(z)):
        total += inner[j] * z[j]
    return total


@compiled("f4[:,:], f8[:], f8[:,:]")
def form_scores(features, unit, weights):
    """Return (n,) float64 scores z' W z, z = (1, x * unit); arguments as in `prank_epoch`."""
    z, inner, out = np.empty(len(unit) + 1), np.empty(len(unit) + 1), np.empty(len(features))
    for i in range(len(features)):
        _expand(features[i], unit, z)
        out[i] = _form(z, weights, inner)
    return out


@compiled("f4[:,:], f8[:], i8[:], i8[:], f8[:,:], f8[:,:] out, f8[:] out")
def prank_epoch(features, unit, grades, rows, squared_scale, weights, thresholds):
    """Run PRank over the documents `rows`, update `weights` and `thresholds`, and return the sum of rank errors.

    The score is w . phi(x) with phi_ij = s_ij z_i z_j for i <= j and z = (1, x * unit). The stored weights are
    W_ij = s_ij w_ij, so that the score is sum W_ij z_i z_j and an update adds tau s_ij^2 z_i z_j. The time per document
    is O(d^2).

    features: (n, d) float32. unit: (d,) factors of the features. grades: (n,) from 0. rows: row numbers in the order of
    the updates. squared_scale: s_ij^2, of shape (1, d+1) for a linear PRank and (d+1, d+1) for a quadratic one.
    weights: W, of the same shape. thresholds: (k-1,) float64.
    """
    z, inner = np.empty(len(unit) + 1), np.empty(len(unit) + 1)
    errors = 0
    for row in rows:
        _expand(features[row], unit, z)
        move, error = move_thresholds(_form(z, weights, inner), grades[row], thresholds)
        errors += error
        if move != 0:
            for i in range(len(weights)):
                step = move * z[i]
                for j in range(i, len(z)):
                    weights[i, j] += step * squared_scale[i, j] * z[j]
    return errors


def committee_epoch(
    features: np.ndarray,
    unit: np.ndarray,
    grades: np.ndarray,
    rows: np.ndarray,
    share: float,
    rng: np.random.Generator,
    weights: np.ndarray,
    thresholds: np.ndarray,
) -> tuple[int, int]:
    """Run N linear PRanks over the documents `rows`; each PRank uses a document with probability `share`.

    Updates `weights` (d, N) and `thresholds` (N, k-1) in place. Returns the rank errors and the number of used
    documents, both summed over the N PRanks. rng: draws one number per document and PRank. Other arguments as in
    `prank_epoch`.
    """
    errors, seen = 0, 0
    for start in range(0, len(rows), DRAW_ROWS):
        part = rows[start : start + DRAW_ROWS]
        used = rng.random((len(part), weights.shape[1])) < share
        more_errors, more_seen = _committee(features, unit, grades, part, used, weights, thresholds)
        errors, seen = errors + more_errors, seen + more_seen
    return errors, seen


@compiled("f4[:,:], f8[:], i8[:], i8[:], b1[:,:], f8[:,:] out, f8[:,:] out")
def _committee(features, unit, grades, rows, used, weights, thresholds):
    """Run `committee_epoch` over some rows. used: (rows, N) mask of the documents that each PRank uses.

    All N scores are computed for each document, which is faster than computing only the scores that are used.
    """
    members = weights.shape[1]
    scores, moves = np.empty(members), np.empty(members)
    errors, seen = 0, 0
    for place, row in enumerate(rows):
        scores[:] = 0.0
        for j in range(len(unit)):
            x = features[row, j] * unit[j]
            if x != 0.0:
                for m in range(members):
                    scores[m] += x * weights[j, m]
        moves[:] = 0.0
        for m in range(members):
            if used[place, m]:
                move, error = move_thresholds(scores[m], grades[row], thresholds[m])
                moves[m] = move
                errors += error
                seen += 1
        for j in range(len(unit)):
            x = features[row, j] * unit[j]
            if x != 0.0:
                for m in range(members):
                    weights[j, m] += moves[m] * x
    return errors, seen
