"""Methods that are trained with several seeds: their values per query, and tests that also cover the seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds
from gradrank.bench.report.tables.table import Column, Row
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.training import values_of
from gradrank.measures.conventions import Convention

SEEDED = (*COLUMNS, Column("seeds", "seeds above 0"))
SEEDED_NOTE = (
    f"{NOTE} With several seeds, values are means over seeds. If both methods have several seeds, the interval is "
    "Student's and covers queries and seeds."
)


@dataclass(frozen=True)
class SeededInputs(Inputs):
    """The inputs of the study, in which a repeated method has the values of all seeds."""

    @cached_property
    def _found(self) -> list[dict[str, Any]]:
        return super().jobs()

    def jobs(self) -> list[dict[str, Any]]:
        """Return the results of the study's own jobs. The files are read once."""
        return self._found

    def measure(
        self, dataset: str, model: str, metrics: Sequence[str], convention: str | Convention, split: str = "test"
    ) -> QueryValues:
        """Return per-query values, as `Inputs.measure`. With several seeds, they are means over seeds.

        Raises GradrankError if a job has other test queries than the method of the workflow.
        """
        values = super().measure(dataset, model, metrics, convention, split)
        jobs = [
            job
            for job in self.jobs()
            if job["kind"] == "repeat" and (job["dataset"], job["method"], split) == (dataset, model, "test")
        ]
        return with_seeds(values, values_of(jobs), metrics) if jobs else values


def with_seeds(values: QueryValues, further: QueryValues, metrics: Sequence[str]) -> QueryValues:
    """Return the values of all seeds of two objects, which have the same queries.

    Raises GradrankError if the queries differ.
    """
    if not values.same_queries(further):
        raise GradrankError("the study arsm: a job has other test queries. Fix: run `snakemake --cores 2 arsm`")
    runs = [
        {metric: own.by_seed[metric][seed] if own.by_seed else own.values[metric] for metric in metrics}
        for own in (values, further)
        for seed in range(own.seeds)
    ]
    return mean_over_seeds(values.folds, values.qids, runs)


def seeded_tests(questions: Sequence[Question]) -> list[Row]:
    """Return the rows of `paired_tests`, with intervals that cover queries and seeds, and the key `seeds`.

    `seeds` is the number of seeds for which the difference is above 0. If one of the methods has a single seed, the
    interval covers queries alone, and `seeds` is empty.
    """
    rows = paired_tests(questions)
    for row, (_, metric, first, second) in zip(rows, questions, strict=True):
        row["seeds"] = ""
        if first.has_several_seeds(metric) and first.seeds == second.seeds:
            gaps = first.by_seed[metric] - second.by_seed[metric]
            between = mean_over_seeds(first.folds, first.qids, [{metric: gap} for gap in gaps])
            half, above = between.half_width(metric), np.count_nonzero(np.array(between.seed_means(metric)) > 0)
            row["low"], row["high"] = row["difference"] - half, row["difference"] + half
            row["seeds"] = f"{above} of {first.seeds}"
    return rows
