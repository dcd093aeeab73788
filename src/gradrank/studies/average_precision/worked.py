"""The worked example of the blog: the AP of three systems.

One of the values in the blog is not the AP of any ranking. Another value is rounded incorrectly.
"""

from fractions import Fraction
from itertools import combinations

from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.common.study import PageSection

PRINTED = Fraction(8, 9)
RELEVANT = 3
RANKS = 30  # the three relevant documents are placed at every combination of the first 30 ranks
# The keys are mistakes that lead to 8/9. The values are the ranks of the relevant documents, and the precisions that
# are averaged by mistake.
SLIPS = {
    "precision at rank 3 for that at rank 4": ((1, 2, 4), (Fraction(1), Fraction(1), Fraction(2, 3))),
    "3/3 for 3/4": ((1, 3, 4), (Fraction(1), Fraction(2, 3), Fraction(1))),
    "averaged over ranks 1 to 3, of which two are relevant": ((1, 2), (Fraction(1), Fraction(1), Fraction(2, 3))),
}


def average_precision(ranks: tuple[int, ...]) -> Fraction:
    """Return AP, the mean of the precisions at the ranks of the relevant documents.

    ranks: the ranks of the relevant documents in ascending order. The first rank is 1.
    """
    return sum((Fraction(relevant, rank) for relevant, rank in enumerate(ranks, 1)), Fraction(0)) / len(ranks)


def worked() -> PageSection:
    """Return the section on the worked example."""
    possible = sorted({average_precision(ranks) for ranks in combinations(range(1, RANKS + 1), RELEVANT)})
    below, above = max(ap for ap in possible if ap < PRINTED), min(ap for ap in possible if ap > PRINTED)
    third = average_precision((3, 4, 7))
    rows: list[Row] = [
        {"slip": slip, "ranks": ", ".join(map(str, ranks)), "sum": " + ".join(map(str, averaged))}
        | {"printed": float(sum(averaged) / len(averaged)), "right": float(average_precision(ranks))}
        for slip, (ranks, averaged) in SLIPS.items()
    ]
    return PageSection(
        "worked",
        "The worked example",
        [
            f"The blog's three systems have AP {PRINTED} (.89), 1 and .41. Three relevant documents at ranks 3, 4 and "
            f"7 have (1/3 + 2/4 + 3/7) / 3 = {third} = {float(third):.4f}, which is .42. And {PRINTED} is "
            f"{'an' if PRINTED in possible else 'no'} AP of three relevant documents: of all ways to place them the "
            f"nearest are {below} = {float(below):.4f} and {above} = {float(above):.4f}. One of "
            f"these slips gives {PRINTED}; the table shows the right value next to each."
        ],
        [
            Table(
                "worked",
                f"Slips that give {PRINTED}, and the right value",
                [
                    Column("slip"),
                    Column("ranks", "relevant at ranks"),
                    Column("sum", "averaged"),
                    Column("printed", "as printed", ".4f"),
                    Column("right", "right", ".4f"),
                ],
                rows,
            )
        ],
    )
