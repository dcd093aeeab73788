"""RankNet with few and with many hidden nodes, without weight decay."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.numbers import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.comparison.significance.decision import decide_row
from gradrank.measures.metrics import metric_label

CONVENTION = "letor4"  # that of the selection, which computes the validation values
ENTRY = "nodes"  # the variants of the study, one per number of hidden nodes
METRIC = "ndcg@10"
SPLITS = {"train": "training", "test": "test"}


def hidden_nodes(inputs: Inputs) -> PageSection:
    """Return the section on the number of hidden nodes."""
    paragraphs = [
        "The claim: with too few hidden nodes a net cannot learn the order, and with too many it learns the training "
        "queries by heart and does worse on others. RankNet is trained without weight decay, for the same number of "
        "epochs with each number of nodes. The epoch with the best validation MAP is tested. "
        f"{metric_label(METRIC)} of the validation queries after the last epoch shows the effect of the nodes without "
        f"this choice. All values are under `{CONVENTION}`."
    ]
    content: list[Table | Figure] = []
    for dataset in inputs.datasets:
        nets = _nets(inputs, dataset)
        tests = _tests(dataset, nets)
        table = _table(dataset, nets)
        content += [_figure(dataset, table), table, tests]
        paragraphs += [_too_few(dataset, table.rows, tests.rows), too_many(dataset, nets, table.rows, tests.rows)]
    return PageSection("nodes", "Too few and too many hidden nodes", paragraphs, content)


class Net:
    """A net with one hidden layer on one data set.

    nodes: number of hidden nodes. values: per-query values by split. last: value of the validation part after the last
    epoch, per fold. loss: training cost of the last epoch, per fold.
    """

    def __init__(self, inputs: Inputs, dataset: str, model: str) -> None:
        (self.nodes,) = inputs.params(dataset, model)["hidden"]
        self.values: Mapping[str, QueryValues] = {
            split: inputs.measure(dataset, model, [METRIC], CONVENTION, split) for split in SPLITS
        }
        last: list[Mapping[str, Any]] = [
            fold.history().row(-1, named=True) for fold in inputs.method(dataset, model).folds()
        ]
        self.last = [step[f"vali_{METRIC}"] for step in last]
        self.loss = [step["train_loss"] for step in last]


def _nets(inputs: Inputs, dataset: str) -> list[Net]:
    """Return the nets of a data set in ascending order of their number of nodes."""
    models = [model for model in inputs.models if model.startswith(f"{ENTRY}-")]
    if len(models) < 2:
        raise GradrankError(
            f"studies/lambda_methods/study.yaml: variants.{ENTRY}: fewer than two numbers of hidden nodes. Fix: list "
            "several values of `hidden`"
        )
    return sorted((Net(inputs, dataset, model) for model in models), key=lambda net: net.nodes)


def _table(dataset: str, nets: Sequence[Net]) -> Table:
    """Return the table of the nets."""
    label = metric_label(METRIC)
    columns = [
        Column("nodes", "hidden nodes", "d"),
        Column("loss", "training cost, last epoch", ".3f"),
        Column("train", f"{label}, training", ".4f"),
        Column("test", f"{label}, test", ".4f"),
        Column("half", "half 95% interval", ".4f"),
        Column("last", f"{label}, validation, last epoch", ".4f"),
    ]
    rows: list[Row] = [
        {"nodes": net.nodes, "loss": float(np.mean(net.loss)), "last": float(np.mean(net.last))}
        | {split: net.values[split].mean(METRIC) for split in SPLITS}
        | {"half": net.values["test"].half_width(METRIC)}
        for net in nets
    ]
    return Table(f"nodes_{dataset}", f"{dataset}: RankNet by its number of hidden nodes", columns, rows)


def _tests(dataset: str, nets: Sequence[Net]) -> Table:
    """Return the paired tests of the net with the fewest nodes and of the one with the most against all others."""
    few, *_, many = nets
    questions = [
        Question({"first": net.nodes, "second": other.nodes}, METRIC, net.values["test"], other.values["test"])
        for net in (few, many)
        for other in nets
        if other is not net and not (net is many and other is few)
    ]
    columns = [Column("first", "nodes of the first", "d"), Column("second", "of the second", "d"), Column("metric")]
    title = f"{dataset}: the fewest and the most nodes against the other numbers, test queries"
    return Table(f"nodes_{dataset}_tests", title, [*columns, *COLUMNS], paired_tests(questions), NOTE)


def _too_few(dataset: str, rows: Sequence[Row], tests: Sequence[Row]) -> str:
    """Return the sentence on the net with the fewest nodes."""
    few = rows[0]
    own = [row for row in tests if row["first"] == few["nodes"]]
    worse = [row for row in own if decide_row(row) == "worse"]
    return (
        f"{dataset}, too few: the net with {_count(few['nodes'])} is significantly worse than {len(worse)} of the "
        f"{len(own)} larger nets on the test queries. Its training {metric_label(METRIC)} is {few['train']:.4f}, and "
        f"the largest is {max(row['train'] for row in rows):.4f}. That too few nodes do worse "
        f"{'holds' if len(worse) == len(own) else 'holds in part' if worse else 'is not shown'}."
    )


def too_many(dataset: str, nets: Sequence[Net], rows: Sequence[Row], tests: Sequence[Row]) -> str:
    """Return the sentences on the net with the most nodes: with the best epoch, and after the last epoch."""
    many, best = nets[-1], max(nets, key=lambda net: float(np.mean(net.last)))
    own = [row for row in tests if row["first"] == many.nodes]
    worse = [row for row in own if decide_row(row) == "worse"]
    folds = sum(ours < theirs for ours, theirs in zip(many.last, best.last, strict=True))
    gap = rows[-1]["last"] - max(row["last"] for row in rows)
    least_loss = min(rows, key=lambda row: row["loss"])["nodes"]
    last = (
        f"the net with {_count(many.nodes)} also has the best validation value"
        if best is many
        else f"the best validation value is that of {_count(best.nodes)}. With {_count(many.nodes)} it is lower by "
        f"{number(-gap)}, in {folds} of {len(many.last)} folds"
    )
    at_best = "holds" if worse else "is not shown"
    at_last = (
        "not worse" if best is many else "worse in every fold" if folds == len(many.last) else "worse in some folds"
    )
    return (
        f"{dataset}, too many: with the best epoch, the net with {_count(many.nodes)} is significantly worse than "
        f"{len(worse)} of {len(own)} smaller nets on the test queries, so the claim {at_best}. After the last epoch, "
        f"the least training cost is that of {_count(least_loss)}, and {last}. So without a choice of the epoch, "
        f"too many nodes are {at_last}."
    )


def _count(nodes: int) -> str:
    """Return a number of nodes in words, such as `1 node`."""
    return f"{nodes} node{'s' * (nodes != 1)}"


def _figure(dataset: str, table: Table) -> Figure:
    """Return the chart of training, test and last validation values against the number of nodes."""
    rows = table.rows
    nodes = [row["nodes"] for row in rows]
    names = {"train": "training", "test": "test", "last": "validation, last epoch"}
    series = [Series(name, nodes, [row[key] for row in rows], points=True) for key, name in names.items()]
    parts = "; ".join(f"{name} from {rows[0][key]:.4f} to {rows[-1][key]:.4f}" for key, name in names.items())
    alt = f"{dataset}, {metric_label(METRIC)} with {_count(nodes[0])} and with {_count(nodes[-1])}: {parts}"
    drawing = line_chart(series, "hidden nodes", metric_label(METRIC), alt, log_x=True)
    return Figure(f"nodes_{dataset}_figure", f"{table.title}, drawn", drawing, alt, table)
