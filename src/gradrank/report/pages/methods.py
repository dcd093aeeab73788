"""What each method is: its publications, and the parameters it was trained with, each with its default's source."""

import json
from dataclasses import dataclass
from typing import Any

from gradrank.data.part_files import GIVEN
from gradrank.evaluation.literature.references import Reference, named
from gradrank.report.contents import Contents
from gradrank.report.pages.page import Page, render_page
from gradrank.training.model import Model
from gradrank.training.registry import models


@dataclass(frozen=True)
class Setting:
    """A parameter as printed. changed: whether the value is not the default, of which the source speaks."""

    name: str
    value: str
    source: str
    default: str
    changed: bool


@dataclass(frozen=True)
class MethodDescription:
    """variants: by the data sets that they were trained on, more than one where these differ."""

    name: str
    model: str
    summary: str
    references: list[Reference]
    variants: dict[str, list[Setting]]


def pages(contents: Contents) -> list[Page]:
    found: dict[str, dict[str, list[str]]] = {}  # by method, and by what its spec.json says, the data sets
    for dataset in contents.datasets:
        for name in dataset.explained:
            spec = dataset.folds[name][0].spec
            told = json.dumps([spec["model"], spec["params"], spec.get("pairs")])
            found.setdefault(name, {}).setdefault(told, []).append(dataset.name)
    if not found:
        return []
    described = [_method(name, specs) for name, specs in sorted(found.items())]
    return [Page("methods", "Methods", render_page("methods.html", methods=described))]


def _method(name: str, specs: dict[str, list[str]]) -> MethodDescription:
    """A model that this checkout does not have has no sources."""
    told = {", ".join(datasets): json.loads(spec) for spec, datasets in specs.items()}
    model = next(iter(told.values()))[0]
    known = models().get(model)
    return MethodDescription(
        name=name,
        model=model,
        summary=known.summary if known else "",
        references=named(known.summary) if known else [],
        variants={datasets: _settings(known, params) + _pairs(pairs) for datasets, (_, params, pairs) in told.items()},
    )


def _settings(model: type[Model] | None, params: dict[str, Any]) -> list[Setting]:
    fields = model.Params.model_fields if model else {}
    defaults = model.Params().model_dump(mode="json") if model else {}
    return [
        Setting(
            name=key,
            value=_printed(value),
            source=(fields[key].description or "") if key in fields else "",
            default=_printed(defaults.get(key)),
            changed=key in defaults and value != defaults[key],
        )
        for key, value in params.items()
    ]


def _pairs(told: dict[str, Any] | None) -> list[Setting]:
    """What it was trained on, where that is not the crucial pairs of the grades."""
    if told is None:
        return []
    value = "a user's own" if told["targets"] == GIVEN else f"of grades, ties: {told['ties']}"
    return [Setting("pairs", value, "what the stage of pairs stored", "of grades", True)]


def _printed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_printed, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value) if isinstance(value, dict) else str(value)
