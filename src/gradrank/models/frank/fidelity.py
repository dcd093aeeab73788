"""Sums over pairs for FRank (Tsai et al. 2007): the weights of the pairs that a stump orders, and the fidelity loss.

H is the score difference of a pair, better minus worse document. A pair with the share D has the loss D (1 - sqrt(p)),
where p = sigmoid(H). The weight of the pair in the selection of the next stump is W = D sqrt(p) (1 - p), which is twice
the absolute derivative of the loss.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], f8[:]")
def pair_weights(differences, shares):
    """Return the (p,) weights W of the pairs, and the sum of the losses of the pairs.

    differences: (p,) H. shares: (p,) D.
    """
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
    """Return the (2, d, cuts) sums of W over the pairs that each stump 1[code > cut] orders.

    The first (d, cuts) array has the sums over the correctly ordered pairs, and the second array has the sums over the
    incorrectly ordered pairs.

    codes: (d, n) uint16, from 0 to `cuts`. better, worse: (p,) rows; pairs with the same better document are adjacent.
    weights: (p,) W.

    The cost is O(d (p + cuts)). A pair is ordered by the stumps whose cut is between the two codes of the pair. Its
    weight is therefore added at the lower code and subtracted at the higher code. The results are running sums over
    cuts.
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
    """Return the sum of the losses after the stump alpha 1[code > cut] is added to the scores.

    odds: (p,) e^-H. shares: (p,) D. better, worse: (p,) row numbers. row: (n,) codes of the feature of the stump.
    """
    # The factors of the odds if only the worse document is above the cut, if both documents or neither are, and if only
    # the better document is.
    factors = np.array([np.exp(alpha), 1.0, np.exp(-alpha)])
    loss = 0.0
    for i in range(len(odds)):
        above = (1 if row[better[i]] > cut else 0) - (1 if row[worse[i]] > cut else 0)
        loss += shares[i] * (1.0 - 1.0 / np.sqrt(1.0 + odds[i] * factors[above + 1]))
    return loss
