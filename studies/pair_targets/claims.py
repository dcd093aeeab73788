"""The claims in sections 2 and 3 of the paper. Each claim has a measurement and a verdict."""

from typing import Any, NamedTuple

import numpy as np

from studies.ranknet2005.posteriors import combine

CLOSE = 1e-3  # tolerance of a probability, because training stops when the cost changes by less than 1e-9 of its value
THEIRS, COMBINED, OURS = "section 2", "section 3.1", "ours"


class Claim(NamedTuple):
    """A claim in words, its `source`, the measurement in words (`found`), and whether the claim holds."""

    claim: str
    source: str
    found: str
    holds: bool

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "does not hold"


def error_claim(claim: str, source: str, worst: float) -> Claim:
    """Return the claim that the largest error of a probability is below CLOSE."""
    return Claim(claim, source, f"worst error {worst:.1e}", worst < CLOSE)


def claims_on_tables(combined: list[dict[str, Any]], circles: list[dict[str, Any]]) -> list[Claim]:
    """Return the claims on two combined targets and on three targets in a circle (P_ij, P_jk and P_ki)."""
    worst = max(abs(row["formula"] - row["learned"]) for row in combined)
    sure = [row for row in combined if min(row["p_ij"], row["p_jk"]) > 0.5]
    surer = sum(row["learned"] > max(row["p_ij"], row["p_jk"]) for row in sure)
    even = [row for row in circles if row["p_ij"] == row["p_jk"] == row["p_ki"]]
    return [
        fixed_points(),
        error_claim("two targets say the third by the formula", COMBINED, worst),
        Claim(
            "two targets above 1/2 say a third above both",
            COMBINED,
            f"{surer} of {len(sure)} learned",
            surer == len(sure) > 0,
        ),
        error_claim(
            "three in a circle: training ends at the least cross-entropy",
            THEIRS,
            max(abs(row[f"learned_{end}"] - row[f"best_{end}"]) for row in circles for end in ("ij", "jk", "ki")),
        ),
        error_claim(
            "a circle of equal targets leaves three ties",
            THEIRS,
            max(abs(row[f"learned_{end}"] - 0.5) for row in even for end in ("ij", "jk", "ki")),
        ),
    ]


def fixed_points(steps: int = 1000) -> Claim:
    """Return the claim that P combined with itself equals P only at 0, 1/2 and 1.

    The claim also says that the combined probability is below P for 0 < P < 1/2, and above P for 1/2 < P < 1.
    """
    p = np.arange(steps + 1) / steps
    change = combine(p, p) - p
    fixed = p[np.abs(change) < 1e-12]
    holds = fixed.tolist() == [0.0, 0.5, 1.0] and bool((np.sign(change) == np.sign(p * (2 * p - 1) * (1 - p))).all())
    return Claim(
        "P combined with itself is P at 0, 1/2 and 1 alone, less before 1/2 and more after it",
        COMBINED,
        f"of {steps + 1} values {', '.join(f'{point:g}' for point in fixed)}",
        holds,
    )


def claims_on_targets(draws: list[dict[str, Any]]) -> list[Claim]:
    """Return the claims on random targets, both consistent and inconsistent ones."""

    def worst(kind: str, name: str) -> float:
        return max(draw[kind][name] for draw in draws)

    excess = [draw["inconsistent"]["excess"] for draw in draws]
    circles = [draw["inconsistent"]["circles"] for draw in draws]
    return [
        error_claim("consistent targets are learned as they are", THEIRS, worst("consistent", "all_pairs")),
        error_claim("neighbours' targets alone say all others", COMBINED, worst("consistent", "neighbours")),
        error_claim("inconsistent targets: the least cross-entropy", THEIRS, worst("inconsistent", "error")),
        error_claim("inconsistent targets: an item's expected wins are learned", OURS, worst("inconsistent", "wins")),
        Claim(
            "inconsistent targets: a cost stays above their own entropy",
            OURS,
            f"{min(excess):.3f} to {max(excess):.3f} nats a pair, with {min(circles)} to {max(circles)} circles",
            min(excess) > 0.0,
        ),
    ]
