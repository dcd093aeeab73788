"""The sign of the paper's update: exact expected losses after a step along the gradient and against it."""

from itertools import product

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from gradrank.measures.metrics import compute
from studies.arsm.estimators import estimates

GRADES = np.array([2, 1, 0, 0, 1], np.int32)
LEVELS = 3
MEASURE = f"ndcg@{len(GRADES)}"  # NDCG@10 for a list of this length, as `arsm` uses it
DRAWS = 20_000
STEP = 1.0
SEED = 0


def update_sign() -> PageSection:
    """Return the section on the sign of the update."""
    found = rows()
    values = {row["step"]: row["loss"] for row in found["losses"]}
    before, along, against = values[0.0], values[STEP], values[-STEP]
    return PageSection(
        "sign",
        "The sign of the update",
        [
            "Algorithm 1 is read here as an update that adds the estimated gradient, and the loss as -NDCG. Together, "
            "they would raise the loss. This project subtracts the gradient of -NDCG, which is the same as adding the "
            "gradient of NDCG.",
            f"One query of {len(GRADES)} documents with {LEVELS} levels has {LEVELS ** len(GRADES)} assignments of "
            "levels, so the expected loss is a sum over these. The mean of "
            f"{DRAWS:,} draws of the estimator differs from the exact gradient by at most {found['error']:.4f} in each "
            f"component; the largest component is {found['largest']:.4f}. A step of {STEP:g} along the mean changes "
            f"the expected loss from {before:.4f} to {along:.4f}, and a step against it to {against:.4f}.",
        ],
        [
            Table(
                "sign",
                "The expected loss after a step",
                [
                    Column("step", "step, times the estimated gradient", "+.1f"),
                    Column("loss", "expected loss", ".5f"),
                    Column("measure", "expected NDCG@10", ".5f"),
                ],
                found["losses"],
            )
        ],
    )


def rows() -> Row:
    """Return the expected losses after steps, the largest error of the estimate, and the largest exact component."""
    rng = np.random.default_rng(SEED)
    phi = rng.normal(size=(len(GRADES), LEVELS))
    exact = exact_gradient(phi)
    estimated = estimates(phi, GRADES, DRAWS, rng).arsm.mean(axis=0)
    losses = [expected_loss(phi + step * estimated) for step in (-STEP, 0.0, STEP)]
    return {
        "losses": [
            {"step": step, "loss": loss, "measure": -loss}
            for step, loss in zip((-STEP, 0.0, STEP), losses, strict=True)
        ],
        "error": float(np.abs(estimated - exact).max()),
        "largest": float(np.abs(exact).max()),
    }


def expected_loss(phi: np.ndarray) -> float:
    """Return E[-NDCG@10] over the levels that phi draws, by enumeration. phi: (n, C) outputs."""
    probabilities, losses = _enumerated(phi)
    return float(probabilities.prod(axis=1) @ losses)


def exact_gradient(phi: np.ndarray) -> np.ndarray:
    """Return the (n, C) gradient of `expected_loss`: the sum over assignments of P(z) L(z) (1[z_j = c] - p_jc)."""
    n, C = phi.shape
    probabilities, losses = _enumerated(phi)
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    levels = np.array(list(product(range(C), repeat=n)))
    weights = probabilities.prod(axis=1) * losses
    return ((levels[:, :, None] == np.arange(C)) - p).transpose(1, 2, 0) @ weights


def _enumerated(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the (C^n, n) probabilities of the levels of every assignment, and the (C^n,) losses.

    The losses are expectations over the orders of documents with the same level.
    """
    n, C = phi.shape
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    levels = np.array(list(product(range(C), repeat=n)))
    offsets = np.arange(0, levels.size + 1, n)
    values = compute([MEASURE], levels.ravel(), np.tile(GRADES, len(levels)), offsets, "letor4_expected")
    return p[np.arange(n), levels], -values[MEASURE]
