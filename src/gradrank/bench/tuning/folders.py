"""The folder of a contest, results/studies/contest/: its files, and its tables with the values of each test query.

choices.json                                      all choices; written before any test part is scored
trials/, values/, divisions/                      the parts of the contest, see gradrank.bench.parts
trials.parquet, values.parquet, divisions.parquet the rows of all parts
runs/tuner<t>/seed<s>/                            the trained choices; same layout as results/

choices.json and the packed files are in git. They contain the inputs that they were made with, so a contest can be
computed in parts, on several machines.

A tuner is one of several independent random searches of a method's parameters. Its choice is the selected trial.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.parts import DIVISIONS, TRIALS, VALUES, Parts, write_part
from gradrank.bench.results import Results
from gradrank.measures.judgements import Judgements
from gradrank.measures.metrics import compute
from gradrank.training.fold_folder import Below, Folder

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Contest(Folder):
    """The folder of the contest, results/studies/contest/, or the folder of the reduced contest."""

    folder: Path = Results().study("contest").folder

    choices_path = Below("choices.json")

    @property
    def trials(self) -> Parts:
        """The trials of each tuner. The key of a part is the data set, the method and the number of the tuner."""
        return Parts(self.folder, TRIALS)

    @property
    def values(self) -> Parts:
        """The test values of the choices of each tuner. The key of a part is the same as that of trials."""
        return Parts(self.folder, VALUES)

    @property
    def divisions(self) -> Parts:
        """The test values on other divisions of the queries. The key of a part is the data set and the method."""
        return Parts(self.folder, DIVISIONS)

    def trials_path(self, dataset: str, method: str, tuner: int) -> Path:
        """Return the file of the trials of one tuner of a method on one data set."""
        return self.trials.path(dataset, method, tuner)

    def values_path(self, dataset: str, method: str, tuner: int) -> Path:
        """Return the file of the test values of the choices of one tuner."""
        return self.values.path(dataset, method, tuner)

    def divisions_path(self, dataset: str, method: str) -> Path:
        """Return the file of the test values of one method on other divisions of the queries."""
        return self.divisions.path(dataset, method)

    def run(self, tuner: int, seed: int) -> Results:
        """Return the folder of one run: the choices of one tuner, trained with one seed."""
        return Results(self.folder / "runs" / f"tuner{tuner}" / f"seed{seed}")


METRICS = ("ndcg@10", "map", "mean_ndcg", "p@10")  # metrics of the trained choices
OF_OTHERS = METRICS[:1]  # metrics of the runs that the choices are compared with


def values_table(
    judged: Judgements, scores: np.ndarray, metrics: Sequence[str], convention: str, **about: int
) -> "pl.DataFrame":
    """Return a table with one row per query.

    The columns are those of `about`, then `qid`, then one Float32 column per metric of METRICS. The columns of metrics
    that are not in `metrics` are null.

    judged: the grades and query ids of the documents. scores: (n,), one per document. about: name and value of each
    constant column.
    """
    import polars as pl

    values = compute(metrics, scores, judged.labels, judged.offsets, convention, judged.docids)
    constants = [pl.lit(value).alias(name) for name, value in about.items()]
    columns = [pl.col(name) if name in values else pl.lit(None).alias(name) for name in METRICS]
    table = pl.DataFrame({"qid": judged.qids} | values)
    return table.select(*constants, "qid", *(column.cast(pl.Float32) for column in columns))


def check_made_with(path: Path) -> None:
    """Raise GradrankError if a file exists that is not a Parquet file with the column `made_with`, as a contest has."""
    import polars as pl

    if not os.path.lexists(path):
        return
    try:
        is_own = path.is_file() and "made_with" in pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError):
        is_own = False
    if not is_own:
        raise GradrankError(
            f"{path}: damaged, or not written by gradrank. Fix: if it is yours, move it; else delete it, and run the "
            "same command again"
        )


def write_tables(tables: Iterator["pl.DataFrame"], path: Path, made_with: str) -> None:
    """Write the concatenated tables to one Parquet file. made_with: content of the constant column of this name."""
    import polars as pl

    write_part(pl.concat(tables).with_columns(pl.lit(made_with).alias("made_with")), path)
