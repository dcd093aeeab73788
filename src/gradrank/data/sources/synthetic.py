"""The artificial data of the 2005 RankNet paper (Burges et al., ICML 2005, section 5).

50 features uniform in [-1, 1]; the grades are six equally populated bins of a random target function's
output. Only equally populated bins give the paper's number of crucial pairs: 5/6 of all pairs. Features are
whole millionths, so the six decimals of LETOR text hold them exactly and give back the same grades.
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
    """Features (queries*documents, 50) float32 and grades 0..5 (queries*documents,) int32, query by query.

    The bins are computed over the whole draw: a study draws training, validation and test vectors at once.
    """
    features = draw_features(queries * documents, seed)
    return features.astype(np.float32), grades(outputs(draw_weights(target, seed), features, scaling))


def draw_features(rows: int, seed: int) -> np.ndarray:
    """(rows, 50) float64, uniform on the millionths of [-1, 1]."""
    return _generator(seed, 0).integers(-GRID, GRID, (rows, FEATURES), endpoint=True) / GRID


def draw_weights(target: Target, seed: int) -> Weights:
    """The random part of a target function.

    `net`: weights and biases of a 50-10-1 net, uniform in [-1, 1]. `poly`: `linear` (50,) uniform in
    [-1, 1], and permutations `quadratic` (50,) and `cubic` (2, 50) of the features.
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
    """(n,) float64 target values of (n, 50) features: the net's output or the mean of the poly's terms."""
    if "w1" in weights:
        return np.tanh(features @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
    return np.mean(polynomial_terms(weights, features, scaling), axis=0)


def polynomial_terms(weights: Weights, features: np.ndarray, scaling: Scaling = "deviation") -> np.ndarray:
    """(3, n): w.x, sum_i x_i x_Q(i) and sum_i x_i x_Q1(i) x_Q2(i), each of mean 0 and variance 1 over n.

    scaling: what the text says is to divide by the standard deviation. Division by the variance, which leaves
    the linear term a fifth of the sum's variance and not a third, gives the level of the paper's results.
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
    """(n,) int32 grades 0..5: six bins of `values`, equally populated to within one; ties in file order."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (ranks * GRADES // len(values)).astype(np.int32)


def generate(target: Target, queries: int, documents: int, seed: int, folder: Path | str) -> None:
    """Write the artificial collection as LETOR text S1.txt..S5.txt, the queries dealt out in five equal runs.

    Beside them go `target.json`, the target's weights, and last `fetched.json`, as fetching would leave it.
    Raises GradrankError for another target, fewer queries than parts, or fewer than two documents.
    """
    if target not in get_args(Target):
        raise GradrankError(unknown("target", target, get_args(Target)))
    if queries < PARTS or documents < 2:
        raise GradrankError(f"{queries} queries of {documents} documents: at least {PARTS} of 2 are needed")
    folder, name = Path(folder), f"synthetic_{target}"
    (folder / "fetched.json").unlink(missing_ok=True)  # of an earlier run: not true while files change
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
    line = "%d qid:%d " + " ".join(f"{j}:%.6f" for j in range(1, FEATURES + 1)) + " #docid = Q%d-D%d\n"
    rows = zip(labels.tolist(), qids.tolist(), features.tolist(), strict=True)
    return "".join(line % (label, qid, *row, qid, i % documents + 1) for i, (label, qid, row) in enumerate(rows))


def _generator(seed: int, stream: int) -> np.random.Generator:
    """Separate streams, so that the target does not depend on the number of rows drawn."""
    return np.random.default_rng([seed, stream])
