"""The folder of a contest, results/studies/contest/: its files, and its tables with the values of each test query.

The file names are defined only in this module.

choices.json                                      all choices; written before any test part is scored
trials/<dataset>/<method>/tuner<t>.parquet        the trials of one tuner on every fold
values/<dataset>/<method>/tuner<t>.parquet        the test values of the choices of one tuner, per query
divisions/<dataset>/<method>.parquet              the test values of one configuration on other divisions of the queries
runs/tuner<t>/seed<s>/                            the trained choices; same layout as results/

All files except those in runs/ are in git. They contain the inputs that they were made with, so a contest can be
computed in parts, on several machines.

A tuner is one of several independent random searches of a method's parameters. Its choice is the selected trial.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
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

    def trials_path(self, dataset: str, method: str, tuner: int) -> Path:
        """Return the file of the trials of one tuner of a method on one data set."""
        return self.folder / "trials" / dataset / method / f"tuner{tuner}.parquet"

    def values_path(self, dataset: str, method: str, tuner: int) -> Path:
        """Return the file of the test values of the choices of one tuner."""
        return self.folder / "values" / dataset / method / f"tuner{tuner}.parquet"

    def trials_paths(self, dataset: str, method: str) -> list[Path]:
        """Return the existing files of the trials of a method on one data set, in the order of the tuners."""
        return _of_tuners(self.trials_path(dataset, method, 1).parent)

    def values_paths(self, dataset: str, method: str) -> list[Path]:
        """Return the existing files of the test values of a method on one data set, in the order of the tuners."""
        return _of_tuners(self.values_path(dataset, method, 1).parent)

    def divisions_path(self, dataset: str, method: str) -> Path:
        """Return the file of the test values of one method on other divisions of the queries."""
        return self.folder / "divisions" / dataset / f"{method}.parquet"

    def run(self, tuner: int, seed: int) -> Results:
        """Return the folder of one run: the choices of one tuner, trained with one seed."""
        return Results(self.folder / "runs" / f"tuner{tuner}" / f"seed{seed}")


def _of_tuners(folder: Path) -> list[Path]:
    files = (path.name for path in folder.glob("*") if path.is_file())
    numbers = [int(match[1]) for name in files if (match := re.fullmatch(r"tuner(\d+)\.parquet", name))]
    return [folder / f"tuner{number}.parquet" for number in sorted(numbers)]


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

    joined = pl.concat(tables).with_columns(pl.lit(made_with).alias("made_with"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        joined.write_parquet(partial, compression="zstd", compression_level=19)
