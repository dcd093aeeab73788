"""The registry of studies: find them by folder, check their settings in params.yaml, and list their jobs.

The entry points of the group `gradrank.studies` name the packages whose folders are studies. The `__init__` of a study
has `TITLE` and `PUBLICATION` (a citation). If the study has settings or jobs of its own, it also has:

- `Settings`: a subclass of StudySettings with further keys of `studies.<name>` in params.yaml;
- `jobs(settings)`: the settings of each job, as plain data by the name of the job. If they name a `dataset`, the job
  waits for it. If they name a `model`, the job depends on the code of that registered model.

`page.py` has `build(inputs)`, which returns the sections of the page. `experiments.py` has `run_job(settings, data,
seed)`, which returns the result of a job as plain data; `data` is the folder of all stored collections. Every start of
the workflow imports the `__init__` of each study, so it imports nothing slow.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.base.validation import validate

GROUP = "gradrank.studies"  # the entry points that name packages of studies
COMMON = "common"  # the folder that studies share


class StudySettings(BaseModel):
    """The settings of a study in params.yaml.

    models: entries of the top-level `models`. variants: further entries that only this study trains. reduced: settings
    of a reduced form, which plain `snakemake` runs. They replace the settings of the study; data sets and models are
    empty unless given. If None, plain `snakemake` does not run the study.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    variants: dict[str, Any] = {}
    reduced: dict[str, Any] | None = None


@cache
def study_names() -> list[str]:
    """Return the names of all studies, in alphabetical order."""
    return sorted(_packages())


def get_study(name: str, part: str = "") -> ModuleType:
    """Return a study's package, or its module `part`. Raises GradrankError with the nearest name if it is unknown."""
    if name not in study_names():
        raise GradrankError(unknown("study", name, study_names()))
    return importlib.import_module(".".join([_packages()[name], *filter(None, [part])]))


def study_module(name: str, part: str) -> str:
    """Return the dotted name of a study's module `part`, without importing it."""
    return f"{_packages()[name]}.{part}"


@cache
def _packages() -> dict[str, str]:
    """Return the dotted name of each study's package, by the study's name."""
    packages = {}
    for entry in entry_points(group=GROUP):
        folders = importlib.import_module(entry.value).__path__
        packages |= {info.name: f"{entry.value}.{info.name}" for info in pkgutil.iter_modules(folders)}
    return {name: package for name, package in packages.items() if name != COMMON}


def jobs(name: str, settings: StudySettings) -> dict[str, Any]:
    """Return the settings of each of the study's own jobs, by the name of the job; empty for most studies."""
    declared = getattr(get_study(name), "jobs", None)
    return declared(settings) if declared else {}


def reduced_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the reduced form, from the settings of the study."""
    replaced = {"datasets", "models", "variants", "reduced"}
    return {key: value for key, value in values.items() if key not in replaced} | dict(values["reduced"])


def check_studies(section: Any, faults: list[str]) -> dict[str, StudySettings]:
    """Return the checked settings of each study in params.yaml, by name. A reduced form is called `<study>/reduced`."""
    settings: dict[str, StudySettings] = {}
    if not isinstance(section, Mapping):
        faults.append("studies: expected a mapping from study name to its settings")
        return settings
    for name, values in section.items():
        if name not in study_names():
            faults.append(f"studies.{name}: unknown study{nearest(str(name), study_names())}")
            continue
        kind = getattr(get_study(name), "Settings", StudySettings)
        checked = validate(kind, values or {}, f"studies.{name}.", faults)
        if checked is None:
            continue
        settings[name] = checked
        if checked.reduced is not None:
            reduced = validate(kind, reduced_values(values), f"studies.{name}.reduced.", faults)
            settings |= {} if reduced is None else {f"{name}/reduced": reduced}
    return settings
