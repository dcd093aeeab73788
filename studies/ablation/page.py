"""The page of the study: for each data set, the difference that each group of features makes to each method."""

from collections.abc import Iterator, Sequence
from itertools import product

from gradrank.base.errors import GradrankError
from gradrank.bench.diff.compare import MeanDifference, Verdict, compare_values
from gradrank.bench.folds.per_query import QueryValues, seeds_of
from gradrank.bench.report.tables.table import Column, P, Row, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.training import Job, values_of
from gradrank.measures.metrics import metric_label
from studies.ablation.experiments import METRICS

RERUN = "Fix: run `snakemake --cores 2 ablation`"
VERDICTS: dict[Verdict, str] = {
    "worse": "worse without",
    "better": "better without",
    "within seeds": "within the variation of seeds",
    "no evidence": "no evidence of a difference",
    "unchanged": "unchanged on every query",
}
COLUMNS = (
    Column("method"),
    Column("group", "without"),
    Column("metric"),
    Column("full", "all features", ".4f"),
    Column("without", "without the group", ".4f"),
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("p", "p (Holm)", P),
    Column("verdict"),
)
NOTE = (
    "Means over folds on the same test queries. The difference is the mean without the group minus the mean with all "
    "features. Worse or better: Wilcoxon's signed-rank test over queries, corrected by Holm for the rows of a metric, "
    "gives p < .05, and the bootstrap interval of the difference excludes 0. With several seeds, values are means over "
    "seeds, and a difference that seeds alone could cause is within the variation of seeds."
)


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page, one per data set."""
    jobs = inputs.jobs()
    return [
        _section(inputs, dataset, [job for job in jobs if job["dataset"] == dataset]) for dataset in inputs.datasets
    ]


def _section(inputs: Inputs, dataset: str, jobs: Sequence[Job]) -> PageSection:
    compared = list(_comparisons(inputs, dataset, jobs, list(inputs.settings["groups"])))
    rows = compare_values(dataset, METRICS, [(method, full, without) for method, _, full, without in compared])
    groups = [group for _, group, _, _ in compared for _ in METRICS]
    table = [_row(group, row) for group, row in zip(groups, rows, strict=True)]
    features = {job["group"]: job for job in jobs}
    listed: list[Row] = [
        {"group": group, "features": ", ".join(names), "left_out": features[group]["left_out"]}
        for group, names in inputs.settings["groups"].items()
    ]
    columns = [Column("group"), Column("features"), Column("left_out", "number of features", "d")]
    return PageSection(
        dataset,
        dataset,
        [
            f"Every method was trained again without each group of the {jobs[0]['features']} features, with the same "
            f"parameters, folds and seeds. Convention: `{jobs[0]['convention']}`.",
            *_sentences(table),
            "If a group is not needed, other groups may contain the same information. No evidence of a difference is "
            "not evidence of equality: the interval shows which differences the data do not rule out.",
        ],
        [
            Table(f"differences_{dataset}", f"{dataset}: without a group of features", COLUMNS, table, NOTE),
            Table(f"groups_{dataset}", f"{dataset}: groups of features", columns, listed),
        ],
    )


def _comparisons(
    inputs: Inputs, dataset: str, jobs: Sequence[Job], groups: Sequence[str]
) -> Iterator[tuple[str, str, QueryValues, QueryValues]]:
    """Yield the method, the group, the values of the full model, and the values without the group.

    Raises GradrankError if a job has no result, or if a job has other test queries than the full model.
    """
    for method in inputs.models:
        own = inputs.method(dataset, method)
        seeds = seeds_of(own) or [own.fold(1).spec()["seed"]]  # the folder may hold jobs of seeds that are not in use
        found = {(job["group"], job["seed"]): job for job in jobs if job["method"] == method}
        if missing := [f"{group}, seed {seed}" for group, seed in product(groups, seeds) if (group, seed) not in found]:
            raise GradrankError(f"{inputs.folder}: {method} on {dataset} has no result without {missing[0]}. {RERUN}")
        full = inputs.measure(dataset, method, METRICS, jobs[0]["convention"])
        for group in groups:
            without = values_of([found[group, seed] for seed in seeds])
            if not full.same_queries(without):
                raise GradrankError(f"{inputs.folder}: {method} without {group} has other test queries. {RERUN}")
            yield method, group, full, without


def _row(group: str, row: MeanDifference) -> Row:
    values = {"full": row.a, "without": row.b, "difference": row.difference, "low": row.low, "high": row.high}
    about = {"method": row.model, "group": group, "metric": metric_label(row.metric)}
    return about | values | {"p": row.wilcoxon_holm, "verdict": VERDICTS[row.verdict]}


def _sentences(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one sentence per metric and verdict worse or better, with the methods and groups."""
    for metric in map(metric_label, METRICS):
        own = [row for row in rows if row["metric"] == metric]
        worse = [f"{row['method']} without {row['group']}" for row in own if row["verdict"] == VERDICTS["worse"]]
        better = [f"{row['method']} without {row['group']}" for row in own if row["verdict"] == VERDICTS["better"]]
        yield f"{metric}: significantly worse: {', '.join(worse) or 'none'}; better: {', '.join(better) or 'none'}."
