"""The file choices.json, which contains all choices of a contest and is committed to git.

A choice is the configuration that a tuner selected. No trial is scored on a test part before the file is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradrank.base.files import write_json
from gradrank.tuning.folders import Contest
from gradrank.tuning.selection import SelectedConfiguration, read_choice


def write_choices(contest: Contest, datasets: Sequence[str], methods: Sequence[str]) -> Path:
    """Write choices.json and return its path.

    The keys are `<dataset>/<method>/fold<k>`, one for every fold that has a choice.json. Each value contains the
    SHA-256 of the choice and, for each tuner, the selected trial and its configuration.
    """
    chosen = {
        f"{dataset}/{method}/{fold.name}": _as_json(read_choice(fold))
        for dataset in datasets
        for method in methods
        for fold in contest.tuned(dataset, method).chosen_folds()
    }
    write_json(contest.choices_path, chosen)
    return contest.choices_path


def _as_json(choice: SelectedConfiguration) -> dict[str, Any]:
    per_tuner = {f"tuner{chosen.tuner}": {"trial": chosen.trial} | chosen.configuration for chosen in choice.chosen}
    return {"sha256": choice.sha256} | per_tuner
