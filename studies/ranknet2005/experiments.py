"""The jobs of the study: experiments on one random target, or one additional training of a method in Table 4."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.ranknet2005.artificial import run_experiments
from studies.ranknet2005.trainings import train_again


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Run one of the study's jobs and return its result. settings: one of the values that `jobs` returns."""
    if "target" in settings:
        return run_experiments(settings, seed)
    return train_again(settings, data, seed)
