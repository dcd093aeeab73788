"""The folder of a contest, results/studies/contest/. Its file names are defined only in this module.

choices.json                                      all choices; written before any test part is scored
trials/<dataset>/<method>/tuner<t>.parquet        the trials of one tuner on every fold
values/<dataset>/<method>/tuner<t>.parquet        the test values of the choices of one tuner, per query
divisions/<dataset>/<method>.parquet              the test values of one configuration on other divisions of the queries
runs/tuner<t>/seed<s>/                            the trained choices; same layout as results/

All files except those in runs/ are in git. They contain the inputs that they were made with, so a contest can be
computed in parts, on several machines.

A tuner is one of several independent random searches of a method's parameters. Its choice is the selected trial.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from gradrank.bench.results import Results
from gradrank.training.fold_folder import Below, Folder


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
