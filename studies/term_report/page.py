"""The page of the study: pair weights, the two values of NDCG, targets, and nets.

The section on the report's RankNet shows how its documents are scored, and the effects of its size and training. A pair
has three definitions of its target. S of a pair is 0 or 1 in the report, and -1, 0 or 1 in one blog. Another blog gives
the targets 0, 1/2 and 1.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from gradrank.base.text_tables import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import (
    COLUMNS,
    NOTE,
    Ablation,
    Question,
    describe_significant,
    mean_columns,
    means_table,
    paired_tests,
    tests_table,
)
from studies.term_report.claims import DATASET, claims
from studies.term_report.weights import more_forms, positions, weights

METRICS = ("ndcg@10", "ndcg@15", "map")
BASE = "ranknet_report"
CHANGES = {
    "row sums − plain": {"scoring": "plain"},
    "no L2 − L2": {"l2": 0.01},
    "difference − siamese": {"reading": "siamese"},
    "pairs − single documents": {"reading": "pointwise"},
}
PANELS = '<div class="plots" style="max-width: 56rem">{}</div>'  # two charts per row, or one on a narrow screen


class Net(NamedTuple):
    """The parameters in which the nets of the first table differ."""

    reading: str
    scoring: str
    l2: float


def scoring(inputs: Inputs) -> PageSection:
    """Return the section on row sums, plain scores and L2."""
    paragraphs = [
        "The report sorts documents by the row sums of the matrix of pair probabilities. Its net sees the "
        "difference of two documents (`difference`), so a document alone has no score, unless it is compared with "
        "the mean document (`plain`). In the `siamese` reading, a scorer and then the difference, both orders are "
        "one: P_ij grows with f(x_i) whatever x_j is, so row sums sort as f does. The `pointwise` reading takes the "
        "output as the probability that a document is relevant (grade 1 or more): the net is trained on single "
        "documents, as many per epoch as there are, and sorts by its output, whatever the row sums are of."
    ]
    content = []
    for dataset in inputs.datasets:
        nets = _nets(inputs, dataset)
        tests = _net_tests(dataset, nets)
        content += [_net_means(dataset, nets), tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'question', 'net')}")
    return PageSection("scoring", "With and without L2, row sums and plain scores", paragraphs, content)


def _nets(inputs: Inputs, dataset: str) -> dict[Net, QueryValues]:
    """Return the per-query values of the nets that differ from the report's net only in the fields of Net."""

    def others(params: dict) -> dict:
        return {key: value for key, value in params.items() if key not in (*Net._fields, "model")}

    params = {model: inputs.params(dataset, model) for model in inputs.models}
    chosen = {
        Net(*(values[key] for key in Net._fields)): model
        for model, values in params.items()
        if values["model"].startswith(BASE) and others(values) == others(params[BASE])
    }
    return {net: inputs.measure(dataset, model, METRICS, "letor4") for net, model in sorted(chosen.items())}


def _net_means(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    """Return the table of means, one row per net."""
    columns = [Column("reading", "reading"), Column("scoring", "scored by"), Column("l2", "L2", "g")]
    rows = [
        {"reading": reading, "scoring": scoring.replace("_", " "), "l2": l2, "values": values}
        for (reading, scoring, l2), values in nets.items()
    ]
    title = f"{dataset}: the report's RankNet, read and scored"
    return Table(f"scoring_{dataset}", title, [*columns, *mean_columns(METRICS)], rows)


def _net_tests(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    """Return the table of paired tests for each change in CHANGES.

    Each net is compared with the net that differs from it only in the changed parameter.
    """
    rows = paired_tests(
        [
            Question({"question": question, "net": _label(net)}, metric, values, nets[other])
            for question, change in CHANGES.items()
            for net, values in nets.items()
            if (other := net._replace(**change)) in nets and other != net
            for metric in ("ndcg@15", "map")
        ]
    )
    heads = [Column("question", "question"), Column("net", "first net"), Column("metric", "metric")]
    return Table(f"scoring_{dataset}_tests", f"{dataset}: one choice changed", [*heads, *COLUMNS], rows, NOTE)


def _label(net: Net) -> str:
    """Return the label of a net."""
    reading, scoring, l2 = net
    return f"{reading}, {scoring.replace('_', ' ')}, {f'L2 {l2:g}' if l2 else 'no L2'}"


def variation(inputs: Inputs) -> PageSection:
    """Return the section on hidden units, layers, batch size, epochs, and pairs per epoch, varied one at a time."""
    paragraphs = [
        "Each panel changes one thing and leaves the rest as reported: 64 and 32 hidden units, batches of 32 pairs, "
        "10 epochs, of which the best on validation is kept. An epoch is 50,000 of the pairs; in the report "
        "it is the whole training set, which 1,000,000 is: all there are."
    ]
    content = []
    for dataset in inputs.datasets:
        ablations = _ablations(inputs, dataset)
        id, heading = f"variation_{dataset}", f"{dataset}: the net and its training varied"
        means = means_table(id, heading, ablations)
        tests = tests_table(f"{id}_tests", f"{heading}, each against the reported", ablations)
        panels = Markup(PANELS).format(Markup("").join(ablation.chart() for ablation in ablations))
        alt = ". ".join(ablation.summary() for ablation in ablations)
        content += [Figure(f"{id}_figure", f"{heading}, drawn", panels, alt, means), means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'parameter', 'value')}")
    return PageSection("variation", "Size, batch and epochs", paragraphs, content)


def _ablations(inputs: Inputs, dataset: str) -> list[Ablation]:
    """Return the ablations of the report's net.

    The ablation of the hidden units keeps the report's number of layers. The number of layers has its own ablation.
    """
    metrics = ("ndcg@15", "map")
    hidden = [value for value, _ in inputs.variants_of(dataset, BASE, "hidden")]
    reported = inputs.params(dataset, BASE)["hidden"]
    wide = [units for units in hidden if len(units) == len(reported)]
    deep = [units for units in hidden if units == reported or len(units) != len(reported)]
    return [
        Ablation(inputs, dataset, BASE, "hidden", "hidden units", metrics, only=wide),
        Ablation(inputs, dataset, BASE, "hidden", "layers", metrics, only=deep),
        Ablation(inputs, dataset, BASE, "batch_pairs", "pairs a batch", metrics),
        Ablation(inputs, dataset, BASE, "epochs", "epochs", metrics),
        Ablation(inputs, dataset, BASE, "pairs_per_epoch", "pairs an epoch", metrics),
    ]


MARGIN = 0.5  # the difference o = s_i - s_j in the table of costs

TESTED = ("ndcg@15", "map")


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


def targets(inputs: Inputs) -> PageSection:
    """Return the section on the definitions of the target, and on the nets trained with the report's targets."""
    measured = {
        (dataset, model): inputs.measure(dataset, model, METRICS, "letor4")
        for dataset in inputs.datasets
        for pair in NETS.values()
        for model in reversed(pair)
    }
    tests = _target_tests(inputs.datasets, measured)
    return PageSection(
        "targets",
        "Which S is which",
        [_definitions(), _least_cost(), *_verdicts(inputs.datasets, tests)],
        [_costs(), _target_means(measured), tests],
    )


def _definitions() -> str:
    """Return the sentences on the three definitions."""
    gap = max(abs(blog_cost(pair.blog, MARGIN) - cross_entropy(pair.direct, MARGIN)) for pair in PAIRS.values())
    same = [name for name, pair in PAIRS.items() if math.isclose(report_target(pair.report), pair.direct)]
    other = [
        f"{name} ({number(report_target(pair.report), 'g')} for {number(pair.direct, 'g')})"
        for name, pair in PAIRS.items()
        if name not in same
    ]
    return (
        "In one blog S of a pair is -1, 0 or 1, with the cost `(1 - S) o / 2 + log(1 + e^-o)`. This is the "
        "cross-entropy of P = sig(o) and the target `(1 + S) / 2`. Another blog gives the targets 0, 1/2 and 1. The "
        f"costs of the two blogs differ by at most {gap:.0e}. In the report S is 1 if document i is more relevant than "
        "document j, otherwise 0, and the target is `(1 + S) / 2`. So a document that is not more relevant has the "
        f"target {number(report_target(0.0), 'g')}. The target equals that of the blogs for: {', '.join(same)}. It "
        f"differs for: {', '.join(other)}."
    )


def _least_cost() -> str:
    """Return the sentences on the difference of scores with the least cost, if both orders of a pair are trained."""
    better, worse = (report_target(PAIRS[name].report) for name in ("i above j", "j above i"))
    target = (better + 1 - worse) / 2  # the mean target of the better document over both orders
    return (
        f"If both orders of a pair are trained, the better document has the targets {number(better, 'g')} and "
        f"{number(1 - worse, 'g')}, {number(target, 'g')} in the mean. A score difference then has its least cost at "
        f"P = {number(target, 'g')}, a difference of {math.log(target / (1 - target)):.4f}. With the targets of the "
        "blogs the cost falls with every larger difference. The order of the documents is the same at the least cost, "
        "so a training decides whether the two costs rank differently."
    )


def _verdicts(datasets: list[str], tests: Table) -> Iterator[str]:
    """Yield one sentence per data set on the paired tests."""
    for dataset in datasets:
        rows = [row for row in tests.rows if row["dataset"] == dataset]
        yield f"{dataset}, the report's targets minus 1 and 0: {describe_significant(rows, 'net')}"


def _costs() -> Table:
    """Return the table of the targets and costs of the three definitions."""
    rows: list[Row] = []
    for name, pair in PAIRS.items():
        report = report_target(pair.report)
        costs = {
            "blog_cost": blog_cost(pair.blog, MARGIN),
            "direct_cost": cross_entropy(pair.direct, MARGIN),
            "report_cost": cross_entropy(report, MARGIN),
        }
        rows.append({"pair": name, **pair._asdict(), "report_target": report} | costs)
    columns = [
        Column("pair"),
        Column("blog", "S of -1, 0 or 1", "g"),
        Column("direct", "target of 0, 1/2 or 1", "g"),
        Column("report", "S in the report", "g"),
        Column("report_target", "target in the report", "g"),
        Column("blog_cost", "cost by S of -1, 0 or 1", ".6f"),
        Column("direct_cost", "cost by the target", ".6f"),
        Column("report_cost", "cost in the report", ".6f"),
    ]
    return Table("targets", f"A pair's target and its cost at a difference of scores of {MARGIN:g}", columns, rows)


def _target_means(measured: dict[tuple[str, str], QueryValues]) -> Table:
    """Return the table of the means of the nets."""
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    heads = [Column("dataset", "data set"), Column("method")]
    title = "The report's net, trained with its own targets and with 1 and 0"
    return Table("literal", title, [*heads, *mean_columns(METRICS)], rows)


def _target_tests(datasets: list[str], measured: dict[tuple[str, str], QueryValues]) -> Table:
    """Return the table of paired tests of the report's targets against 1 and 0."""
    rows = paired_tests(
        [
            Question({"dataset": dataset, "net": net}, metric, measured[dataset, literal], measured[dataset, plain])
            for dataset in datasets
            for net, (literal, plain) in NETS.items()
            for metric in TESTED
        ]
    )
    heads = [Column("dataset", "data set"), Column("net"), Column("metric")]
    return Table("literal_tests", "The report's targets minus 1 and 0", [*heads, *COLUMNS], rows, NOTE)


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    claimed = [claims(inputs)] if DATASET in inputs.datasets else []
    weighted = [positions(), weights(inputs), more_forms(inputs)]
    return [*weighted, *claimed, targets(inputs), scoring(inputs), variation(inputs)]
