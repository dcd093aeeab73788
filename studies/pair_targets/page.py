"""The page of the study: the claims on target probabilities, and the tables that support the verdicts.

The claims are those in sections 2 and 3 of the paper. Each claim has a measurement and a verdict. Target probabilities
are compared with hard labels, for equal numbers of pairs.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.text_tables import number, p_value
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.comparison.statistics import LEVEL, Interval, holm, mean_interval, paired_t
from studies.pair_targets.experiments import FEATURES, JUDGES, KINDS
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


Values = dict[tuple[str, int], np.ndarray]  # key: (kind, number of pairs); value: (draws,)
COLUMNS = (
    Column("pairs", "pairs", ",d"),
    Column("kind", "a pair's target is"),
    Column("right", "% in order", ".2f"),
    Column("error", "error of P", ".4f"),
    Column("half", "±", ".4f"),
    Column("p", "p against one judge", "p"),
)
NOTE = (
    "Means over draws: percent of new pairs in the true order, mean absolute error of their probability and half its "
    "95% interval; p of Student's paired test of the error, corrected by Holm for the rows of this table."
)


def noise(draws: list[dict[str, Any]]) -> tuple[PageSection, list[Claim]]:
    """Return the section on the three kinds of targets, and the claims about them."""
    right, error = (_values(draws, name) for name in ("right", "error"))
    sizes = sorted({size for _, size in error})
    rows = _rows(right, error, sizes)
    probability, judges, _ = KINDS
    paragraphs = [
        f"The truth is linear in {FEATURES} features, and a pair's probability is the logistic function of the "
        "difference. RankNet sees as many pairs with the probability itself, with the share of "
        f"{JUDGES} judges who drew from it, and with one judge's word, which is 0 or 1; its l2 is chosen by as many "
        "further pairs of the same kind.",
        *_equal_judgements(error, sizes),
    ]
    table = Table("noise", "Targets of three kinds", COLUMNS, rows, NOTE)
    claims = [
        _better(rows, error, probability, "probabilities teach more than as many hard labels"),
        _better(rows, error, judges, f"shares of {JUDGES} judges teach more than as many hard labels"),
    ]
    return PageSection(
        "noise", "Probabilities against hard labels", paragraphs, [_figure(rows, error, sizes), table]
    ), claims


def _values(draws: list[dict[str, Any]], name: str) -> Values:
    """Return one value per draw for each kind of target and number of pairs.

    The keys are (kind, number of pairs). name: `right` or `error`.
    """
    runs = [{(run["kind"], run["pairs"]): run[name] for run in draw["noise"]} for draw in draws]
    return {key: np.array([run[key] for run in runs]) for key in runs[0]}


def _rows(right: Values, error: Values, sizes: list[int]) -> list[dict[str, Any]]:
    """Return one row per number of pairs and kind of target.

    `p` is the p value of the comparison with hard labels. The rows of the hard labels themselves have the value None.
    """
    rows = []
    for size, kind in product(sizes, KINDS):
        interval = mean_interval(error[kind, size])
        rows.append(
            {"pairs": size, "kind": kind, "right": float(right[kind, size].mean()), "error": interval.mean}
            | {"half": _half(interval), "p": None}
        )
    tested_rows = [row for row in rows if row["kind"] != KINDS[-1]]
    p = [paired_t(error[row["kind"], row["pairs"]], error[KINDS[-1], row["pairs"]]) for row in tested_rows]
    for row, corrected in zip(tested_rows, holm(p), strict=True):
        row["p"] = float(corrected)
    return rows


def _half(interval: Interval) -> float:
    """Return half the width of an interval."""
    return (interval.high - interval.low) / 2.0


def _better(rows: list[dict[str, Any]], error: Values, kind: str, claim: str) -> Claim:
    """Return the claim that a kind of target has a smaller error than hard labels for every number of pairs."""
    kind_rows = [row for row in rows if row["kind"] == kind]
    ratios = [error[KINDS[-1], row["pairs"]].mean() / row["error"] for row in kind_rows]
    measured = ", ".join(
        f"{row['pairs']:,} pairs: 1/{ratio:.{0 if ratio > 9.95 else 1}f} of the error"
        for row, ratio in zip(kind_rows, ratios, strict=True)
    )
    holds = all(ratio > 1.0 and row["p"] < LEVEL for row, ratio in zip(kind_rows, ratios, strict=True))
    return Claim(claim, OURS, measured, holds)


def _equal_judgements(error: Values, sizes: list[int]) -> list[str]:
    """Return a list with one sentence that compares two ways to spend the same number of judgements.

    One way is JUDGES judgements per pair. The other way is one judgement per pair, for JUDGES times as many pairs. The
    list is empty if no two of the sizes allow the comparison.
    """
    _, judges, one = KINDS
    comparisons = []
    for size in sizes:
        if size * JUDGES not in sizes:
            continue
        few, many = error[judges, size], error[one, size * JUDGES]
        comparisons.append(
            f"{size * JUDGES:,} judgements: error {number(few.mean())} as {JUDGES} of each of {size:,} pairs, "
            f"{number(many.mean())} as one of each of {size * JUDGES:,} (p {p_value(paired_t(few, many))})"
        )
    return (
        [f"The same number of judgements on fewer or on more pairs: {'; '.join(comparisons)}."] if comparisons else []
    )


def _figure(rows: list[dict[str, Any]], error: Values, sizes: list[int]) -> Figure:
    """Return the chart of the error against the number of pairs."""
    series = []
    for kind in KINDS:
        intervals = [mean_interval(error[kind, size]) for size in sizes]
        series.append(
            Series(
                kind,
                sizes,
                [interval.mean for interval in intervals],
                [_half(interval) for interval in intervals],
                points=True,
            )
        )
    first, last = (f"{number(error[KINDS[-1], size].mean())} with {size:,}" for size in (sizes[0], sizes[-1]))
    alt = (
        f"Mean error of a new pair's probability against the number of pairs: one judge's words leave {first} and "
        f"{last} pairs, the share of {JUDGES} judges less, the probabilities themselves nearly none"
    )
    drawing = line_chart(series, "pairs", "mean error of P", alt, log_x=True)
    columns = [column for column in COLUMNS if column.key in ("pairs", "kind", "error", "half")]
    table = Table("noise_curve", "Error by number of pairs", columns, rows)
    return Figure(table.id, table.title, drawing, alt, table)


CLAIMS = (Column("claim", "claim"), Column("source", "from"), Column("found", "found"), Column("verdict", "verdict"))


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    (job,) = inputs.jobs()
    noise_section, noise_claims = noise(job["draws"])
    claims = [*claims_on_tables(job["combined"], job["circles"]), *claims_on_targets(job["draws"]), *noise_claims]
    claims_section = _claims(claims, len(job["draws"]))
    return [claims_section, _combined(job["combined"]), _circles(job["circles"]), noise_section]


def _claims(claims: list[Claim], draws: int) -> PageSection:
    """Return the section on the claims."""
    table = Table("claims", "Claims", CLAIMS, claims)
    lost = [claim.claim for claim in claims if not claim.holds]
    verdict = f"{len(claims) - len(lost)} of {len(claims)} claims hold" + (
        f"; not: {'; '.join(lost)}." if lost else "."
    )
    return PageSection(
        "claims",
        "Learning from targets that are probabilities",
        [
            "A pair's target is the probability P that the first document ranks above the second; RankNet's cost of "
            "the pair is −P o + log(1 + e^o), o the difference of the two outputs (section 3). Here targets come "
            "without features, so that every item has an output of its own, and with ten, of which the outputs are "
            f"linear. {draws} random tasks of each kind.",
            verdict,
        ],
        [table],
    )


def _combined(rows: list[dict[str, Any]]) -> PageSection:
    """Return the section on two combined targets."""
    columns = [
        Column("p_ij", "P_ij", ".1f"),
        Column("p_jk", "P_jk", ".1f"),
        Column("formula", "P_ik, formula", ".4f"),
        Column("learned", "P_ik, learned", ".4f"),
    ]
    paragraph = (
        "Three items, of which the first and the second, and the second and the third, are pairs; the first and the "
        "third are not. The outputs then give these two P_ik = P_ij P_jk / (1 + 2 P_ij P_jk − P_ij − P_jk)."
    )
    return PageSection(
        "combined", "Two targets say a third", [paragraph], [Table("combined", "Combined", columns, rows)]
    )


def _circles(rows: list[dict[str, Any]]) -> PageSection:
    """Return the section on three targets in a circle."""
    ends = ("ij", "jk", "ki")
    columns = [Column(f"p_{end}", f"P_{end}, target", ".2f") for end in ends]
    columns += [Column(f"learned_{end}", f"P_{end}, learned", ".4f") for end in ends]
    columns += [Column(f"best_{end}", f"P_{end}, Newton", ".4f") for end in ends]
    paragraph = (
        "Targets that go in a circle, or that no outputs can have for another reason, are not an error: training ends "
        "where the cross-entropy is least, as Newton's method finds it too. Equal targets all around leave ties."
    )
    return PageSection(
        "circles", "Three targets in a circle", [paragraph], [Table("circles", "Circles", columns, rows)]
    )
