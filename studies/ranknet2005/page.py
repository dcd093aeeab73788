"""The page of the study: the artificial data, Figure 1, and the comparison of the methods on each data set.

Figure 1 shows RankNet's cost of a pair, and the combination of two probabilities. Section 3.1 of the paper has a
theorem on certain pairs, which is compared with the model of Bradley and Terry. An experiment takes steps per file
instead of steps per pair.
"""

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.comparison.statistics import mean_interval
from studies.ranknet2005.artificial import LEAVES, METHODS, ROUNDS, TABLE1
from studies.ranknet2005.experiments import trainings
from studies.ranknet2005.order import explanations, order
from studies.ranknet2005.posteriors import combine, figure1_combination, figure1_cost, posteriors
from studies.ranknet2005.published import Run, by_draw
from studies.ranknet2005.tables import TARGETS, WHERE, ties, training_sizes, without_errors, zero_error
from studies.ranknet2005.web_search import web_search


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


STEPS = {"table1": "pair", "table1_by_file": "file"}  # the experiments with both kinds of steps
CHECKS = {"zero_error": "pair", "zero_error_by_file": "file"}
GAP = (
    Column("difference", "pair minus file", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with pair better"),
)


def steps(runs: list[Run]) -> PageSection:
    """Return the section on the kinds of steps. runs: the runs of all draws."""
    compared, descents = _compared(runs), _descents(runs)
    return PageSection(
        "steps",
        "Steps per pair, and steps per file",
        [
            "Every other section on artificial data takes one step per pair, as the paper does. A step per file "
            "follows the sum of the gradients of the file's pairs, all computed before the step. To first order, it "
            "equals the steps of its pairs. The draws, the initial nets, the rate and its halving are the same here.",
            *_largest(compared),
            *_reached(runs),
            *_falls(descents),
        ],
        [
            Table(
                "table1_by_file",
                "Table 1 with steps per file",
                (*WHERE, Column("pair", "steps per pair", ".2f"), Column("file", "steps per file", ".2f"), *GAP),
                compared,
                "Percent of the test pairs in the right order, mean over draws. The interval is that of the mean "
                "difference within a draw.",
            ),
            Table("zero_error_by_file", "1000 vectors with steps per file", CHECK_COLUMNS, _checks(runs)),
            Table(
                "descent",
                "Section 5.1: the decrease of errors and cost",
                DESCENT_COLUMNS,
                descents,
                "An epoch rises if its value is above that of the epoch before. Shares of the epochs of all draws. The "
                "cost is the mean over pairs, computed before each step. Its largest rise is relative. The largest "
                "rise of the errors is in percent of the training pairs.",
            ),
        ],
    )


def _compared(runs: list[Run]) -> list[Row]:
    """Return one row per target, net and number of training vectors, with the paired difference over draws."""
    rows = []
    for target in TARGETS:
        for net in TABLE1:
            for size in sorted({run["size"] for run in runs if run["experiment"] == "table1"}):
                pair, file = (by_draw(runs, name, target, net, size) for name in STEPS)
                gap = mean_interval(pair - file)
                rows.append(
                    {"target": target, "net": net, "size": size, "pair": pair.mean(), "file": file.mean()}
                    | {"difference": gap.mean, "low": gap.low, "high": gap.high}
                    | {"better": f"{np.count_nonzero(pair > file)} of {len(pair)}"}
                )
    return rows


def _largest(rows: list[Row]) -> list[str]:
    """Return a sentence about the largest difference between the kinds of steps, or nothing without rows."""
    if not rows:
        return []
    row = max(rows, key=lambda row: abs(row["difference"]))
    return [
        f"The largest difference is that of {row['net']} with {row['size']:,} vectors of the {TARGETS[row['target']]}: "
        f"{row['pair']:.2f} percent with steps per pair, {row['file']:.2f} with steps per file. Steps per pair are "
        f"better in {row['better']} draws."
    ]


CHECK_COLUMNS = (
    Column("steps", "steps per"),
    Column("reached", "draws without a training error", "d"),
    Column("draws", "of", "d"),
    Column("epochs", "epochs, median", ".0f"),
    Column("least", "least", "d"),
    Column("most", "most", "d"),
    Column("errors", "training pairs in error at the end, mean %", ".4f"),
    Column("test", "test error, %", ".2f"),
)


def _checks(runs: list[Run]) -> list[Row]:
    """Return one row per kind of steps for the check on 1000 vectors. The epochs are those of draws without error."""
    rows = []
    for experiment, kind in CHECKS.items():
        checked = [run for run in runs if run["experiment"] == experiment]
        if checked:
            epochs = without_errors(checked)
            rows.append(
                {"steps": kind, "reached": len(epochs), "draws": len(checked)}
                | {"epochs": float(np.median(epochs)) if epochs else None}
                | {"least": min(epochs, default=None), "most": max(epochs, default=None)}
                | {"errors": float(np.mean([100 - run["train"] for run in checked]))}
                | {"test": float(np.mean([100 - run["test"] for run in checked]))}
            )
    return rows


def _reached(runs: list[Run]) -> list[str]:
    """Return a sentence on the draws in which 1000 vectors are learned without error, by kind of steps."""
    found = [f"{row['reached']} of {row['draws']} draws with steps per {row['steps']}" for row in _checks(runs)]
    return (
        [f"A net of the target's shape learns 1000 vectors without error in {' and in '.join(found)}."] if found else []
    )


DESCENT_COLUMNS = (
    *WHERE,
    Column("steps", "steps per"),
    Column("epochs", "epochs, all draws", ",d"),
    Column("cost_rises", "cost rises, %", ".2f"),
    Column("largest_cost_rise", "largest rise, %", ".2f"),
    Column("error_rises", "errors rise, %", ".2f"),
    Column("largest_error_rise", "largest rise, points", ".2f"),
)


def _descents(runs: list[Run]) -> list[Row]:
    """Return one row per target, net, number of training vectors and kind of steps. The last net is the check's."""
    groups: dict[tuple[str, str, int, str], list[Run]] = {}
    for run in runs:
        kind = (STEPS | CHECKS).get(run["experiment"])
        if kind:
            groups.setdefault((run["target"], run["net"], run["size"], kind), []).append(run)
    rows = []
    for (target, net, size, kind), group in sorted(groups.items()):
        later = sum(run["epochs"] - 1 for run in group)  # the first epoch has no epoch before
        rows.append(
            {"target": target, "net": net, "size": size, "steps": kind}
            | {"epochs": sum(run["epochs"] for run in group)}
            | {f"{name}_rises": 100 * sum(run[f"{name}_rises"] for run in group) / later for name in ("cost", "error")}
            | {"largest_cost_rise": 100 * max(run["largest_cost_rise"] for run in group)}
            | {"largest_error_rise": max(run["largest_error_rise"] for run in group)}
        )
    return rows


def _falls(descents: list[Row]) -> list[str]:
    """Return a sentence on the paper's statement that errors and cost decrease, for steps per pair."""
    rows = [row for row in descents if row["steps"] == "pair"]
    if not rows:
        return []
    cost, error = (max(row[f"largest_{name}_rise"] for row in rows) for name in ("cost", "error"))
    most_cost, most_error = (max(row[f"{name}_rises"] for row in rows) for name in ("cost", "error"))
    return [
        "The paper finds that the number of pairwise errors and the mean cost decrease approximately monotonically on "
        f"the training set. With steps per pair, the cost rises in at most {most_cost:.1f}% of the epochs of a row, "
        f"and never by more than {cost:.2f}%. The errors rise in up to {most_error:.0f}% of the epochs, by at most "
        f"{error:.2f} percent of the training pairs."
    ]


COLUMNS = (
    Column("target", "target"),
    Column("size", "training vectors", ",d"),
    Column("rankboost_stumps", "RankBoost, stumps", ".2f"),
    Column("ranknet_stumps", "RankNet's cost, stumps", ".2f"),
    Column("difference", "RankNet's cost minus RankBoost", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with RankNet's cost better"),
    Column("ranknet_trees", f"RankNet's cost, trees of {LEAVES} leaves", ".2f"),
    Column("linear", "linear net", ".2f", drop_if_empty=True),
)


def boosting(runs: list[Run]) -> list[PageSection]:
    """Return the section on boosting, or nothing if there are no such runs. runs: the runs of all draws."""
    rows = _rows(runs)
    if not rows:
        return []
    above = sum(row["low"] > 0 for row in rows)
    below = sum(row["high"] < 0 for row in rows)
    return [
        PageSection(
            "boosted",
            "Section 2: RankNet's cost boosted",
            [
                "Section 2 of the paper asks how RankBoost combined with the paper's differentiable cost would "
                "compare, and leaves the answer to other work. Here, RankBoost's exponential cost is replaced by "
                "RankNet's. The candidate stumps and the rule that chooses one of them stay the same. Each weight "
                f"minimises an upper bound of the cost, as in RankBoost. The best of {ROUNDS:,} rounds on validation "
                "is kept.",
                f"RankNet's cost is better in {above} of {len(rows)} rows and worse in {below}, by the 95% interval of "
                "the mean difference over draws. The other rows are not separated. A sum of stumps is a sum of "
                "functions of one feature. The last but one column has trees, fitted by LightGBM to RankNet's cost. "
                "They can also learn products of features, which the random polynomial has.",
            ],
            [
                Table(
                    "boosted",
                    "Boosting on the artificial data",
                    COLUMNS,
                    rows,
                    "Percent of the test pairs in the right order at the least validation error, mean over draws. The "
                    "linear net is that of Table 1.",
                )
            ],
        )
    ]


def _rows(runs: list[Run]) -> list[Row]:
    """Return one row per target and number of training vectors, with the paired difference over draws."""
    rows = []
    for target in TARGETS:
        for size in sorted({run["size"] for run in runs if run["experiment"] == "boosted"}):
            tests = {name: by_draw(runs, "boosted", target, name, size) for name in METHODS}
            ours, theirs = tests["ranknet_stumps"], tests["rankboost_stumps"]
            gap, linear = mean_interval(ours - theirs), by_draw(runs, "table1", target, "linear", size)
            rows.append(
                {"target": target, "size": size, "linear": float(linear.mean()) if len(linear) else None}
                | {name: float(values.mean()) for name, values in tests.items()}
                | {"difference": gap.mean, "low": gap.low, "high": gap.high}
                | {"better": f"{np.count_nonzero(ours > theirs)} of {len(ours)}"}
            )
    return rows


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page.

    Stored results of draws beyond the number of draws in the settings are ignored.
    """
    target_jobs = (job for job in inputs.jobs() if "target" in job)
    runs = [{"target": job["target"], "draw": job["draw"]} | run for job in target_jobs for run in job["runs"]]
    runs = [run for run in runs if run["draw"] <= inputs.settings["artificial"]["draws"]]
    sections = [training_sizes(runs), ties(runs), zero_error(runs), steps(runs), *boosting(runs)]
    sections += [figure1(), combination()]
    for dataset in inputs.datasets:
        methods = trainings(inputs, dataset)
        sections.append(web_search(inputs, dataset, methods))
        sections.append(order(dataset, methods))
        sections.append(explanations(inputs, dataset, methods))
    return sections
