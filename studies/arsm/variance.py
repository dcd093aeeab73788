"""The variance of ARSM, AR, ARS and REINFORCE on one artificial query. No data set is needed."""

from itertools import combinations

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, PageSection
from studies.arsm.estimators import estimates, losses_of

LEVELS = (3, 5, 10, 20, 40)
GRADES = np.repeat([0, 1, 2], [14, 4, 2]).astype(np.int32)  # 20 documents with MQ2007's shares of grades
DRAWS = 2000
SWAPPED, SWAPPED_DRAWS = 20, 200  # levels and draws for the share of documents that a swap moves
SEED = 0
METHODS = {
    "reinforce": "REINFORCE",
    "baseline": "REINFORCE, mean loss subtracted",
    "ar": "AR",
    "ars": "ARS",
    "arsm": "ARSM",
}


def rows() -> list[Row]:
    """Return one row per number of levels, with the variance of each estimator.

    The variance is summed over the components of the gradient. The cell with the name of an estimator has the variance
    of one draw. The cell `equal_<name>` has the variance at equal cost: the variance of the mean over k draws, where k
    draws of the estimator compute as many losses as one draw of ARSM.
    """
    table_rows = []
    for levels in LEVELS:
        rng = np.random.default_rng(SEED)
        estimated = estimates(rng.normal(size=(len(GRADES), levels)), GRADES, DRAWS, rng)
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
    phi = rng.normal(size=(len(GRADES), levels))
    races = np.log(rng.standard_exponential((SWAPPED_DRAWS, len(GRADES), levels)))
    drawn, moved = np.argmin(races - phi, axis=2), []
    for c, k in combinations(range(levels), 2):
        order = np.arange(levels)
        order[[c, k]] = k, c
        moved.append(np.mean(np.argmin(races[:, :, order] - phi, axis=2) != drawn))
    return float(np.mean(moved))


def variance() -> PageSection:
    """Return the section on gradient variance."""
    table_rows = rows()
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
            f"One query of {len(GRADES)} documents, random outputs (standard normal), loss -NDCG@10, {DRAWS:,} draws "
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
    """Return a figure and its table. prefix: the beginning of the keys of `rows` that are shown."""
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
