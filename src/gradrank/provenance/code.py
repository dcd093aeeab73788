"""The code digests of stages that depend on a model: training, tuning, and a study's own jobs."""

from collections.abc import Mapping
from typing import Any

from gradrank.config.code_digest import code_digest
from gradrank.config.params import RunSettings
from gradrank.config.studies import study_module
from gradrank.evaluation.score_file_pattern import IMPORTED
from gradrank.training.registry import get_model, models, training_modules
from gradrank.tuning.spaces import tuning_modules


def training_code(model: str, params: Mapping[str, Any]) -> str:
    """Return the code digest of a method's training jobs, or of its import if its scores come from elsewhere."""
    if model == IMPORTED:
        return code_digest("import_scores")
    return code_digest("train", *_modules(model, params))


def tuning_code(stage: str, model: str) -> str:
    """Return the code digest of a contest's stage `tune`, `refit` or `score_trials` for a registered model."""
    return code_digest(stage, *tuning_modules(models()[model]))


def page_code(params: RunSettings, study: str) -> str:
    """Return the code digest of a study's page, with the models that it is about, which it may load."""
    variants = [params.models[name] for name in params.study_models(study)]
    modules = {module for own in variants for module in _modules(own.model, own.params)}
    for method in params.study_settings(study).get("methods", ()):
        modules |= set(tuning_modules(models()[method])) if method in models() else set()
    return code_digest("study", study_module(study.partition("/")[0], "page"), *sorted(modules))


def report_code() -> str:
    """Return the code digest of the report, which prints what every model declares."""
    return code_digest("report", *sorted({cls.__module__ for cls in models().values()}))


def job_code(study: str, told: Mapping[str, Any]) -> str:
    """Return the code digest of one of a study's own jobs. told: what the job is told; it may name a model to train."""
    trained = _modules(told["model"], told.get("params", {})) if "model" in told else ()
    return code_digest("study_job", study_module(study, "experiments"), *trained)


def _modules(model: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules that training depends on; none if the scores come from elsewhere."""
    if model == IMPORTED:
        return ()
    cls = models().get(model) or get_model(model)
    return training_modules(cls, cls.Params(**params))
