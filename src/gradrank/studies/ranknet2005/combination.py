"""The section on section 3.1 of the paper: certain pairs in the theorem, and the model of Bradley and Terry."""

import numpy as np

from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.common.study import PageSection
from gradrank.studies.ranknet2005.posteriors import combine, posteriors

SMALL = 1e-6  # distance of a nearly certain probability from 0 or 1
STEPS = 1000  # number of random chains in the comparison with Bradley and Terry


def combination() -> PageSection:
    """Return the section on the cases 0 and 1 of the theorem, and on Bradley and Terry's model."""
    return PageSection(
        "combination",
        "Section 3.1: certain pairs, and the model of Bradley and Terry",
        [
            "The claims of section 3.1 on combined probabilities are checked on the page of the study `pair_targets`. "
            "Two points are added here.",
            "The theorem says that the probabilities of neighbours, from 0 to 1, determine those of all pairs. Its "
            "proof adds log odds, which are infinite for 0 and 1. One certain pair in a chain "
            "decides every pair across it. A chain with both a 0 and a 1 leaves the pairs across both undetermined, "
            "because equation 5 is then 0/0. The table shows that nearly certain pairs can give any value there, so "
            "the theorem holds for such a chain only if 0 and 1 are excluded.",
            "Bradley and Terry (1952) and Hastie and Tibshirani (1998) write the probability that A beats B as "
            "p_A / (p_A + p_B). With p = e^o, this is RankNet's probability: over "
            f"{STEPS:,} random chains of five items, the largest difference is {_bradley_terry():.0e}. The paper "
            "remarks that such p need not exist for its own targets. The certain ranking P(A above B) = P(B above C) = "
            "P(A above C) = 1 shows it: the first needs p_B = 0, and the second p_B > 0. The table gives the "
            "three probabilities without any p.",
        ],
        [
            Table(
                "certain_pairs",
                "Chains with certain and nearly certain pairs",
                (
                    Column("case", "case"),
                    Column("p_ij", "P_ij", ".12g"),
                    Column("p_jk", "P_jk", ".12g"),
                    Column("p_ik", "P_ik", ".6f"),
                ),
                _chains(),
                "A dash: P_ik is not determined.",
            )
        ],
    )


def _chains() -> list[Row]:
    """Return one row per chain of two pairs, with the probability of the third pair."""
    cases = {
        "two certain pairs of one direction": [(1.0, 1.0), (0.0, 0.0)],
        "one certain pair": [(1.0, 0.3), (0.3, 0.0), (1.0, SMALL)],
        "two certain pairs of opposite directions": [(1.0, 0.0)],
        "nearly certain, opposite directions": [(1 - SMALL, SMALL), (1 - SMALL, SMALL**2), (1 - SMALL**2, SMALL)],
    }
    return [
        {"case": case, "p_ij": p, "p_jk": q, "p_ik": float(posteriors(np.array([p, q]))[0, 2])}
        for case, chains in cases.items()
        for p, q in chains
    ]


def _bradley_terry() -> float:
    """Return the largest difference between Eq. 5 along random chains and p_i / (p_i + p_j) with p = e^o."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(0.0, 2.0, (STEPS, 5))
    strengths = np.exp(outputs)

    def bradley_terry(i: int, j: int) -> np.ndarray:
        return strengths[:, i] / (strengths[:, i] + strengths[:, j])

    combined, worst = bradley_terry(0, 1), 0.0
    for item in range(2, outputs.shape[1]):
        combined = combine(combined, bradley_terry(item - 1, item))
        worst = max(worst, float(np.abs(combined - bradley_terry(0, item)).max()))
    return worst
