"""The variance of the ARSM gradient and of plain REINFORCE on an artificial query: no data set is needed."""

from typing import NamedTuple

import numpy as np

from gradrank.learning.arsm_gradient import arsm_gradient
from gradrank.learning.level_measure import expected_value, measure_of
from gradrank.report.plots.chart import Series, line_chart
from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.kit.study import Figure, Section

LEVELS = (3, 5, 10, 20, 40)
GRADES = np.repeat([0, 1, 2], [14, 4, 2]).astype(np.int32)  # 20 documents, of MQ2007's shares
DRAWS = 2000
SEED = 0
METHODS = {
    "arsm": "ARSM",
    "reinforce": "REINFORCE",
    "baseline": "REINFORCE, mean loss subtracted",
    "equal": "REINFORCE, as many losses as ARSM",
}


class Estimates(NamedTuple):
    """(draws, n, C) estimates of one gradient."""

    arsm: np.ndarray
    reinforce: np.ndarray
    baseline: np.ndarray


def estimates(phi: np.ndarray, labels: np.ndarray, draws: int, rng: np.random.Generator) -> Estimates:
    """The gradient of E[-NDCG@10] by phi (n, C), estimated `draws` times by ARSM and from the same levels by REINFORCE.

    REINFORCE: loss (1[z_j = c] - p_jc) (Williams 1992); with a baseline: loss less its mean over the draws.
    """
    n, C = phi.shape
    offsets = np.arange(draws + 1) * n
    measure = measure_of("ndcg@10", np.tile(labels, draws), offsets)
    races = rng.standard_exponential((draws * n, C))
    _, arsm = arsm_gradient(np.tile(phi, (draws, 1)), races, offsets, measure)
    levels = np.argmin(np.log(races).reshape(draws, n, C) - phi, axis=2)
    gain = measure.gain[:n]
    losses = np.array(
        [
            -measure.scale[0]
            * expected_value(np.bincount(z, minlength=C), np.bincount(z, gain, minlength=C), measure)
            for z in levels
        ]
    )
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    scores = (levels[:, :, None] == np.arange(C)) - p
    return Estimates(
        arsm.reshape(draws, n, C),
        losses[:, None, None] * scores,
        (losses - losses.mean())[:, None, None] * scores,
    )


def evaluations(levels: int) -> int:
    """Losses that a draw of ARSM takes: one a pair of levels, and that of the drawn ones."""
    return levels * (levels - 1) // 2 + 1


def rows() -> list[Row]:
    """A row a number of levels: the variance of each estimator, summed over the gradient's components."""
    found = []
    for levels in LEVELS:
        rng = np.random.default_rng(SEED)
        drawn = estimates(rng.normal(size=(len(GRADES), levels)), GRADES, DRAWS, rng)
        row = {name: float(each.var(axis=0).sum()) for name, each in drawn._asdict().items()}
        row["equal"] = row["reinforce"] / evaluations(levels)
        found.append({"levels": levels, "evaluations": evaluations(levels)} | row)
    return found


def variance() -> Section:
    made = rows()
    table = Table(
        "variance",
        "Variance of the gradient's estimates, summed over its components",
        [
            Column("levels", "levels C", "d"),
            Column("evaluations", "losses an ARSM draw", "d"),
            *(Column(key, title, ".4f") for key, title in METHODS.items()),
        ],
        made,
    )
    series = [
        Series(title, [row["levels"] for row in made], [np.log10(row[key]) for row in made], points=True)
        for key, title in METHODS.items()
    ]
    ratios = [row["reinforce"] / row["arsm"] for row in made]
    alt = (
        f"One draw of ARSM varies {min(ratios):.0f} to {max(ratios):.0f} times less than one of REINFORCE, the more "
        "so the more levels there are"
    )
    drawing = line_chart(series, "levels C", "log10 of the variance", alt, log_x=True)
    better = [str(row["levels"]) for row in made if row["arsm"] < row["equal"]]
    return Section(
        "variance",
        "Gradient variance",
        [
            f"One query of {len(GRADES)} documents, random outputs (standard normal), loss -NDCG@10, "
            f"{DRAWS:,} draws an estimator. All are unbiased; REINFORCE uses the levels that ARSM draws.",
            f"{alt}. But a draw of ARSM evaluates C (C - 1) / 2 + 1 losses. REINFORCE averaged over as many draws "
            "varies less than ARSM where C is "
            + ", ".join(str(row["levels"]) for row in made if row["arsm"] >= row["equal"])
            + (f" and more where it is {', '.join(better)}" if better else "")
            + ". In ARSM's favour, a swap moves only about one document in eight, so that a further loss costs far "
            "less than the first.",
        ],
        [Figure("variance_figure", table.title, drawing, alt, table), table],
    )
