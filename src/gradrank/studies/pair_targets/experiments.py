"""RankNet on pairs whose targets are probabilities, without features and with.

Without features every item has an output of its own: a linear net on unit vectors. So what is learned is what the
targets themselves ask for, and can be held against Newton's method on the same cost.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from gradrank.data.pairs import Pairs
from gradrank.studies.ranknet2005.posteriors import combine, posteriors
from gradrank.training.losses.ranknet import ranknet
from gradrank.training.seeds import job_seed
from gradrank.training.solvers.linear import l2_path

ITEMS = 8
SURE = 0.95  # no target is surer: the output difference for 1 is infinite
GRID = (0.1, 0.3, 0.5, 0.7, 0.9)
CIRCLES = ((0.9, 0.9, 0.9), (0.7, 0.7, 0.7), (0.9, 0.8, 0.6), (0.95, 0.6, 0.5), (0.9, 0.1, 0.9))

FEATURES, SPREAD = 10, 2.0  # the true output difference of a pair has this standard deviation
JUDGES = 5
TESTED = 10_000
L2 = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
# What a pair's target is: its probability; the share of some judges who agree with it; one judge's word, 0 or 1.
KINDS = ("probability", f"{JUDGES} judges", "one judge")


def pairs_of(first: np.ndarray, second: np.ndarray, target: np.ndarray) -> Pairs:
    """One query's pairs, the likelier one first."""
    turned = target < 0.5
    ends = np.where(turned, second, first), np.where(turned, first, second)
    own = np.where(turned, 1.0 - target, target)
    order = np.lexsort(ends[::-1])
    query = np.zeros(len(own), np.int32)
    return Pairs(*(end[order].astype(np.int32) for end in ends), query, own[order], np.ones(len(own)))


def learned(wanted: np.ndarray, given: Sequence[tuple[int, int]]) -> np.ndarray:
    """(n, n) P_ij = sig(o_i - o_j) of RankNet trained on the pairs `given`, with their targets in (n, n) `wanted`."""
    first, second = np.array(given).T
    pairs = pairs_of(first, second, wanted[first, second])
    items = len(wanted)
    ((outputs, _),) = l2_path(np.eye(items), pairs, np.array([0, items]), ranknet, (0.0,))
    return expit(outputs[:, None] - outputs)


def optimum(wanted: np.ndarray) -> np.ndarray:
    """(n, n) P_ij at the least cross-entropy over all pairs, by Newton's method; the outputs' mean is 0."""
    outputs = np.zeros(len(wanted))
    for _ in range(50):
        p = expit(outputs[:, None] - outputs)
        curve = p * (1.0 - p)
        np.fill_diagonal(curve, 0.0)
        hessian = np.diag(curve.sum(axis=1)) - curve + 1.0 / len(wanted)
        outputs -= np.linalg.solve(hessian, (p - wanted).sum(axis=1))
    return expit(outputs[:, None] - outputs)


def tables() -> dict[str, Any]:
    """Two targets combined by training on them alone, and three that go in a circle."""
    combined = []
    for p in GRID:
        for q in GRID:
            wanted = np.array([[0.5, p, 0.5], [1.0 - p, 0.5, q], [0.5, 1.0 - q, 0.5]])
            found = learned(wanted, [(0, 1), (1, 2)])[0, 2]
            combined.append({"p_ij": p, "p_jk": q, "formula": float(combine(p, q)), "learned": float(found)})
    circles = []
    for p, q, r in CIRCLES:
        wanted = np.array([[0.5, p, 1.0 - r], [1.0 - p, 0.5, q], [r, 1.0 - q, 0.5]])
        row = {"p_ij": p, "p_jk": q, "p_ki": r}
        for name, found in (("learned", learned(wanted, every(3))), ("best", optimum(wanted))):
            row |= {f"{name}_ij": found[0, 1], f"{name}_jk": found[1, 2], f"{name}_ki": found[2, 0]}
        circles.append({name: float(value) for name, value in row.items()})
    return {"combined": combined, "circles": circles}


def every(items: int) -> list[tuple[int, int]]:
    return list(combinations(range(items), 2))


def consistent(rng: np.random.Generator) -> dict[str, Any]:
    """The worst error of probabilities that neighbours determine, learned from all pairs and from neighbours alone."""
    wanted = posteriors(rng.uniform(1.0 - SURE, SURE, ITEMS - 1))
    neighbours = [(i, i + 1) for i in range(ITEMS - 1)]
    given = {"all_pairs": every(ITEMS), "neighbours": neighbours}
    return {name: float(np.abs(learned(wanted, pairs) - wanted).max()) for name, pairs in given.items()}


def inconsistent(rng: np.random.Generator) -> dict[str, Any]:
    """Probabilities that no outputs can have: how far training is from the optimum, and what stays of the cost.

    circles: triples with P_ij, P_jk and P_ki all above 1/2. wins: the worst error of an item's sum of P_ij over j.
    excess: mean nats a pair above the targets' own entropy.
    """
    wanted = np.full((ITEMS, ITEMS), 0.5)
    above = np.triu_indices(ITEMS, 1)
    wanted[above] = rng.uniform(1.0 - SURE, SURE, len(above[0]))
    wanted.T[above] = 1.0 - wanted[above]
    found = learned(wanted, every(ITEMS))
    circles = sum(
        wanted[i, j] > 0.5 and wanted[j, k] > 0.5 and wanted[k, i] > 0.5 for i, j, k in permutations(range(ITEMS), 3)
    )
    return {
        "error": float(np.abs(found - optimum(wanted)).max()),
        "wins": float(np.abs((found - wanted).sum(axis=1)).max()),
        "circles": int(circles) // 3,
        "excess": float(divergence(wanted[above], found[above])),
    }


def divergence(wanted: np.ndarray, found: np.ndarray) -> float:
    """Mean over pairs of what their cost has above its least, sum P ln(P / Q), in nats."""
    cost = -(xlogy(wanted, found) + xlogy(1.0 - wanted, 1.0 - found))
    entropy = -(xlogy(wanted, wanted) + xlogy(1.0 - wanted, 1.0 - wanted))
    return float((cost - entropy).mean())


def noise(sizes: Sequence[int], rng: np.random.Generator) -> list[dict[str, Any]]:
    """RankNet with features on as many pairs of each of KINDS: percent of new pairs in the true order, error of P.

    A row each. l2 is chosen by the cross-entropy of as many pairs of the same kind.
    """
    truth = rng.normal(size=FEATURES)
    truth *= SPREAD / np.sqrt(2.0 / 3.0 * (truth @ truth))  # two uniform features differ with a variance of 2/3
    tested = differences(TESTED, rng)
    p_tested, runs = expit(tested @ truth), []
    most = max(sizes)
    x, vali = differences(most, rng), differences(most, rng)
    for kind in KINDS:
        targets = [judged(expit(each @ truth), kind, rng) for each in (x, vali)]
        for size in sizes:
            own, held_out = ((each[:size], target[:size]) for each, target in zip((x, vali), targets, strict=True))
            weights = chosen(*own, *held_out)
            p = expit(tested @ weights)
            right = 100.0 * np.mean((p > 0.5) == (p_tested > 0.5))
            runs.append(
                {"kind": kind, "pairs": size, "right": float(right), "error": float(np.abs(p - p_tested).mean())}
            )
    return runs


def differences(count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, FEATURES) x_i - x_j of documents uniform in [-1, 1]."""
    first, second = rng.uniform(-1.0, 1.0, (2, count, FEATURES))
    return first - second


def judged(p: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "probability":
        return p
    judges = 1 if kind == "one judge" else JUDGES
    return rng.binomial(judges, p) / judges


def chosen(x: np.ndarray, target: np.ndarray, vali: np.ndarray, vali_target: np.ndarray) -> np.ndarray:
    """(d,) weights of the l2 whose cross-entropy on the validation pairs is least.

    A pair is a query of two documents, of which the second is at 0.
    """
    features = np.stack([x, np.zeros_like(x)], axis=1).reshape(-1, x.shape[1])
    rows = np.arange(0, len(features), 2)
    pairs, offsets = pairs_of(rows, rows + 1, target), np.array([0, len(features)])
    path = (weights for weights, _ in l2_path(features, pairs, offsets, ranknet, L2))
    return min(path, key=lambda weights: cross_entropy(vali @ weights, vali_target))


def cross_entropy(o: np.ndarray, target: np.ndarray) -> float:
    return float((np.logaddexp(0.0, o) - target * o).mean())


def drawn(draw: int, sizes: Sequence[int], seed: int) -> dict[str, Any]:
    """A random task of each kind."""
    rng = np.random.default_rng(job_seed(seed, "pair_targets", "draw", draw))
    return {"consistent": consistent(rng), "inconsistent": inconsistent(rng), "noise": noise(sizes, rng)}


def run_job(told: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """The study's job: `combined`, `circles` and `draws`."""
    return tables() | {"draws": [drawn(draw, told["sizes"], seed) for draw in range(1, told["draws"] + 1)]}
