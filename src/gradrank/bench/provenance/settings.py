"""The settings of a data set or a study in params.yaml, as plain data for a record."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.variants import Variant
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.training.registry import models

DIGITS = 12  # hexadecimal digits of the digests in a record


def short_digest(value: Any) -> str:
    """Return the first DIGITS hexadecimal digits of the SHA-256 of plain data as canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def dataset_settings(settings: RunSettings, name: str) -> dict[str, Any]:
    """Return the result of `model_settings` for the methods of a data set, with the data set's settings as `dataset`.

    `evaluation.convention` is the primary convention of this data set, and `evaluation.conventions` contains it. If
    there are methods that are trained only because a method combines their scores, their settings have the key
    `members`.
    """
    dataset = settings.datasets.get(name)
    values = model_settings(settings, settings.model_names(name), [name])
    values["evaluation"] |= {"convention": settings.convention(name), "conventions": list(settings.conventions(name))}
    if members := settings.additional_members(settings.model_names(name)):
        values["members"] = {member: variant_settings(settings.models[member]) for member in members}
    hidden = {"convention", "models", "seeds"}
    return values | {"dataset": dataset.model_dump(mode="json", exclude=hidden, exclude_none=True) if dataset else {}}


def study_settings(settings: RunSettings, study: str) -> dict[str, Any]:
    """Return the current settings of a study or of its reduced form.

    The result is that of `model_settings`, and has the settings of the study under the key `settings`.
    """
    own = settings.studies[study]
    values = model_settings(settings, settings.study_models(study), own.datasets if own.shows_trainings else ())
    return values | {"settings": settings.study_settings(study)}


def model_settings(settings: RunSettings, names: Iterable[str], datasets: Iterable[str]) -> dict[str, Any]:
    """Return a dict with `seed`, `pairs`, `models` and `evaluation`, with defaults filled in.

    names: names of the variants in `models`. The key `seeds` has the seeds of all the data sets. It is added if one of
    the variants is trained with several seeds, or with a seed other than `seed`.
    """
    names = list(names)
    seeds = list(dict.fromkeys(seed for each in product(names, datasets) for seed in settings.seeds_of(*each)))
    return {
        "seed": settings.seed,
        **({"seeds": seeds} if seeds not in ([], [settings.seed]) else {}),
        "pairs": settings.pairs.model_dump(mode="json"),
        "models": {name: variant_settings(settings.models[name]) for name in names},
        "evaluation": settings.evaluation.model_dump(mode="json"),
    }


def variant_settings(variant: Variant) -> dict[str, Any]:
    """Return a variant's registered `model`, its `params` that are not defaults, and a `digest` of both."""
    return {"model": variant.model, **changed_params(variant.model, variant.params)}


def changed_params(model: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `params` that are not defaults of a registered model, and a `digest` of them and of the model's name.

    A new optional parameter therefore changes no digest. A changed default changes the digest of the training code.
    """
    defaults = {} if model == IMPORTED else models()[model].Params().model_dump(mode="json")
    changed = {key: value for key, value in params.items() if key not in defaults or defaults[key] != value}
    return {"params": changed, "digest": short_digest({"model": model, "params": changed})}
