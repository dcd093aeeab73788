"""A loss per document in place of a ranking measure: the exact gradient, and the results of the training."""

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import Question, describe_significant
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.training import values_of
from studies.arsm.seeds import SEEDED, SEEDED_NOTE, seeded_tests
from studies.arsm.tables import LABELS, MODIFIED, Measured

NAME = "a loss per document"
SHOWN = ("ndcg@10", "map")


def pointwise(inputs: Inputs, measured: Measured) -> PageSection:
    """Return the section on the training with a loss per document. measured: the values of the paper's methods."""
    trained = {dataset: _trained(inputs, dataset) for dataset in measured}
    tests = seeded_tests(
        [
            Question({"dataset": dataset}, metric, values, measured[dataset][MODIFIED])
            for dataset, values in trained.items()
            for metric in SHOWN
        ]
    )
    for row in tests:
        row["pair"] = f"{NAME} − {LABELS[MODIFIED]}"
    means = [
        {"dataset": dataset, "training": training, "values": values}
        for dataset, own in trained.items()
        for training, values in ((NAME, own), (LABELS[MODIFIED], measured[dataset][MODIFIED]))
    ]
    return PageSection(
        "pointwise",
        "A pointwise loss",
        [
            "The paper's loss may also be a sum over documents. Then the expected loss is a sum over documents and "
            "levels, and its gradient has the closed form p_c (l_c - sum_k p_k l_k), where l_c is the loss of level "
            "c. No level has to be drawn, and no estimator is needed.",
            "The net was trained with this exact gradient. The loss is the squared difference of level and grade, "
            "both scaled to [0, 1], without the entropy of the levels. Everything else is as in the modified training, "
            f"with {max(own.seeds for own in trained.values())} seeds.",
            f"{NAME.capitalize()} minus {LABELS[MODIFIED]}: {describe_significant(tests, 'dataset')}",
        ],
        [
            Table(
                "pointwise",
                "A loss per document, and the modified training",
                [Column("dataset", "data set"), Column("training", "trained by"), *mean_columns(SHOWN)],
                means,
            ),
            Table(
                "pointwise_tests",
                "A loss per document against the modified training",
                [Column("dataset", "data set"), Column("pair", "first − second"), Column("metric"), *SEEDED],
                tests,
                SEEDED_NOTE,
            ),
        ],
    )


def _trained(inputs: Inputs, dataset: str) -> QueryValues:
    """Return the values of the jobs with a loss per document, one seed per job, in ascending order of the seed."""
    jobs = [job for job in inputs.jobs() if (job["kind"], job.get("dataset")) == ("pointwise", dataset)]
    return values_of(sorted(jobs, key=lambda job: job["seed"]))
