"""Compiled online updates of PRank (Crammer & Singer 2002).

The functions update one linear or quadratic PRank, or a committee of linear PRanks. There are k grades and k - 1
ascending thresholds b_1 <= ... <= b_{k-1}. In the paper, the predicted rank is the least r with score < b_r, or k if no
threshold exceeds the score. Here, grades start at 0, so the predicted grade is the number of thresholds that do not
exceed the score.
"""

import numpy as np

from gradrank.base.compiled import compiled

DRAW_ROWS = 4096  # documents per call of the random number generator


@compiled()
def move_thresholds(score, grade, thresholds):
    """Update the (k-1,) `thresholds` b in place for one document with features x.

    If the predicted grade is wrong, each threshold changes by b_r -= tau_r. Let y_r be +1 for r < grade and -1
    otherwise, with r from 0. Then tau_r is y_r if y_r (score - b_r) <= 0, and 0 otherwise. The thresholds remain
    ascending integers.

    Returns the sum of tau_r and the absolute error of the predicted grade. The caller adds (sum of tau_r) x to the
    weights. Source: Crammer & Singer 2002, Figure 2 and Lemma 1.
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
    """Return the sum of z_i W_ij z_j over the rows i of W and the columns j >= i.

    inner: (len(z),) array that is overwritten. The inner sums are independent, so the compiler can use vector
    instructions without changing their order.
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
def quadratic_scores(features, unit, weights):
    """Return the (n,) float64 scores z' W z, where z = (1, x * unit). The arguments are those of `prank_epoch`."""
    z, inner, out = np.empty(len(unit) + 1), np.empty(len(unit) + 1), np.empty(len(features))
    for i in range(len(features)):
        _expand(features[i], unit, z)
        out[i] = _form(z, weights, inner)
    return out


@compiled("f4[:,:], f8[:], i8[:], i8[:], f8[:,:], f8[:,:] out, f8[:] out")
def prank_epoch(features, unit, grades, rows, squared_scale, weights, thresholds):
    """Run PRank over the documents `rows`, and return the sum of the absolute errors of the predicted grades.

    `weights` and `thresholds` change in place. The score is w . phi(x) with phi_ij = s_ij z_i z_j for i <= j, where
    z = (1, x * unit). The stored weights are W_ij = s_ij w_ij. So the score is the sum of W_ij z_i z_j, and an update
    adds tau s_ij^2 z_i z_j to W_ij. The time per document is O(d) for a linear and O(d^2) for a quadratic PRank.

    features: (n, d) float32. unit: (d,) factors of the features. grades: (n,) grades from 0. rows: row numbers in the
    order of the updates. squared_scale: the squares s_ij^2. Their shape is (1, d+1) for a linear PRank, and (d+1, d+1)
    for a quadratic PRank. weights: W, with the same shape. thresholds: (k-1,) float64.
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
    """Run N linear PRanks over the documents `rows`. Each PRank uses a document with probability `share`.

    The (d, N) `weights` and the (N, k-1) `thresholds` change in place. Returns the sum of the absolute errors of the
    predicted grades, and the number of used documents, both summed over the N PRanks. rng: draws one number per
    document and PRank. The other arguments are those of `prank_epoch`.
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
    """Run `committee_epoch` for some of its rows. used: (rows, N) mask of the documents that each PRank uses.

    All N scores of each document are computed, because this is faster than computing only the scores that are used.
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
