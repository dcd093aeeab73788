"""The folder of a contest, results/studies/contest/. Its file names are defined only in this module.

tuning/<dataset>/<method>/              per_query.parquet, trials_test.parquet
tuning/<dataset>/<method>/fold<k>/      trials.parquet, seconds.parquet, choice.json, refits.json
tuning/<dataset>/<method>/fold<k>/models/tuner<t>/<trial>/     the model of one trial
runs/tuner<t>/seed<s>/                  the choices of one tuner, retrained with one seed; same layout as results/

A tuner is one of several independent random searches of a method's parameters. Its choice is the selected trial.
"""

from dataclasses import dataclass
from pathlib import Path

from gradrank.base.results import PER_QUERY, Below, Folder, Results


class TunedFold(Folder):
    """The folder that `gradrank tune` writes for one method and fold. Outside a contest, the user chooses its path."""

    trials_path = Below("trials.parquet")
    seconds_path = Below("seconds.parquet")
    choice_path = Below("choice.json")
    refits_path = Below("refits.json")
    unfinished_trials_path = Below("trials.unfinished.parquet")
    unfinished_refits_path = Below("refits.unfinished.json")

    def model_path(self, tuner: int, trial: int) -> Path:
        """Return the folder of the model of one trial."""
        return self.folder / "models" / f"tuner{tuner}" / str(trial)

    def beside(self, method: str) -> "TunedFold":
        """Return the folder of another method for the same fold."""
        return TunedFold(self.folder.parent.parent / method / self.name)


class Tuned(Folder):
    """The tuning folder of one method on one data set."""

    per_query_path = Below(PER_QUERY)
    trials_test_path = Below("trials_test.parquet")

    def fold(self, number: int) -> TunedFold:
        """Return the folder of one fold. number: from 1."""
        return TunedFold(self.folder / f"fold{number}")

    def chosen_folds(self) -> list[TunedFold]:
        """Return the folds that have a choice.json, ordered by number."""
        folds = [TunedFold(path) for path in self.folder.glob("fold*")]
        chosen = [fold for fold in folds if fold.choice_path.is_file()]
        return sorted(chosen, key=lambda fold: int(fold.name.removeprefix("fold")))

    def folds(self, count: int) -> dict[int, TunedFold]:
        """Return the folders of the folds 1 to `count`. The keys are the numbers of the folds."""
        return {number: self.fold(number) for number in range(1, count + 1)}


@dataclass(frozen=True)
class Contest(Folder):
    """The folder of the contest, results/studies/contest/, or the folder of the reduced contest."""

    folder: Path = Results().study("contest").folder

    choices_path = Below("choices.json")

    def tuned(self, dataset: str, method: str) -> Tuned:
        """Return the tuning folder of one method on one data set."""
        return Tuned(self.folder / "tuning" / dataset / method)

    def run(self, tuner: int, seed: int) -> Results:
        """Return the folder of one run: the choices of one tuner, trained with one seed."""
        return Results(self.folder / "runs" / f"tuner{tuner}" / f"seed{seed}")
