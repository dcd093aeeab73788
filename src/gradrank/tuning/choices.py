"""All that a contest has chosen, in one file for git: no trial is scored on a test part before it is written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradrank.base.files import write_json
from gradrank.tuning.folders import Contest
from gradrank.tuning.selection import SelectedConfiguration, read_choice


def choices(contest: Contest, datasets: Sequence[str], methods: Sequence[str]) -> Path:
    """Write choices.json: by data set, method and fold the choice's hash, and what each tuner has chosen."""
    found = {
        f"{dataset}/{method}/{fold.name}": _told(choice)
        for dataset in datasets
        for method in methods
        for fold in contest.tuned(dataset, method).chosen_folds()
        for choice in [read_choice(fold)]
    }
    write_json(contest.choices_path, found)
    return contest.choices_path


def _told(choice: SelectedConfiguration) -> dict[str, Any]:
    chosen = {f"tuner{each.tuner}": {"trial": each.trial} | each.configuration for each in choice.chosen}
    return {"sha256": choice.sha256} | chosen
