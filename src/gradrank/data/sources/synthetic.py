"""The artificial data of the 2005 RankNet paper (Burges et al., ICML 2005, section 5).

The 50 features are uniform in [-1, 1]. The output of a random target function is divided into six equally populated
bins, and the bins are the grades. With equally populated bins, 5/6 of all pairs have different grades, as in the paper.
The features are multiples of 1e-6, so that the six decimals of LETOR text represent them exactly and reproduce the same
grades.
"""

import re
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.files import atomic, read_json, sha256, write_json
from gradrank.base.stamps import check_own_folder, write_sealed

Target = Literal["net", "poly"]
Scaling = Literal["deviation", "variance"]
Weights = dict[str, np.ndarray]

FEATURES, GRADES, HIDDEN, PARTS = 50, 6, 10, 5
GRID = 1_000_000


def draw(
    target: Target, queries: int, documents: int, seed: int, scaling: Scaling = "deviation"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and the grades of artificial data. The rows of each query are contiguous.

    The features are (queries * documents, 50) float32, and the grades are (queries * documents,) int32 from 0 to 5. The
    bins are computed over all rows, so training, validation and test data must be drawn in one call.
    """
    features = draw_features(queries * documents, seed)
    return features.astype(np.float32), grades(outputs(draw_weights(target, seed), features, scaling))


def draw_features(rows: int, seed: int) -> np.ndarray:
    """Return (rows, 50) float64 features, drawn uniformly from the multiples of 1e-6 in [-1, 1]."""
    return _generator(seed, 0).integers(-GRID, GRID, (rows, FEATURES), endpoint=True) / GRID


def draw_weights(target: Target, seed: int) -> Weights:
    """Return the random coefficients of a target function.

    For `net`, these are the weights and biases of a net with 50 inputs, 10 hidden nodes and one output, uniform in
    [-1, 1]. For `poly`, `linear` is (50,) and uniform in [-1, 1], `quadratic` is a (50,) permutation of the features,
    and `cubic` is (2, 50) with one permutation per row.
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
    """Return the (n,) float64 outputs of the target function for (n, 50) features.

    For `net`, this is the output of the net. For `poly`, it is the mean of the three polynomial terms.
    """
    if "w1" in weights:
        return np.tanh(features @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
    return np.mean(polynomial_terms(weights, features, scaling), axis=0)


def polynomial_terms(weights: Weights, features: np.ndarray, scaling: Scaling = "deviation") -> np.ndarray:
    """Return the (3, n) terms w.x, sum_i x_i x_Q(i) and sum_i x_i x_Q1(i) x_Q2(i).

    Each term is centred and scaled over the n rows. With `deviation`, the terms are divided by their standard
    deviations, as in the text of the paper. With `variance`, they are divided by their variances. The linear term then
    contributes a fifth of the variance of the sum instead of a third, and results are close to those in the paper.
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
    """Return the (n,) int32 grades from 0 to 5 of (n,) values.

    The grades are six bins of the values. The sizes of the bins differ by at most one. Equal values are ranked in file
    order.
    """
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (ranks * GRADES // len(values)).astype(np.int32)


def generate(target: Target, queries: int, documents: int, seed: int, folder: Path | str) -> None:
    """Write an artificial collection as LETOR text into S1.txt to S5.txt.

    The queries are divided in order into five parts, whose sizes differ by at most one query. The coefficients of the
    target function are written to target.json. fetched.json is written last, in the format of `fetch`. Raises
    GradrankError for an unknown target, fewer than five queries, fewer than two documents per query, or a folder with
    other files.
    """
    if target not in get_args(Target):
        raise GradrankError(unknown("target", target, get_args(Target)))
    if queries < PARTS or documents < 2:
        raise GradrankError(
            f"queries: {queries}, documents: {documents}. Fix: give at least {PARTS} queries of at least 2 documents"
        )
    folder, name = Path(folder), f"synthetic_{target}"
    check_own_folder(folder / "fetched.json", is_own=_is_generated)
    (folder / "fetched.json").unlink(missing_ok=True)  # a file of an earlier run is invalid while the data change
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


def _is_generated(path: Path) -> bool:
    """Return True for a file of an earlier call whose fetched.json is missing. It is recognised by its content."""
    try:
        if path.name == "target.json" and path.is_file():
            return read_json(path).keys() in ({"w1", "b1", "w2", "b2"}, {"linear", "quadratic", "cubic"})
        if not re.fullmatch(rf"S[1-{PARTS}]\.txt", path.name) or not path.is_file():
            return False
        with path.open("rb") as stream:
            row = stream.readline(10_000)
    except (OSError, GradrankError, AttributeError):
        return False
    return re.fullmatch(rb"[0-5] qid:\d+( \d+:-?[01]\.\d{6}){50} #docid = Q\d+-D1\n", row) is not None


def _letor(features: np.ndarray, labels: np.ndarray, qids: np.ndarray, documents: int) -> str:
    """Return rows as LETOR text."""
    line = "%d qid:%d " + " ".join(f"{j}:%.6f" for j in range(1, FEATURES + 1)) + " #docid = Q%d-D%d\n"
    rows = zip(labels.tolist(), qids.tolist(), features.tolist(), strict=True)
    return "".join(line % (label, qid, *row, qid, i % documents + 1) for i, (label, qid, row) in enumerate(rows))


def _generator(seed: int, stream: int) -> np.random.Generator:
    """Return a random generator.

    Each stream has its own generator, so the target does not depend on the number of rows.
    """
    return np.random.default_rng([seed, stream])
