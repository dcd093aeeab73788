"""RankNet on pairs with target probabilities, with and without features.

Without features, every item has its own output: the model is a linear net on unit vectors. The learned probabilities
depend only on the targets. They are compared with the result of Newton's method for the same cost.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from gradrank.data.pairs import Pairs
from gradrank.training.fit import job_seed
from gradrank.training.losses.pairwise import ranknet
from gradrank.training.solvers.linear import l2_path
from studies.ranknet2005.posteriors import combine, posteriors

ITEMS = 8
SURE = 0.95  # largest target probability; a target of 1 needs an infinite difference of outputs
GRID = (0.1, 0.3, 0.5, 0.7, 0.9)
CIRCLES = ((0.9, 0.9, 0.9), (0.7, 0.7, 0.7), (0.9, 0.8, 0.6), (0.95, 0.6, 0.5), (0.9, 0.1, 0.9))

FEATURES, SPREAD = 10, 2.0  # number of features; standard deviation of the true output differences
JUDGES = 5
TESTED = 10_000
L2 = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
# Kinds of targets: the true probability, the share of judges who prefer the first item, and one judgement of 0 or 1.
KINDS = ("probability", f"{JUDGES} judges", "one judge")


def pairs_of(first: np.ndarray, second: np.ndarray, target: np.ndarray) -> Pairs:
    """Return pairs of the items `first` and `second`, all in one query.

    The item that is more likely to be ranked above the other one comes first in its pair.
    """
    turned = target < 0.5
    ends = np.where(turned, second, first), np.where(turned, first, second)
    turned_target = np.where(turned, 1.0 - target, target)
    order = np.lexsort(ends[::-1])
    query = np.zeros(len(turned_target), np.int32)
    better, worse = (end[order].astype(np.int32) for end in ends)
    return Pairs(better, worse, query, turned_target[order], np.ones(len(turned_target)))


def learn_probabilities(targets: np.ndarray, trained_pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Train RankNet without features, and return the (n, n) probabilities P_ij = sig(o_i - o_j).

    targets: (n, n) target probabilities. trained_pairs: the pairs (i, j) to train on.
    """
    first, second = np.array(trained_pairs).T
    pairs = pairs_of(first, second, targets[first, second])
    items = len(targets)
    ((outputs, _),) = l2_path(np.eye(items), pairs, np.array([0, items]), ranknet, (0.0,))
    return expit(outputs[:, None] - outputs)


def optimal_probabilities(targets: np.ndarray) -> np.ndarray:
    """Return the (n, n) matrix of P_ij with the lowest cross-entropy over all pairs, by Newton's method."""
    outputs = np.zeros(len(targets))
    for _ in range(50):
        p = expit(outputs[:, None] - outputs)
        curve = p * (1.0 - p)
        np.fill_diagonal(curve, 0.0)
        hessian = np.diag(curve.sum(axis=1)) - curve + 1.0 / len(targets)
        outputs -= np.linalg.solve(hessian, (p - targets).sum(axis=1))
    return expit(outputs[:, None] - outputs)


def run_tables() -> dict[str, Any]:
    """Return the results for small sets of targets.

    `combined` has the results for two targets that training combines into a third probability. `circles` has the
    results for three targets in a circle (P_ij, P_jk and P_ki).
    """
    combined = []
    for p in GRID:
        for q in GRID:
            targets = np.array([[0.5, p, 0.5], [1.0 - p, 0.5, q], [0.5, 1.0 - q, 0.5]])
            probabilities = learn_probabilities(targets, [(0, 1), (1, 2)])[0, 2]
            combined.append({"p_ij": p, "p_jk": q, "formula": float(combine(p, q)), "learned": float(probabilities)})
    circles = []
    for p, q, r in CIRCLES:
        targets = np.array([[0.5, p, 1.0 - r], [1.0 - p, 0.5, q], [r, 1.0 - q, 0.5]])
        row = {"p_ij": p, "p_jk": q, "p_ki": r}
        for name, probabilities in (
            ("learned", learn_probabilities(targets, all_pairs(3))),
            ("best", optimal_probabilities(targets)),
        ):
            row |= {
                f"{name}_ij": probabilities[0, 1],
                f"{name}_jk": probabilities[1, 2],
                f"{name}_ki": probabilities[2, 0],
            }
        circles.append({name: float(value) for name, value in row.items()})
    return {"combined": combined, "circles": circles}


def all_pairs(items: int) -> list[tuple[int, int]]:
    """Return all pairs (i, j) of items with i < j."""
    return list(combinations(range(items), 2))


def consistent(rng: np.random.Generator) -> dict[str, Any]:
    """Return the largest error of the learned probabilities for random consistent targets.

    `all_pairs` is the error after training on all pairs. `neighbours` is the error after training on pairs of
    neighbours only, which determine all others.
    """
    targets = posteriors(rng.uniform(1.0 - SURE, SURE, ITEMS - 1))
    neighbours = [(i, i + 1) for i in range(ITEMS - 1)]
    trained_pairs = {"all_pairs": all_pairs(ITEMS), "neighbours": neighbours}
    return {
        name: float(np.abs(learn_probabilities(targets, pairs) - targets).max())
        for name, pairs in trained_pairs.items()
    }


def inconsistent(rng: np.random.Generator) -> dict[str, Any]:
    """Return the results of training on random targets that no outputs can reproduce.

    error: largest difference from the optimum. wins: largest error of the expected number of wins of an item. For item
    i, this number is the sum of P_ij over j. circles: number of triples of items whose targets P_ij, P_jk and P_ki are
    all above 1/2. excess: mean cost per pair minus the entropy of its target, in nats.
    """
    targets = np.full((ITEMS, ITEMS), 0.5)
    above = np.triu_indices(ITEMS, 1)
    targets[above] = rng.uniform(1.0 - SURE, SURE, len(above[0]))
    targets.T[above] = 1.0 - targets[above]
    probabilities = learn_probabilities(targets, all_pairs(ITEMS))
    circles = sum(
        targets[i, j] > 0.5 and targets[j, k] > 0.5 and targets[k, i] > 0.5 for i, j, k in permutations(range(ITEMS), 3)
    )
    return {
        "error": float(np.abs(probabilities - optimal_probabilities(targets)).max()),
        "wins": float(np.abs((probabilities - targets).sum(axis=1)).max()),
        "circles": int(circles) // 3,
        "excess": float(divergence(targets[above], probabilities[above])),
    }


def divergence(targets: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the mean over pairs of the Kullback-Leibler divergence of the probabilities from the targets, in nats."""
    cost = -(xlogy(targets, probabilities) + xlogy(1.0 - targets, 1.0 - probabilities))
    entropy = -(xlogy(targets, targets) + xlogy(1.0 - targets, 1.0 - targets))
    return float((cost - entropy).mean())


def noise(sizes: Sequence[int], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Train RankNet with features, once for each kind of target in KINDS and each number of pairs in `sizes`.

    Returns one row per kind and number of pairs. `right` is the percentage of new pairs that RankNet puts in the true
    order. `error` is the mean absolute error of the learned probabilities of new pairs. The l2 is selected by the
    cross-entropy of validation pairs. The validation pairs have the same kind of target as the training pairs, and the
    same number.
    """
    truth = rng.normal(size=FEATURES)
    truth *= SPREAD / np.sqrt(
        2.0 / 3.0 * (truth @ truth)
    )  # the difference of two values uniform in [-1, 1] has the variance 2/3
    tested = differences(TESTED, rng)
    p_tested, runs = expit(tested @ truth), []
    most = max(sizes)
    x, vali = differences(most, rng), differences(most, rng)
    for kind in KINDS:
        targets = [draw_targets(expit(pairs @ truth), kind, rng) for pairs in (x, vali)]
        for size in sizes:
            train, held_out = ((pairs[:size], target[:size]) for pairs, target in zip((x, vali), targets, strict=True))
            weights = fit_weights(*train, *held_out)
            p = expit(tested @ weights)
            right = 100.0 * np.mean((p > 0.5) == (p_tested > 0.5))
            runs.append(
                {"kind": kind, "pairs": size, "right": float(right), "error": float(np.abs(p - p_tested).mean())}
            )
    return runs


def differences(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return (count, FEATURES) differences x_i - x_j of documents whose features are uniform in [-1, 1]."""
    first, second = rng.uniform(-1.0, 1.0, (2, count, FEATURES))
    return first - second


def draw_targets(p: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return targets of one kind for pairs with the true probabilities p."""
    if kind == "probability":
        return p
    judges = 1 if kind == "one judge" else JUDGES
    return rng.binomial(judges, p) / judges


def fit_weights(x: np.ndarray, target: np.ndarray, vali: np.ndarray, vali_target: np.ndarray) -> np.ndarray:
    """Return the (d,) weights for the l2 with the lowest cross-entropy on the validation pairs.

    x, vali: (pairs, d) feature differences. Each pair is made of two documents: one has the differences as features,
    and the other one has zeros. All documents are in one query.
    """
    features = np.stack([x, np.zeros_like(x)], axis=1).reshape(-1, x.shape[1])
    rows = np.arange(0, len(features), 2)
    pairs, offsets = pairs_of(rows, rows + 1, target), np.array([0, len(features)])
    path = (weights for weights, _ in l2_path(features, pairs, offsets, ranknet, L2))
    return min(path, key=lambda weights: cross_entropy(vali @ weights, vali_target))


def cross_entropy(o: np.ndarray, target: np.ndarray) -> float:
    """Return the mean cross-entropy of the targets and the probabilities sig(o), for output differences o."""
    return float((np.logaddexp(0.0, o) - target * o).mean())


def run_draw(draw: int, sizes: Sequence[int], seed: int) -> dict[str, Any]:
    """Return the results of one random task of each kind."""
    rng = np.random.default_rng(job_seed(seed, "pair_targets", "draw", draw))
    return {"consistent": consistent(rng), "inconsistent": inconsistent(rng), "noise": noise(sizes, rng)}


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run the study's only job. Returns a dict with the keys `combined`, `circles` and `draws`."""
    return run_tables() | {
        "draws": [run_draw(draw, settings["sizes"], seed) for draw in range(1, settings["draws"] + 1)]
    }
