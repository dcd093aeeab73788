"""FRank's sums over pairs (Tsai et al. 2007): what each stump would put right and wrong, and its fidelity loss.

A pair, better document first, of weight D and score difference H costs D (1 - sqrt(p)), p = sig(H). Twice its slope,
W = D sqrt(p) (1 - p), is what the pair weighs in the choice of the next stump.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], f8[:]")
def pair_weights(differences, shares):
    """(p,) W of the pairs, and the sum of their losses. differences: (p,) H; shares: (p,) D."""
    weights = np.empty(len(differences))
    loss = 0.0
    for i in range(len(differences)):
        e = np.exp(-abs(differences[i]))
        p = (1.0 if differences[i] >= 0.0 else e) / (1.0 + e)
        miss = (e if differences[i] >= 0.0 else 1.0) / (1.0 + e)
        root = np.sqrt(p)
        weights[i] = shares[i] * root * miss
        loss += shares[i] * miss / (1.0 + root)  # 1 - sqrt(p) without cancellation
    return weights, loss


@compiled("u2[:,:], i4[:], i4[:], f8[:], i8")
def cut_sums(codes, better, worse, weights, cuts):
    """(2, d, cuts) sums of W: first of the pairs that a stump 1[code > cut] puts right, then of those it puts wrong.

    codes: (d, n) uint16 from 0 to `cuts`; better, worse: (p,) rows, pairs of one better document in a row. O(d (p +
    cuts)): the cuts between a pair's codes put it right or wrong, so it counts from the lower one on and no more from
    the higher one on.
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
    """The sum of the losses once alpha 1[code > cut] is added to the scores.

    odds: (p,) e^-H; row: (n,) codes of the feature.
    """
    factors = np.array([np.exp(alpha), 1.0, np.exp(-alpha)])  # of the odds, by what the stump says of the pair
    loss = 0.0
    for i in range(len(odds)):
        above = (1 if row[better[i]] > cut else 0) - (1 if row[worse[i]] > cut else 0)
        loss += shares[i] * (1.0 - 1.0 / np.sqrt(1.0 + odds[i] * factors[above + 1]))
    return loss
