"""The section on section 3.1 of the paper: certain pairs in the theorem, and the model of Bradley and Terry."""

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import PageSection
from studies.ranknet2005.posteriors import combine, posteriors

SMALL = 1e-6  # distance of a nearly certain probability from 0 or 1
CHAINS, CLOSE = 1000, 1e-9  # number of random chains in the comparison with Bradley and Terry, and its tolerance


def combination() -> PageSection:
    """Return the section on the cases 0 and 1 of the theorem, and on Bradley and Terry's model."""
    return PageSection(
        "combination",
        "Section 3.1: certain pairs, and the model of Bradley and Terry",
        [
            "The claims of section 3.1 on combined probabilities are checked on the page of the study `pair_targets`. "
            "Two points are added here.",
            "The theorem says that the probabilities of neighbours, from 0 to 1, determine those of all pairs. Its "
            "proof adds log odds, which are infinite for 0 and 1. One certain pair in a chain decides "
            "every pair across it. A chain with both a 0 and a 1 leaves the pairs across both undetermined, because "
            "equation 5 is then 0/0. The table shows that nearly certain pairs can give any value there. The "
            "theorem is true for chains without two opposite certain pairs.",
            "Bradley and Terry (1952) and Hastie and Tibshirani (1998) write the probability that A beats B as "
            f"p_A / (p_A + p_B). With p = e^o, this is RankNet's probability: in {_equal_chains():,} of "
            f"{CHAINS:,} random chains of five items, equation 5 gives the same up to {CLOSE:g}. The paper "
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


def _equal_chains() -> int:
    """Return the number of random chains along which Eq. 5 gives p_i / (p_i + p_j) with p = e^o, up to CLOSE."""
    outputs = np.random.default_rng(0).normal(0.0, 2.0, (CHAINS, 5))
    strengths = np.exp(outputs)

    def bradley_terry(i: int, j: int) -> np.ndarray:
        return strengths[:, i] / (strengths[:, i] + strengths[:, j])

    combined, equal = bradley_terry(0, 1), np.ones(CHAINS, bool)
    for item in range(2, outputs.shape[1]):
        combined = combine(combined, bradley_terry(item - 1, item))
        equal &= np.abs(combined - bradley_terry(0, item)) < CLOSE
    return int(np.count_nonzero(equal))
