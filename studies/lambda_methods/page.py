"""The page of the study: pair errors and NDCG, accuracy, queries that lose, and hidden nodes.

A round of LambdaMART may hurt training queries while the mean over queries rises. RankNet is trained with few and with
many hidden nodes, without weight decay.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.studies.tables import COLUMNS, NOTE, Question, paired_tests
from gradrank.comparison.significance import decide_row
from gradrank.measures.metrics import metric_label
from studies.lambda_methods.experiments import METRIC
from studies.lambda_methods.pair_errors import accuracy, pair_errors

STAGES = {"2 to 10": (2, 10), "11 to 50": (11, 50), "51 to the last": (51, None)}  # first and last round
ROUND_COLUMNS = (
    Column("dataset", "data set"),
    Column("rounds"),
    Column("counted", "rounds, all folds", "d"),
    Column("rising", "of them with a rising mean", "d"),
    Column("hurting", "of these, some query loses", "d"),
    Column("hurt", "queries that lose in such a round", ".1%"),
    Column("helped", "queries that gain", ".1%"),
)
ENDS = (
    Column("dataset", "data set"),
    Column("rounds", "rounds, mean over folds", ".0f"),
    Column("first", f"{metric_label(METRIC)} after round 1", ".4f"),
    Column("last", "after the last round", ".4f"),
    Column("hurt", "queries that lose", ".1%"),
    Column("helped", "queries that gain", ".1%"),
)


def boosting_rounds(jobs: Sequence[Mapping[str, Any]]) -> PageSection:
    """Return the section on the queries that LambdaMART hurts. jobs: the results of the study's jobs."""
    rows = [row for job in jobs for row in _stages(job)]
    ends = [_ends(job) for job in jobs]
    label = metric_label(METRIC)
    return PageSection(
        "rounds",
        "A round of LambdaMART may hurt some queries",
        [
            "The claim: LambdaMART chooses splits and leaf values over all queries, so a tree may lower the measure on "
            "some queries as long as the sum over queries rises. Here LambdaMART is trained on every fold, and the "
            f"{label} of each training query is compared before and after each round. Equal scores count as the mean "
            "over all orders. Queries without a relevant document are left out.",
            *(_verdict(job["dataset"], rows, end) for job, end in zip(jobs, ends, strict=True)),
        ],
        [
            Table("rounds", f"Training queries by the change of their {label} in a round", ROUND_COLUMNS, rows),
            Table("rounds_ends", "Training queries by their change from the first round to the last", ENDS, ends),
        ],
    )


def _stages(job: Mapping[str, Any]) -> list[Row]:
    """Return one row per stage of the training with at least one round."""
    rows: list[Row] = []
    for name, (first, last) in STAGES.items():
        kept = slice(first - 2, None if last is None else last - 1)  # the changes begin with round 2
        rises, hurt, helped = (
            np.concatenate([np.asarray(values(fold), dtype=float)[kept] for fold in job["folds"]])
            for values in (lambda fold: np.diff(fold["mean"]), lambda fold: fold["hurt"], lambda fold: fold["helped"])
        )
        if not len(rises):
            continue
        rising = rises > 0
        shares = {key: float(of[rising].mean()) if rising.any() else np.nan for key, of in _named(hurt, helped)}
        counts = {"counted": len(rises), "rising": int(rising.sum()), "hurting": int((hurt[rising] > 0).sum())}
        rows.append({"dataset": job["dataset"], "rounds": name} | counts | shares)
    return rows


def _named(hurt: np.ndarray, helped: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return [("hurt", hurt), ("helped", helped)]


def _ends(job: Mapping[str, Any]) -> Row:
    """Return the row of the comparison of the first round and the last round, as means over folds."""
    folds = job["folds"]

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    return {
        "dataset": job["dataset"],
        "rounds": mean([len(fold["mean"]) for fold in folds]),
        "first": mean([fold["mean"][0] for fold in folds]),
        "last": mean([fold["mean"][-1] for fold in folds]),
        "hurt": mean([fold["hurt_at_end"] for fold in folds]),
        "helped": mean([fold["helped_at_end"] for fold in folds]),
    }


def _verdict(dataset: str, rows: Sequence[Row], end: Row) -> str:
    """Return the sentences that say whether the claim holds on a data set."""
    own = [row for row in rows if row["dataset"] == dataset]
    rising, hurting = (sum(row[key] for row in own) for key in ("rising", "hurting"))
    return (
        f"{dataset}: in {hurting:,} of {rising:,} rounds with a rising mean, some training query loses: the claim "
        f"{'holds' if hurting else 'does not hold'}. From the first round to the last, {end['hurt']:.1%} of the "
        f"training queries lose and {end['helped']:.1%} gain."
    )


CONVENTION = "letor4"  # that of the selection, which computes the validation values
ENTRY = "nodes"  # the variants of the study, one per number of hidden nodes
SHOWN = "ndcg@10"
SPLITS = {"train": "training", "test": "test"}


def hidden_nodes(inputs: Inputs) -> PageSection:
    """Return the section on the number of hidden nodes."""
    paragraphs = [
        "The claim: with too few hidden nodes a net cannot learn the order, and with too many it learns the training "
        "queries by heart and does worse on others. RankNet is trained without weight decay, for the same number of "
        "epochs with each number of nodes. The epoch with the best validation MAP is tested. "
        f"{metric_label(SHOWN)} of the validation queries after the last epoch shows the effect of the nodes without "
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
            split: inputs.measure(dataset, model, [SHOWN], CONVENTION, split) for split in SPLITS
        }
        last: list[Mapping[str, Any]] = [
            fold.history().row(-1, named=True) for fold in inputs.method(dataset, model).folds()
        ]
        self.last = [step[f"vali_{SHOWN}"] for step in last]
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
    label = metric_label(SHOWN)
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
        | {split: net.values[split].mean(SHOWN) for split in SPLITS}
        | {"half": net.values["test"].half_width(SHOWN)}
        for net in nets
    ]
    return Table(f"nodes_{dataset}", f"{dataset}: RankNet by its number of hidden nodes", columns, rows)


def _tests(dataset: str, nets: Sequence[Net]) -> Table:
    """Return the paired tests of the net with the fewest nodes and of the one with the most against all others."""
    few, *_, many = nets
    questions = [
        Question({"first": net.nodes, "second": other.nodes}, SHOWN, net.values["test"], other.values["test"])
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
        f"{len(own)} larger nets on the test queries. Its training {metric_label(SHOWN)} is {few['train']:.4f}, and "
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
    alt = f"{dataset}, {metric_label(SHOWN)} with {_count(nodes[0])} and with {_count(nodes[-1])}: {parts}"
    drawing = line_chart(series, "hidden nodes", metric_label(SHOWN), alt, log_x=True)
    return Figure(f"nodes_{dataset}_figure", f"{table.title}, drawn", drawing, alt, table)


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    return [pair_errors(inputs), accuracy(inputs), boosting_rounds(inputs.jobs()), hidden_nodes(inputs)]
