"""Three definitions of the target of a pair, and the report's net trained with the report's own targets.

S of a pair is 0 or 1 in the report, and -1, 0 or 1 in one blog. Another blog gives the targets 0, 1/2 and 1.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from gradrank.base.numbers import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.bench.studies.study import Inputs, PageSection

MARGIN = 0.5  # the difference o = s_i - s_j in the table of costs
METRICS = ("ndcg@10", "ndcg@15", "map")
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
    tests = _tests(inputs.datasets, measured)
    return PageSection(
        "targets",
        "Which S is which",
        [_definitions(), _least_cost(), *_verdicts(inputs.datasets, tests)],
        [_costs(), _means(measured), tests],
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


def _means(measured: dict[tuple[str, str], QueryValues]) -> Table:
    """Return the table of the means of the nets."""
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    heads = [Column("dataset", "data set"), Column("method")]
    title = "The report's net, trained with its own targets and with 1 and 0"
    return Table("literal", title, [*heads, *mean_columns(METRICS)], rows)


def _tests(datasets: list[str], measured: dict[tuple[str, str], QueryValues]) -> Table:
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
