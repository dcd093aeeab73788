"""The facts of the page: pair weights, the two values of NDCG, targets, and nets. `page.md.jinja` has the text.

A pair has three definitions of its target. S of a pair is 0 or 1 in the report, and -1, 0 or 1 in one blog. Another
blog gives the targets 0, 1/2 and 1.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import (
    COLUMNS,
    NOTE,
    PAIR_COLUMNS,
    Ablation,
    Question,
    mean_columns,
    means_table,
    paired_tests,
    tests_table,
)
from gradrank.bench.studies.templates import fill_template
from studies.term_report import claims as claimed
from studies.term_report.experiments import CONVENTION
from studies.term_report.weights import compare_more_forms, compare_weights, mean_rows, positions

METRICS = ("ndcg@10", "ndcg@15", "map")
TESTED = ("ndcg@15", "map")
BASE = "ranknet_report"
CHANGES = {
    "row sums − plain": {"scoring": "plain"},
    "no L2 − L2": {"l2": 0.01},
    "difference − siamese": {"reading": "siamese"},
    "pairs − single documents": {"reading": "pointwise"},
}
PANELS = '<div class="plots" style="max-width: 56rem">{}</div>'  # two charts per row, or one on a narrow screen

METHOD = (Column("dataset", "data set"), Column("method"))
TARGETS = (
    Column("pair"),
    Column("blog", "S of -1, 0 or 1", "g"),
    Column("direct", "target of 0, 1/2 or 1", "g"),
    Column("report", "S in the report", "g"),
    Column("report_target", "target in the report", "g"),
    Column("blog_cost", "cost by S of -1, 0 or 1", ".6f"),
    Column("direct_cost", "cost by the target", ".6f"),
    Column("report_cost", "cost in the report", ".6f"),
)
SCORED = (Column("reading"), Column("scoring", "scored by"), Column("l2", "L2", "g"), *mean_columns(METRICS))
TABLES = {
    "NOTE": NOTE,
    "PAIRS": PAIR_COLUMNS,
    "MEANS": (*METHOD, *mean_columns(METRICS)),
    "FORM_MEANS": (*METHOD, *mean_columns((*METRICS, "ndcg_beta"))),
    "TARGETS": TARGETS,
    "TARGET_TESTS": (METHOD[0], Column("net"), Column("metric"), *COLUMNS),
    "SCORED": SCORED,
    "SCORED_TESTS": (Column("question"), Column("net", "first net"), Column("metric"), *COLUMNS),
}


class Net(NamedTuple):
    """The parameters in which the nets of the first table differ."""

    reading: str
    scoring: str
    l2: float

    def __str__(self) -> str:
        return f"{self.reading}, {self.scoring.replace('_', ' ')}, {f'L2 {self.l2:g}' if self.l2 else 'no L2'}"


def read_nets(inputs: Inputs, dataset: str) -> dict[Net, QueryValues]:
    """Return the per-query values of the nets that differ from the report's net only in the fields of Net."""

    def others(params: dict) -> dict:
        return {key: value for key, value in params.items() if key not in (*Net._fields, "model")}

    params = {model: inputs.params(dataset, model) for model in inputs.models}
    chosen = {
        Net(*(values[key] for key in Net._fields)): model
        for model, values in params.items()
        if values["model"].startswith(BASE) and others(values) == others(params[BASE])
    }
    return {net: inputs.measure(dataset, model, METRICS, CONVENTION) for net, model in sorted(chosen.items())}


def compare_nets(nets: dict[Net, QueryValues]) -> dict[str, list[Row]]:
    """Return the means of the nets, and the tests of each change of a net against the net without this change."""
    questions = [
        Question({"question": question, "net": str(net)}, metric, values, nets[other])
        for question, change in CHANGES.items()
        for net, values in nets.items()
        if (other := net._replace(**change)) in nets and other != net
        for metric in TESTED
    ]
    means = [
        net._asdict() | {"scoring": net.scoring.replace("_", " "), "values": values} for net, values in nets.items()
    ]
    return {"means": means, "tests": paired_tests(questions)}


def vary(inputs: Inputs, dataset: str) -> dict[str, Any]:
    """Return the figure and the tables of the report's net with one parameter changed at a time.

    The ablation of the hidden units keeps the report's number of layers. The number of layers has its own ablation.
    """
    hidden = [value for value, _ in inputs.variants_of(dataset, BASE, "hidden")]
    reported = inputs.params(dataset, BASE)["hidden"]
    wide = [units for units in hidden if len(units) == len(reported)]
    deep = [units for units in hidden if units == reported or len(units) != len(reported)]
    ablations = [
        Ablation(inputs, dataset, BASE, "hidden", "hidden units", TESTED, CONVENTION, only=wide),
        Ablation(inputs, dataset, BASE, "hidden", "layers", TESTED, CONVENTION, only=deep),
        Ablation(inputs, dataset, BASE, "batch_pairs", "pairs a batch", TESTED, CONVENTION),
        Ablation(inputs, dataset, BASE, "epochs", "epochs", TESTED, CONVENTION),
        Ablation(inputs, dataset, BASE, "pairs_per_epoch", "pairs an epoch", TESTED, CONVENTION),
    ]
    id, title = f"variation_{dataset}", f"{dataset}: the net and its training varied"
    means = means_table(id, title, ablations)
    tests = tests_table(f"{id}_tests", f"{title}, each against the reported", ablations)
    panels = Markup(PANELS).format(Markup("").join(ablation.chart() for ablation in ablations))
    alt = ". ".join(ablation.summary() for ablation in ablations)
    return {"figure": Figure(f"{id}_figure", f"{title}, drawn", panels, alt, means), "means": means, "tests": tests}


MARGIN = 0.5  # the difference o = s_i - s_j in the table of costs


class Targets(NamedTuple):
    """The values of one pair (i, j) in the three definitions.

    blog: S in the blog with -1, 0 and 1. direct: the target in the other blog. report: S in the report, which is 1 if i
    is more relevant than j, otherwise 0.
    """

    blog: float
    direct: float
    report: float


PAIRS = {
    "j above i": Targets(-1.0, 0.0, 0.0),
    "equal grades": Targets(0.0, 0.5, 0.0),
    "i above j": Targets(1.0, 1.0, 1.0),
}
NETS = {  # key: penalty. values: the net trained with the targets of the report, and the net trained with 0 and 1
    "no L2": ("report_literal-l2=0.0", "ranknet_report"),
    "L2": ("report_literal-l2=0.01", "ranknet_report_l2"),
}


def report_target(S: float) -> float:
    """Return the report's target (1 + S) / 2 for S of 0 or 1."""
    return (1 + S) / 2


def cross_entropy(target: float, o: float) -> float:
    """Return the cross-entropy of P = sig(o) and a target in [0, 1]."""
    p = 1 / (1 + math.exp(-o))
    return -target * math.log(p) - (1 - target) * math.log(1 - p)


def blog_cost(S: float, o: float) -> float:
    """Return the blog's cost (1 - S) o / 2 + log(1 + e^-o), for S in [-1, 1] (Burges 2010, section 2)."""
    return (1 - S) * o / 2 + math.log1p(math.exp(-o))


def compare_targets(inputs: Inputs) -> dict[str, Any]:
    """Return the facts of the section on the definitions of the target, and on the nets with the report's targets."""
    costs = [
        {"pair": name, **pair._asdict(), "report_target": report_target(pair.report)}
        | {"blog_cost": blog_cost(pair.blog, MARGIN), "direct_cost": cross_entropy(pair.direct, MARGIN)}
        | {"report_cost": cross_entropy(report_target(pair.report), MARGIN)}
        for name, pair in PAIRS.items()
    ]
    better, worse = (report_target(PAIRS[name].report) for name in ("i above j", "j above i"))
    target = (better + 1 - worse) / 2  # the mean target of the better document over both orders
    measured = {
        (dataset, model): inputs.measure(dataset, model, METRICS, CONVENTION)
        for dataset in inputs.datasets
        for pair in NETS.values()
        for model in reversed(pair)
    }
    questions = [
        Question({"dataset": dataset, "net": net}, metric, measured[dataset, literal], measured[dataset, plain])
        for dataset in inputs.datasets
        for net, (literal, plain) in NETS.items()
        for metric in TESTED
    ]
    return {
        "costs": costs,
        "cost_gap": max(abs(row["blog_cost"] - row["direct_cost"]) for row in costs),
        "better": better,
        "worse": worse,
        "least_target": target,
        "least_cost_at": math.log(target / (1 - target)),
        "literal": mean_rows(measured),
        "literal_tests": paired_tests(questions),
    }


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    return fill_template(
        Path(__file__).with_name("page.md.jinja"),
        **TABLES,
        positions=positions(),
        **compare_weights(inputs),
        **compare_more_forms(inputs),
        claims=claimed.claims(inputs) if claimed.DATASET in inputs.datasets else None,
        claimed=claimed,
        MARGIN=MARGIN,
        **compare_targets(inputs),
        scored={dataset: compare_nets(read_nets(inputs, dataset)) for dataset in inputs.datasets},
        varied={dataset: vary(inputs, dataset) for dataset in inputs.datasets},
    )
