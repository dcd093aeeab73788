"""The page Methods: the publications of each method, and its parameters with the sources of their defaults."""

import json
from dataclasses import dataclass
from typing import Any

from gradrank.bench.report.contents import Contents
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.data.part_files import GIVEN
from gradrank.training.literature.references import Reference, named
from gradrank.training.model import Model
from gradrank.training.registry import models


@dataclass(frozen=True)
class Setting:
    """A parameter as text.

    source: where the default comes from, such as a publication. is_changed: True if the value is not the default.
    """

    name: str
    value: str
    source: str
    default: str
    is_changed: bool


@dataclass(frozen=True)
class MethodDescription:
    """A method with its publications and settings.

    variants: the settings. Each key is a comma-separated list of the data sets with the same settings. There are
    several keys if the settings differ between data sets.
    """

    name: str
    model: str
    summary: str
    references: list[Reference]
    variants: dict[str, list[Setting]]


def pages(contents: Contents) -> list[Page]:
    """Return a list with one page, or an empty list if no parameters are known."""
    datasets: dict[str, dict[str, list[str]]] = {}  # keys: method, then settings as JSON; values: data sets
    for dataset in contents.datasets:
        for name in dataset.methods_with_parameters:
            spec = dataset.folds[name][0].spec
            settings = json.dumps([spec["model"], spec["params"], spec.get("pairs")])
            datasets.setdefault(name, {}).setdefault(settings, []).append(dataset.name)
    if not datasets:
        return []
    methods = [_method(name, by_settings) for name, by_settings in sorted(datasets.items())]
    return [Page("methods", "Methods", render_page("methods.html", methods=methods))]


def _method(name: str, by_settings: dict[str, list[str]]) -> MethodDescription:
    """Return the description of a method.

    If the model is not installed, the description has no summary, no references and no sources of defaults.
    """
    specs = {", ".join(datasets): json.loads(settings) for settings, datasets in by_settings.items()}
    model_name = next(iter(specs.values()))[0]
    model = models().get(model_name)
    return MethodDescription(
        name=name,
        model=model_name,
        summary=model.summary if model else "",
        references=named(model.summary) if model else [],
        variants={datasets: _settings(model, params) + _pairs(pairs) for datasets, (_, params, pairs) in specs.items()},
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
            is_changed=key in fields and value != defaults.get(key),
        )
        for key, value in params.items()
    ]


def _pairs(pairs: dict[str, Any] | None) -> list[Setting]:
    """Return a list with one setting that describes the stored training pairs.

    The list is empty if no pairs were stored. The model was then trained on the default pairs: all pairs of documents
    with different grades.
    """
    if pairs is None:
        return []
    value = "given by the user" if pairs["targets"] == GIVEN else f"of grades, ties: {pairs['ties']}"
    return [Setting("pairs", value, "stored by the pairs stage", "of grades", True)]


def _printed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_printed, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value) if isinstance(value, dict) else str(value)
