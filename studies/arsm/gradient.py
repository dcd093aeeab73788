"""The gradient estimator of ARSM: its variance, and the sign of the paper's update.

Estimators of the gradient of a loss that depends on sampled levels: REINFORCE, AR, ARS and ARSM.

All estimators use the same draws. Each of the n documents j of a query has C outputs phi_j, races pi_j ~
Dirichlet(1_C), and the level z_j = argmin_c(ln pi_jc - phi_jc). L(z) is the loss of the levels z. L_ck is the loss of
the levels that result if pi_c and pi_k are swapped in every document, so L_cc = L(z) (Yin, Yue & Zhou 2019).

    estimator   gradient with respect to phi_jc              losses per draw
    REINFORCE   L(z) (1[z_j = c] - p_jc)                     1
    AR          L(z) (1 - C pi_jc)                           1
    ARS         (L_cr - mean_m L_mr) (1 - C pi_jr), r drawn  C
    ARSM        sum_r (L_cr - mean_m L_mr) (1/C - pi_jr)     C (C - 1) / 2 + 1

ARSM is the mean of ARS over r. REINFORCE is the mean of AR over the races that give the same z. The variance of ARSM is
therefore at most that of ARS, and the variance of REINFORCE is at most that of AR.

The sign of the paper's update: exact expected losses after a step along the gradient and against it.

The variance of ARSM, AR, ARS and REINFORCE on one artificial query. No data set is needed.
"""

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, PageSection
from gradrank.measures.metrics import compute
from gradrank.models.arsm import measure_of, values_of_swaps


class Estimates(NamedTuple):
    """Estimates of one gradient. Each array has the shape (draws, n, C).

    baseline: REINFORCE with the mean loss over all draws subtracted.
    """

    reinforce: np.ndarray
    baseline: np.ndarray
    ar: np.ndarray
    ars: np.ndarray
    arsm: np.ndarray


def estimates(phi: np.ndarray, labels: np.ndarray, draws: int, rng: np.random.Generator) -> Estimates:
    """Return `draws` estimates of the gradient of E[-NDCG@10] with respect to phi, for every estimator.

    All estimators use the same races. phi: (n, C) outputs for the documents of one query. labels: (n,) grades of the
    documents.
    """
    n, C = phi.shape
    measure = measure_of("ndcg@10", labels, np.array([0, n]))
    races = rng.standard_exponential((draws, n, C))
    pi = races / races.sum(axis=2, keepdims=True)
    log_pi = np.log(pi)
    losses = np.array([-measure.scale[0] * values_of_swaps(phi, draw, *measure) for draw in log_pi])
    drawn = losses[:, 0, 0][:, None, None]
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    scores = (np.argmin(log_pi - phi, axis=2)[:, :, None] == np.arange(C)) - p
    centred = losses - losses.mean(axis=1, keepdims=True)  # element (c, r) is L_cr minus its mean over c
    every_draw, reference = np.arange(draws), rng.integers(0, C, draws)
    ars = (1 - C * pi[every_draw, :, reference])[:, :, None] * centred[every_draw, :, reference][:, None, :]
    return Estimates(
        drawn * scores,
        (drawn - drawn.mean()) * scores,
        drawn * (1 - C * pi),
        ars,
        np.matmul(1 / C - pi, centred.transpose(0, 2, 1)),
    )


def losses_of(estimator: str, C: int) -> int:
    """Return the number of losses that an estimator computes per draw with C levels.

    estimator: a field of Estimates.
    """
    return {"ars": C, "arsm": C * (C - 1) // 2 + 1}.get(estimator, 1)


GRADES = np.array([2, 1, 0, 0, 1], np.int32)
LEVELS = 3
MEASURE = f"ndcg@{len(GRADES)}"  # NDCG@10 for a list of this length, as `arsm` uses it
DRAWS = 20_000
STEP = 1.0
SEED = 0


def update_sign() -> PageSection:
    """Return the section on the sign of the update."""
    found = sign_rows()
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


def sign_rows() -> Row:
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


VARIANCE_LEVELS = (3, 5, 10, 20, 40)
VARIANCE_GRADES = np.repeat([0, 1, 2], [14, 4, 2]).astype(np.int32)  # 20 documents with MQ2007's shares of grades
VARIANCE_DRAWS = 2000
SWAPPED, SWAPPED_DRAWS = 20, 200  # levels and draws for the share of documents that a swap moves

METHODS = {
    "reinforce": "REINFORCE",
    "baseline": "REINFORCE, mean loss subtracted",
    "ar": "AR",
    "ars": "ARS",
    "arsm": "ARSM",
}


def variance_rows() -> list[Row]:
    """Return one row per number of levels, with the variance of each estimator.

    The variance is summed over the components of the gradient. The cell with the name of an estimator has the variance
    of one draw. The cell `equal_<name>` has the variance at equal cost: the variance of the mean over k draws, where k
    draws of the estimator compute as many losses as one draw of ARSM.
    """
    table_rows = []
    for levels in VARIANCE_LEVELS:
        rng = np.random.default_rng(SEED)
        estimated = estimates(rng.normal(size=(len(VARIANCE_GRADES), levels)), VARIANCE_GRADES, VARIANCE_DRAWS, rng)
        arsm_losses = losses_of("arsm", levels)
        row: Row = {"levels": levels, "losses": arsm_losses}
        for name, gradients in estimated._asdict().items():
            row[name] = float(gradients.var(axis=0).sum())
            row[f"equal_{name}"] = row[name] * losses_of(name, levels) / arsm_losses
        table_rows.append(row)
    return table_rows


def moved_share(levels: int) -> float:
    """Return the share of documents whose level changes if two levels are swapped, over all swaps and SWAPPED_DRAWS."""
    rng = np.random.default_rng(SEED)
    phi = rng.normal(size=(len(VARIANCE_GRADES), levels))
    races = np.log(rng.standard_exponential((SWAPPED_DRAWS, len(VARIANCE_GRADES), levels)))
    drawn, moved = np.argmin(races - phi, axis=2), []
    for c, k in combinations(range(levels), 2):
        order = np.arange(levels)
        order[[c, k]] = k, c
        moved.append(np.mean(np.argmin(races[:, :, order] - phi, axis=2) != drawn))
    return float(np.mean(moved))


def variance() -> PageSection:
    """Return the section on gradient variance."""
    table_rows = variance_rows()
    ratios = [row["reinforce"] / row["arsm"] for row in table_rows]
    draw = (
        f"One draw of ARSM varies {min(ratios):.0f} to {max(ratios):.0f} times less than one of REINFORCE, the more "
        "so the more levels there are"
    )
    least = {row["levels"]: min(METHODS, key=lambda name: row[f"equal_{name}"]) for row in table_rows}
    equal = "At equal numbers of losses the least is that of " + ", ".join(
        f"{METHODS[name]} where C is {' or '.join(str(C) for C in least if least[C] == name)}"
        for name in dict.fromkeys(least.values())
    )
    return PageSection(
        "variance",
        "Gradient variance",
        [
            f"One query of {len(VARIANCE_GRADES)} documents, random outputs (standard normal), loss -NDCG@10, "
            f"{VARIANCE_DRAWS:,} draws "
            "an estimator, all from the same races. All are unbiased. AR augments the levels by their races, ARS swaps "
            "two races and takes the difference of losses, ARSM averages ARS over all reference levels. The mean loss "
            "that REINFORCE may subtract is that of all draws, which a step of training does not know.",
            f"{draw}. But it takes C (C - 1) / 2 + 1 losses, one of ARS C, one of REINFORCE or AR a single one. "
            f"{equal}.",
            f"A swap changes the levels of few documents: with C = {SWAPPED} levels, {moved_share(SWAPPED):.0%} of the "
            "documents have another level after a swap, on average over swaps and draws. Numbers of losses are "
            "therefore not times of computation, which are not compared here.",
        ],
        [
            *_figure_and_table(table_rows, "", "Variance of a draw", draw),
            *_figure_and_table(table_rows, "equal_", "Variance at as many losses as a draw of ARSM", equal),
        ],
    )


def _figure_and_table(table_rows: list[Row], prefix: str, title: str, alt: str) -> tuple[Figure, Table]:
    """Return a figure and its table. prefix: the beginning of the keys of `variance_rows` that are shown."""
    table = Table(
        f"variance_{prefix or 'of_draw_'}".rstrip("_"),
        f"{title}, summed over the gradient's components",
        [
            Column("levels", "levels C", "d"),
            Column("losses", "losses of an ARSM draw", "d"),
            *(Column(prefix + name, called, ".4f") for name, called in METHODS.items()),
        ],
        table_rows,
    )
    levels = [row["levels"] for row in table_rows]
    series = [
        Series(called, levels, [np.log10(row[prefix + name]) for row in table_rows], points=True)
        for name, called in METHODS.items()
    ]
    drawing = line_chart(series, "levels C", "log10 of the variance", alt, log_x=True)
    return Figure(f"{table.id}_figure", table.title, drawing, alt, table), table
