"""The artificial data of the 2005 RankNet paper (Burges et al., ICML 2005, section 5).

The 50 features are uniform in [-1, 1]. The grades are six equally populated bins of the output of a random target
function, because only equally populated bins give the paper's number of crucial pairs, 5/6 of all pairs. Features are
multiples of 1e-6, so the six decimals of LETOR text represent them exactly and reproduce the same grades.
"""

from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.files import atomic, sha256, write_json
from gradrank.base.stamps import write_sealed

Target = Literal["net", "poly"]
Scaling = Literal["deviation", "variance"]
Weights = dict[str, np.ndarray]

FEATURES, GRADES, HIDDEN, PARTS = 50, 6, 10, 5
GRID = 1_000_000


def draw(
    target: Target, queries: int, documents: int, seed: int, scaling: Scaling = "deviation"
) -> tuple[np.ndarray, np.ndarray]:
    """Return (queries * documents, 50) float32 features and (queries * documents,) int32 grades 0 to 5, query by query.

    The bins are computed over all rows, so a study draws its training, validation and test vectors together.
    """
    features = draw_features(queries * documents, seed)
    return features.astype(np.float32), grades(outputs(draw_weights(target, seed), features, scaling))


def draw_features(rows: int, seed: int) -> np.ndarray:
    """Return (rows, 50) float64 features, uniform on the multiples of 1e-6 in [-1, 1]."""
    return _generator(seed, 0).integers(-GRID, GRID, (rows, FEATURES), endpoint=True) / GRID


def draw_weights(target: Target, seed: int) -> Weights:
    """Return the random coefficients of a target function.

    For `net`, these are the weights and biases of a 50-10-1 net, uniform in [-1, 1]. For `poly`, `linear` is (50,),
    uniform in [-1, 1], and `quadratic` (50,) and `cubic` (2, 50) are permutations of the features.
    """
    random = _generator(seed, 1)
    if target == "net":
        shapes = {"w1": (FEATURES, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN,), "b2": ()}
        return {name: random.uniform(-1.0, 1.0, shape) for name, shape in shapes.items()}
    return {
        "linear": random.uniform(-1.0, 1.0, FEATURES),
        "quadratic": random.permutation(FEATURES),
        "cubic": np.stack([random.permutation(FEATURES), random.permutation(FEATURES)]),
    }


def outputs(weights: Weights, features: np.ndarray, scaling: Scaling = "deviation") -> np.ndarray:
    """Return the (n,) float64 target values of (n, 50) features: the output of the net, or the mean polynomial term."""
    if "w1" in weights:
        return np.tanh(features @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
    return np.mean(polynomial_terms(weights, features, scaling), axis=0)


def polynomial_terms(weights: Weights, features: np.ndarray, scaling: Scaling = "deviation") -> np.ndarray:
    """Return the (3, n) terms w.x, sum_i x_i x_Q(i) and sum_i x_i x_Q1(i) x_Q2(i), centred and scaled over n.

    With `deviation`, the terms are divided by their standard deviation, as in the paper's text. With `variance`, they
    are divided by their variance: the linear term then has a fifth of the variance of the sum instead of a third, which
    gives the level of the paper's results.
    """
    first, second = weights["cubic"]
    terms = np.stack(
        [
            features @ weights["linear"],
            (features * features[:, weights["quadratic"]]).sum(axis=1),
            (features * features[:, first] * features[:, second]).sum(axis=1),
        ]
    )
    spread = terms.std(axis=1, keepdims=True)
    return (terms - terms.mean(axis=1, keepdims=True)) / (spread if scaling == "deviation" else spread**2)


def grades(values: np.ndarray) -> np.ndarray:
    """Return (n,) int32 grades 0 to 5: six bins of `values` whose sizes differ by at most one; ties in file order."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (ranks * GRADES // len(values)).astype(np.int32)


def generate(target: Target, queries: int, documents: int, seed: int, folder: Path | str) -> None:
    """Write an artificial collection as LETOR text, S1.txt to S5.txt, with the queries divided into five equal runs.

    The coefficients of the target are written to target.json. fetched.json is written last, as `fetch` would write it.
    Raises GradrankError for an unknown target, fewer queries than parts, or fewer than two documents per query.
    """
    if target not in get_args(Target):
        raise GradrankError(unknown("target", target, get_args(Target)))
    if queries < PARTS or documents < 2:
        raise GradrankError(
            f"queries: {queries}, documents: {documents}. Fix: give at least {PARTS} queries of at least 2 documents"
        )
    folder, name = Path(folder), f"synthetic_{target}"
    (folder / "fetched.json").unlink(missing_ok=True)  # from an earlier run, and invalid while files change
    features, weights = draw_features(queries * documents, seed), draw_weights(target, seed)
    labels = grades(outputs(weights, features))
    write_json(folder / "target.json", {key: value.tolist() for key, value in weights.items()})
    weights_path = folder / "target.json"
    described = {weights_path.name: {"sha256": sha256(weights_path), "bytes": weights_path.stat().st_size}}
    for part, numbers in enumerate(np.array_split(np.arange(queries), PARTS), start=1):
        rows = slice(numbers[0] * documents, (numbers[-1] + 1) * documents)
        qids = np.repeat(numbers + 1, documents)
        with atomic(folder / f"S{part}.txt") as partial:
            partial.write_text(_letor(features[rows], labels[rows], qids, documents), encoding="ascii")
        path = folder / f"S{part}.txt"
        described[path.name] = {"sha256": sha256(path), "bytes": path.stat().st_size}
    arguments = {"target": target, "queries": queries, "documents": documents, "seed": seed}
    write_sealed(folder / "fetched.json", {"dataset": name, "source": arguments, "files": described})


def _letor(features: np.ndarray, labels: np.ndarray, qids: np.ndarray, documents: int) -> str:
    """Return rows as LETOR text."""
    line = "%d qid:%d " + " ".join(f"{j}:%.6f" for j in range(1, FEATURES + 1)) + " #docid = Q%d-D%d\n"
    rows = zip(labels.tolist(), qids.tolist(), features.tolist(), strict=True)
    return "".join(line % (label, qid, *row, qid, i % documents + 1) for i, (label, qid, row) in enumerate(rows))


def _generator(seed: int, stream: int) -> np.random.Generator:
    """Return a generator of a separate stream, so that the target does not depend on the number of rows."""
    return np.random.default_rng([seed, stream])
