"""What a contest leaves, as results/studies/contest/: the one module that knows the names of its files.

tuning/<dataset>/<method>/              per_query.parquet, trials_test.parquet
tuning/<dataset>/<method>/fold<k>/      trials.parquet, seconds.parquet, choice.json, refits.json
tuning/<dataset>/<method>/fold<k>/models/tuner<t>/<trial>/     each trial's model
runs/tuner<t>/seed<s>/                  a tuner's choice, trained anew with one seed: laid out as results/ is
"""

from dataclasses import dataclass
from pathlib import Path

from gradrank.base.results import PER_QUERY, Below, Folder, Results


class TunedFold(Folder):
    """What tuning a method on one fold leaves; by hand any folder."""

    trials_path = Below("trials.parquet")
    seconds_path = Below("seconds.parquet")
    choice_path = Below("choice.json")
    refits_path = Below("refits.json")
    unfinished_trials_path = Below("trials.unfinished.parquet")
    unfinished_refits_path = Below("refits.unfinished.json")

    def model_path(self, tuner: int, trial: int) -> Path:
        return self.folder / "models" / f"tuner{tuner}" / str(trial)

    def beside(self, method: str) -> "TunedFold":
        """The same fold of another method."""
        return TunedFold(self.folder.parent.parent / method / self.name)


class Tuned(Folder):
    """A method on one data set."""

    per_query_path = Below(PER_QUERY)
    trials_test_path = Below("trials_test.parquet")

    def fold(self, number: int) -> TunedFold:
        return TunedFold(self.folder / f"fold{number}")

    def chosen_folds(self) -> list[TunedFold]:
        """Those whose choice is frozen, by number."""
        found = [TunedFold(path) for path in self.folder.glob("fold*")]
        chosen = [fold for fold in found if fold.choice_path.is_file()]
        return sorted(chosen, key=lambda fold: int(fold.name.removeprefix("fold")))

    def folds(self, count: int) -> dict[int, TunedFold]:
        return {number: self.fold(number) for number in range(1, count + 1)}


@dataclass(frozen=True)
class Contest(Folder):
    """results/studies/contest/, or its reduced form."""

    folder: Path = Results().study("contest").folder

    choices_path = Below("choices.json")

    def tuned(self, dataset: str, method: str) -> Tuned:
        return Tuned(self.folder / "tuning" / dataset / method)

    def run(self, tuner: int, seed: int) -> Results:
        """One run of the whole contest: a tuner's choices, trained with one seed."""
        return Results(self.folder / "runs" / f"tuner{tuner}" / f"seed{seed}")
