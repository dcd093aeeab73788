"""PRank's online updates (Crammer & Singer 2002), compiled: a quadratic form, or many linear ranks at once.

The rank predicted from a score is the least r with score < b_r, or k if there is none, of the ascending
thresholds b_1 <= ... <= b_{k-1}. Grades count from 0 here: the number of thresholds not above it.
"""

import numpy as np

from gradrank.base.compiled import compiled

DRAWN = 4096  # documents whose coins are drawn at a time


@compiled()
def move_thresholds(score, grade, thresholds):
    """One example's update of `thresholds` (k-1,), in place; returns (sum of tau_r, ranks in error).

    If the predicted grade is wrong, tau_r = y_r where y_r (score - b_r) <= 0, else 0, with y_r = +1 for
    r < grade and -1 above; b_r -= tau_r (Crammer & Singer 2002, Figure 2). The weights move by
    (sum of tau_r) x. Thresholds in ascending order stay so (Lemma 1 there), and start and stay integers.
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
    """z = (1, x / scale), `unit` being 1 / scale; in place."""
    z[0] = 1.0
    for j in range(len(x)):
        z[j + 1] = x[j] * unit[j]


@compiled()
def _form(z, weights, inner):
    """sum_{i <= j} z_i W_ij z_j over the rows that W has; `inner` (len(z),) is scratch.

    The inner sums run side by side, so the compiler may use vector instructions without changing their order.
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
    """(n,) float64 z' W z of each document, z = (1, x * unit); shapes as in `prank_epoch`."""
    z, inner, out = np.empty(len(unit) + 1), np.empty(len(unit) + 1), np.empty(len(features))
    for i in range(len(features)):
        _expand(features[i], unit, z)
        out[i] = _form(z, weights, inner)
    return out


@compiled("f4[:,:], f8[:], i8[:], i8[:], f8[:,:], f8[:,:] out, f8[:] out")
def prank_epoch(features, unit, grades, rows, squared_scale, weights, thresholds):
    """PRank over the documents `rows`, one by one; moves `weights` and `thresholds`, returns ranks in error.

    The machine is w . phi(x) with phi_ij = s_ij z_i z_j for i <= j and z = (1, x * unit). It is kept as
    W_ij = s_ij w_ij, so that the score is sum W_ij z_i z_j and an update adds tau s_ij^2 z_i z_j: a document
    costs O(d^2), however many went before it and whatever the s_ij.

    features: (n, d); unit: (d,); grades: (n,) from 0; rows: row numbers in the order of the stream.
    squared_scale: s_ij^2, (1, d+1) for a linear machine (i = 0 alone), (d+1, d+1) for a quadratic one.
    weights: W, of that shape; thresholds: (k-1,) float64.
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
    coins: np.random.Generator,
    weights: np.ndarray,
    thresholds: np.ndarray,
) -> tuple[int, int]:
    """N linear PRanks over the documents `rows`; each sees a document with probability `share`.

    Moves `weights` (d, N) and `thresholds` (N, k-1); returns (ranks in error, documents seen), both summed
    over members. coins: draws one number per document and member; the other arguments are as in `prank_epoch`.
    """
    errors, seen = 0, 0
    for start in range(0, len(rows), DRAWN):
        part = rows[start : start + DRAWN]
        sees = coins.random((len(part), weights.shape[1])) < share
        more_errors, more_seen = _committee(features, unit, grades, part, sees, weights, thresholds)
        errors, seen = errors + more_errors, seen + more_seen
    return errors, seen


@compiled("f4[:,:], f8[:], i8[:], i8[:], b1[:,:], f8[:,:] out, f8[:,:] out")
def _committee(features, unit, grades, rows, sees, weights, thresholds):
    """`committee_epoch` over some rows. sees: (rows, N), whether each member sees each of these documents.

    All members are scored at once, which is faster than to score only those that see the document.
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
            if sees[place, m]:
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
