"""Figure 1 of the paper: RankNet's cost of a pair, and the combination of two probabilities."""

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, PageSection
from studies.ranknet2005.posteriors import figure1_combination, figure1_cost


def figure1() -> PageSection:
    """Return the section on Figure 1."""
    o, costs = figure1_cost()
    left = Table(
        "figure1_cost",
        "Figure 1, left: the cost of a pair",
        [Column("o", "score difference", ".3f")]
        + [Column(f"target_{target:g}", f"target {target:g}", ".4f") for target in costs],
        [
            {"o": float(x)} | {f"target_{target:g}": float(cost[i]) for target, cost in costs.items()}
            for i, x in enumerate(o)
        ],
    )
    p, combined = figure1_combination()
    right = Table(
        "figure1_combination",
        "Figure 1, right: combining two probabilities",
        [Column("p", "P_ij = P_jk", ".3f"), Column("combined", "P_ik", ".4f")],
        [{"p": float(x), "combined": float(y)} for x, y in zip(p, combined, strict=True)],
    )
    cost_alt = (
        "RankNet's cost of a pair against the score difference: falling for target 1, rising for target 0, and "
        "for a tie, target 1/2, lowest at 0, where it is log 2"
    )
    combined_alt = (
        "The combined probability against that of two equal ones: 0 at 0, 1/2 at 1/2, 1 at 1; below the "
        "diagonal before 1/2 and above it after: two weak beliefs make a stronger one"
    )
    cost_series = [Series(f"target {target:g}", o.tolist(), cost.tolist()) for target, cost in costs.items()]
    return PageSection(
        "figure1",
        "Figure 1",
        ["Both panels from their formulas: the paper's Eq. 3 and Eq. 5."],
        [
            Figure(
                left.id, left.title, line_chart(cost_series, "score difference o", "cost", cost_alt), cost_alt, left
            ),
            Figure(
                right.id,
                right.title,
                line_chart([Series("P_ik", p.tolist(), combined.tolist())], "P_ij = P_jk", "P_ik", combined_alt),
                combined_alt,
                right,
            ),
        ],
    )
