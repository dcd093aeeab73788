"""The code digests of stages that depend on models: training, tuning, the report, and the jobs and pages of studies."""

from collections.abc import Mapping
from typing import Any

from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import study_module
from gradrank.bench.config.tuned_studies import TunedStudySettings
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.training.registry import get_model, models, training_modules
from gradrank.training.spaces import tuning_modules


def training_code(model: str, params: Mapping[str, Any]) -> str:
    """Return the code digest of training a model, or of importing scores if the model is `imported`.

    params: the parameters of the model.
    """
    if model == IMPORTED:
        return code_digest("import_scores")
    return code_digest("train", *_modules(model, params))


def tuning_code(stage: str, settings: TunedStudySettings, method: str) -> str:
    """Return the code digest of a stage for a method of a tuned study. stage: `tune`, `refit` or `divisions`."""
    modules = tuning_modules(settings.model_class(method))
    return code_digest(stage, *modules, *settings.further_modules(stage, method))


def page_code(settings: RunSettings, study: str) -> str:
    """Return the code digest of a study's page. It covers the models that the page shows and may load."""
    variants = [settings.models[name] for name in settings.shown_methods(study)]
    modules = {module for variant in variants for module in _modules(variant.model, variant.params)}
    own = settings.studies[study]
    if isinstance(own, TunedStudySettings):
        for method in own.method_names():
            modules |= set(tuning_modules(own.model_class(method)))
    return code_digest("study", study_module(study.partition("/")[0], "page"), *sorted(modules))


def report_code() -> str:
    """Return the code digest of the report. It covers all models, because the report prints their descriptions."""
    return code_digest("report", *sorted({cls.__module__ for cls in models().values()}))


def job_code(study: str, job_settings: Mapping[str, Any]) -> str:
    """Return the code digest of a study's own job. It covers the model if the settings have the key `model`."""
    trained = _modules(job_settings["model"], job_settings.get("params", {})) if "model" in job_settings else ()
    return code_digest("study_job", study_module(study, "experiments"), *trained)


def _modules(model: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules on which the training of a model depends; empty if the scores are imported."""
    if model == IMPORTED:
        return ()
    cls = models().get(model) or get_model(model)
    return training_modules(cls, cls.Params(**params))
