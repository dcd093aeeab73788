"""The facts of the page: artificial data, Figure 1, and the methods on each data set. `page.md.jinja` has the text.

Figure 1 shows RankNet's cost of a pair, and the combination of two probabilities. Section 3.1 of the paper has a
theorem on certain pairs, which is compared with the model of Bradley and Terry. An experiment takes steps per file
instead of steps per pair.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.templates import fill_template
from gradrank.comparison.significance import RULE
from gradrank.comparison.statistics import mean_interval
from studies.ranknet2005 import columns
from studies.ranknet2005.artificial import METHODS, ROUNDS, TABLE1, ZERO_EPOCHS
from studies.ranknet2005.experiments import CONVENTION, trainings
from studies.ranknet2005.order import explanations, order
from studies.ranknet2005.posteriors import combine, figure1_combination, figure1_cost, posteriors
from studies.ranknet2005.published import Run, by_draw
from studies.ranknet2005.tables import TARGETS, table1, with_and_without_ties, without_errors, zero_error
from studies.ranknet2005.web_search import web_search


def figure1() -> list[Figure]:
    """Return both panels of Figure 1."""
    o, costs = figure1_cost()
    curves = {f"target {target:g}": cost.tolist() for target, cost in costs.items()}
    left = Table(
        "figure1_cost",
        "Figure 1, left: the cost of a pair",
        [Column("o", "score difference", ".3f"), *(Column(name.replace(" ", "_"), name, ".4f") for name in curves)],
        [
            {"o": x} | {name.replace(" ", "_"): cost[i] for name, cost in curves.items()}
            for i, x in enumerate(o.tolist())
        ],
    )
    p, combined = (values.tolist() for values in figure1_combination())
    right = Table(
        "figure1_combination",
        "Figure 1, right: combining two probabilities",
        [Column("p", "P_ij = P_jk", ".3f"), Column("combined", "P_ik", ".4f")],
        [{"p": x, "combined": y} for x, y in zip(p, combined, strict=True)],
    )
    cost_alt = (
        "RankNet's cost of a pair against the score difference: falling for target 1, rising for target 0, and "
        "for a tie, target 1/2, lowest at 0, where it is log 2"
    )
    combined_alt = (
        "The combined probability against that of two equal ones: 0 at 0, 1/2 at 1/2, 1 at 1; below the "
        "diagonal before 1/2 and above it after: two weak beliefs make a stronger one"
    )
    lines = [Series(name, o.tolist(), cost) for name, cost in curves.items()]
    cost_chart = line_chart(lines, "score difference o", "cost", cost_alt)
    combined_chart = line_chart([Series("P_ik", p, combined)], "P_ij = P_jk", "P_ik", combined_alt)
    return [
        Figure(left.id, left.title, cost_chart, cost_alt, left),
        Figure(right.id, right.title, combined_chart, combined_alt, right),
    ]


SMALL = 1e-6  # distance of a nearly certain probability from 0 or 1
CHAINS, CLOSE = 1000, 1e-9  # number of random chains in the comparison with Bradley and Terry, and its tolerance


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


def _boosted(runs: list[Run]) -> list[Row]:
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
    compared = _compared(runs)
    return fill_template(
        Path(__file__).with_name("page.md.jinja"),
        columns=columns,
        RULE=RULE,
        CONVENTION=CONVENTION,
        ZERO_EPOCHS=ZERO_EPOCHS,
        ROUNDS=ROUNDS,
        CHAINS=CHAINS,
        CLOSE=CLOSE,
        TARGETS=TARGETS,
        table1=table1(runs),
        table2=with_and_without_ties(runs, "table2"),
        table2_scaled=with_and_without_ties(runs, "table2_by_variance"),
        zero_error=zero_error(runs),
        compared=compared,
        widest=max(compared, key=lambda row: abs(row["difference"]), default=None),
        checks=_checks(runs),
        descents=_descents(runs),
        boosted=_boosted(runs),
        figure1=figure1(),
        chains=_chains(),
        equal_chains=_equal_chains(),
        datasets={dataset: _on_dataset(inputs, dataset) for dataset in inputs.datasets},
    )


def _on_dataset(inputs: Inputs, dataset: str) -> dict[str, Any]:
    """Return the facts of the sections on one data set."""
    methods = trainings(inputs, dataset)
    return web_search(inputs, dataset, methods) | order(methods) | explanations(inputs, dataset, methods)
