"""Sums over pairs for FRank (Tsai et al. 2007): weights of the pairs that a stump orders, and its fidelity loss.

A pair with weight D and score difference H (better minus worse document) has the loss D (1 - sqrt(p)), p = sigmoid(H).
Twice its slope, W = D sqrt(p) (1 - p), is the weight of the pair in the selection of the next stump.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], f8[:]")
def pair_weights(differences, shares):
    """Return the (p,) weights W of the pairs and the sum of their losses. differences: (p,) H. shares: (p,) D."""
    weights = np.empty(len(differences))
    loss = 0.0
    for i in range(len(differences)):
        e = np.exp(-abs(differences[i]))
        p = (1.0 if differences[i] >= 0.0 else e) / (1.0 + e)
        miss = (e if differences[i] >= 0.0 else 1.0) / (1.0 + e)
        root = np.sqrt(p)
        weights[i] = shares[i] * root * miss
        loss += shares[i] * miss / (1.0 + root)  # equals 1 - sqrt(p) without cancellation
    return weights, loss


@compiled("u2[:,:], i4[:], i4[:], f8[:], i8")
def cut_sums(codes, better, worse, weights, cuts):
    """Return (2, d, cuts) sums of W over the pairs that a stump 1[code > cut] orders correctly and incorrectly.

    codes: (d, n) uint16, from 0 to `cuts`. better, worse: (p,) rows; pairs with the same better document are adjacent.
    weights: (p,) W.

    The cost is O(d (p + cuts)). The stumps with a cut between the two codes of a pair order the pair, so its weight is
    added at the lower code and subtracted at the higher one, and the sums are running sums over cuts.
    """
    width = cuts + 1
    sums = np.zeros((len(codes), 2 * width))
    for f in range(len(codes)):
        row, here = codes[f], sums[f]
        i = 0
        while i < len(better):
            document = better[i]
            code = row[document]
            whole = wrong = 0.0
            while i < len(better) and better[i] == document:
                other = row[worse[i]]
                side = 1 if other > code else 0
                whole += weights[i]
                wrong += side * weights[i]
                here[side * width + other] += (1 - 2 * side) * weights[i]
                i += 1
            here[code] -= whole - wrong
            here[width + code] += wrong
    out = np.empty((2, len(codes), cuts))
    for side in range(2):
        for f in range(len(codes)):
            running = 0.0
            for cut in range(cuts):
                running += sums[f, side * width + cut]
                out[side, f, cut] = running
    return out


@compiled("f8[:], f8[:], i4[:], i4[:], u2[:], i8, f8")
def loss_with(odds, shares, better, worse, row, cut, alpha):
    """Return the sum of the losses after alpha 1[code > cut] is added to the scores.

    odds: (p,) e^-H. shares: (p,) D. better, worse: (p,) rows. row: (n,) codes of the feature.
    """
    factors = np.array(
        [np.exp(alpha), 1.0, np.exp(-alpha)]
    )  # of the odds: only the worse, neither or both, only the better document is above the cut
    loss = 0.0
    for i in range(len(odds)):
        above = (1 if row[better[i]] > cut else 0) - (1 if row[worse[i]] > cut else 0)
        loss += shares[i] * (1.0 - 1.0 / np.sqrt(1.0 + odds[i] * factors[above + 1]))
    return loss
