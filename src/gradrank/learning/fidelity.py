"""FRank's sums over pairs (Tsai et al. 2007): what each stump would put right and wrong, and its fidelity loss.

A pair, better document first, of weight D and score difference H costs D (1 - sqrt(p)), p = sig(H). Twice its slope,
W = D sqrt(p) (1 - p), is what the pair weighs in the choice of the next stump.
"""

import numpy as np

from gradrank.compiled import compiled


@compiled
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


@compiled
def cut_sums(codes, better, worse, weights, cuts):
    """(2, d, cuts) sums of W: first of the pairs that a stump 1[code > cut] puts right, then of those it puts wrong.

    codes: (d, n) uint16 from 0 to `cuts`; better, worse: (p,) rows. O(d (p + cuts)): the cuts between a pair's codes
    put it right or wrong, so it counts from the lower one on and no more from the higher one on.
    """
    sums = np.zeros((2, len(codes), cuts + 1))
    for f in range(len(codes)):
        row = codes[f]
        for i in range(len(better)):
            high, low = row[better[i]], row[worse[i]]
            wrong = 1 if high < low else 0
            sums[wrong, f, min(high, low)] += weights[i]
            sums[wrong, f, max(high, low)] -= weights[i]
    for side in range(2):
        for f in range(len(codes)):
            for cut in range(1, cuts + 1):
                sums[side, f, cut] += sums[side, f, cut - 1]
    return sums[:, :, :cuts]


@compiled
def loss_with(differences, shares, better, worse, row, cut, alpha):
    """The sum of the losses once alpha 1[code > cut] is added to the scores; row: (n,) codes of the feature."""
    loss = 0.0
    for i in range(len(differences)):
        h = differences[i]
        h += alpha if row[better[i]] > cut else 0.0
        h -= alpha if row[worse[i]] > cut else 0.0
        e = np.exp(-abs(h))
        p = (1.0 if h >= 0.0 else e) / (1.0 + e)
        miss = (e if h >= 0.0 else 1.0) / (1.0 + e)
        loss += shares[i] * miss / (1.0 + np.sqrt(p))
    return loss
