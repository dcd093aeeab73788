"""The code digests of stages that depend on a model: training, tuning, and a study's own jobs."""

from collections.abc import Mapping
from typing import Any

from gradrank.evaluation.elsewhere import IMPORTED
from gradrank.learning.model import get_model, models, training_modules, tuning_modules
from gradrank.pipeline.code_closure import code_digest


def training_code(model: str, params: Mapping[str, Any]) -> str:
    """Return the code digest of a method's training jobs, or of its import if its scores come from elsewhere."""
    if model == IMPORTED:
        return code_digest("import_scores")
    cls = models().get(model) or get_model(model)
    return code_digest("train", *training_modules(cls, cls.Params(**params)))


def tuning_code(stage: str, model: str) -> str:
    """Return the code digest of a contest's stage `tune`, `refit` or `score_trials` for a registered model."""
    return code_digest(stage, *tuning_modules(models()[model]))


def job_code(study: str, told: Mapping[str, Any]) -> str:
    """Return the code digest of one of a study's own jobs. told: what the job is told; it may name a model to train."""
    trained: tuple[str, ...] = ()
    if "model" in told:
        cls = get_model(told["model"])
        trained = training_modules(cls, cls.Params(**told.get("params", {})))
    return code_digest("study_job", f"gradrank.studies.{study}.experiments", *trained)
