"""The settings of a data set or a study in params.yaml, as plain data for a record."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from gradrank.config.params import RunSettings
from gradrank.config.variants import Variant
from gradrank.evaluation.score_file_pattern import IMPORTED
from gradrank.training.registry import models

DIGITS = 12  # hexadecimal digits of the digests in a record


def short_digest(value: Any) -> str:
    """Return the first DIGITS hexadecimal digits of the SHA-256 of plain data as canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def dataset_settings(params: RunSettings, dataset: str) -> dict[str, Any]:
    """Return what is in force for a data set: as `model_settings`, and `dataset`, its own settings."""
    own = params.datasets.get(dataset)
    found = model_settings(params, params.model_names(dataset))
    found["evaluation"]["convention"] = params.convention(dataset)
    hidden = {"convention", "models"}
    return found | {"dataset": own.model_dump(mode="json", exclude=hidden, exclude_none=True) if own else {}}


def study_settings(params: RunSettings, study: str) -> dict[str, Any]:
    """Return the same for a study or its reduced form, with its own `settings` in place of `dataset`."""
    return model_settings(params, params.study_models(study)) | {"settings": params.study_settings(study)}


def model_settings(params: RunSettings, names: Iterable[str]) -> dict[str, Any]:
    """Return `seed`, `seeds` if there are several, `pairs`, `models` and `evaluation` in force."""
    names = list(names)
    others = {params.seeds_of(name) for name in names} - {(params.seed,)}
    return {
        "seed": params.seed,
        **({"seeds": list(params.seeds)} if others else {}),
        "pairs": params.pairs.model_dump(mode="json"),
        "models": {name: variant_settings(params.models[name]) for name in names},
        "evaluation": params.evaluation.model_dump(mode="json"),
    }


def variant_settings(variant: Variant) -> dict[str, Any]:
    """Return a variant's registered `model`, its `params` that differ from the defaults, and a `digest` of them all."""
    values: Mapping[str, Any] = variant.params
    defaults = {} if variant.model == IMPORTED else models()[variant.model].Params().model_dump(mode="json")
    changed = {key: value for key, value in values.items() if key not in defaults or defaults[key] != value}
    return {"model": variant.model, "params": changed, "digest": short_digest(values)}
