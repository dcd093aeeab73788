"""RankSVM with the hinge loss in the primal and with the L1 penalty, next to the four forms of the report."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import NOTE, PAIR_COLUMNS, describe_significant, pair_tests
from gradrank.bench.studies.study import Inputs, PageSection
from studies.term_report.experiments import CONVENTION, METRICS

WEIGHTED = (  # (weighted, plain) forms
    ("ranksvm_ndcg_l1_primal", "ranksvm_l1_primal"),
    ("ranksvm_ndcg_l1_sparse", "ranksvm_l1_sparse"),
)
NEAREST = (  # (form of a job, nearest of the four forms)
    ("ranksvm_l1_primal", "ranksvm_l1_dual"),
    ("ranksvm_ndcg_l1_primal", "ranksvm_ndcg_l1_dual"),
    ("ranksvm_l1_sparse", "ranksvm_sparse"),
    ("ranksvm_ndcg_l1_sparse", "ranksvm_ndcg_sparse"),
)


def more_forms(inputs: Inputs) -> PageSection:
    """Return the section on the two further forms of RankSVM."""
    measured: dict[tuple[str, str], QueryValues] = {}
    for job in inputs.jobs():
        measured |= {(job["dataset"], form): values_of_folds(folds) for form, folds in job["forms"].items()}
        for _, model in NEAREST:
            measured[job["dataset"], model] = inputs.measure(job["dataset"], model, METRICS, CONVENTION)
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, (*WEIGHTED, *NEAREST), METRICS)
    heads = [Column("dataset", "data set"), Column("method")]
    return PageSection(
        "more_forms",
        "Two more forms of RankSVM",
        [
            "The forms above have the squared hinge loss (L2 loss) or are solved in the dual. `ranksvm_l1_primal` has "
            "the hinge loss (L1 loss) and the L2 penalty, in the primal. It has the minimum of `ranksvm_l1_dual`, so "
            "its difference to that form shows the precision of both solvers. `ranksvm_l1_sparse` has the hinge loss "
            "and the L1 penalty, a linear programme. Both are solved with a hinge loss whose kink is smoothed. C is "
            "selected as for the other forms.",
            f"Query by query, {describe_significant(tests, 'dataset', 'pair')}",
        ],
        [
            Table("more_forms", "Means over folds of the further forms", [*heads, *mean_columns(METRICS)], rows),
            Table("more_forms_tests", "Further forms, weighted or next to the nearest form", PAIR_COLUMNS, tests, NOTE),
        ],
    )


def values_of_folds(folds: Sequence[Mapping[str, Any]]) -> QueryValues:
    """Return the values of the test queries of a form. folds: the results of a job, one per fold."""
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    qids = np.concatenate([fold["qids"] for fold in folds])
    values = {
        metric: np.concatenate([np.array(fold["values"][metric], dtype=float) for fold in folds]) for metric in METRICS
    }
    return QueryValues(numbers, qids, values)
