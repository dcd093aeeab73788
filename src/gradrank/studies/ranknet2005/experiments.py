"""The study's jobs: a random target and all that is trained on it, or a method of Table 4 trained once more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradrank.studies.ranknet2005.artificial import experiments
from gradrank.studies.ranknet2005.trainings import train_again


def run_job(told: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """One of the study's `jobs`."""
    if "target" in told:
        return experiments(told["target"], told["draw"], told["sizes"], told["tie_sizes"], seed)
    return train_again(told, data, seed)
