"""The studies: found by their folders, and asked what params.yaml may say of them and which jobs are their own.

A study is a folder of gradrank/studies. Its `__init__` has `TITLE` and `PUBLICATION` (a citation), and where the study
has settings or jobs of its own:

- `Settings`: a StudySettings with further keys of `studies.<name>` in params.yaml;
- `jobs(settings)`: what each of its jobs is told, as plain data by the job's name. A job that is told a `dataset` waits
  for it; one that is told a `model`, a registered one, depends on that model's code.

`page.py` has `build(inputs)`, the sections of its page; `experiments.py` has `run_job(told, data, seed)`, what a job
finds, as plain data, with `data` the folder of all collections. Every start of the workflow imports the `__init__`:
nothing heavy belongs there. Nothing else names a study.
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
COMMON = "common"  # what studies share: no study itself


class StudySettings(BaseModel):
    """What params.yaml says of a study: its target's data sets and models.

    models: entries of the top-level `models`. variants: further ones, written as there, that only this study
    trains. reduced: what plain `snakemake` runs of the study: keys that replace the study's, without data sets and
    models unless it names some; nothing if it is not there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    variants: dict[str, Any] = {}
    reduced: dict[str, Any] | None = None


@cache
def study_names() -> list[str]:
    """Every study, in alphabetical order."""
    return sorted(_packages())


def get_study(name: str, part: str = "") -> ModuleType:
    """A study's package, or its module `part`. Raises GradrankError with the nearest name for an unknown study."""
    if name not in study_names():
        raise GradrankError(unknown("study", name, study_names()))
    return importlib.import_module(".".join([_packages()[name], *filter(None, [part])]))


def study_module(name: str, part: str) -> str:
    """Return the dotted name of a study's module `part`, without importing it."""
    return f"{_packages()[name]}.{part}"


@cache
def _packages() -> dict[str, str]:
    """Return the dotted name of each study's package, by the study's name."""
    found = {}
    for entry in entry_points(group=GROUP):
        folders = importlib.import_module(entry.value).__path__
        found |= {info.name: f"{entry.value}.{info.name}" for info in pkgutil.iter_modules(folders)}
    return {name: package for name, package in found.items() if name != COMMON}


def jobs(name: str, settings: StudySettings) -> dict[str, Any]:
    """What each job of the study's own is told, by the job's name; empty for most studies."""
    declared = getattr(get_study(name), "jobs", None)
    return declared(settings) if declared else {}


def reduced_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The reduced form's settings, from those of the whole."""
    replaced = {"datasets", "models", "variants", "reduced"}
    return {key: value for key, value in values.items() if key not in replaced} | dict(values["reduced"])


def check_studies(section: Any, faults: list[str]) -> dict[str, StudySettings]:
    """`studies:` of params.yaml, each by its own class, a reduced form as `<study>/reduced`."""
    found: dict[str, StudySettings] = {}
    if not isinstance(section, Mapping):
        faults.append("studies: expected a mapping from study name to its settings")
        return found
    for name, values in section.items():
        if name not in study_names():
            faults.append(f"studies.{name}: unknown study{nearest(str(name), study_names())}")
            continue
        kind = getattr(get_study(name), "Settings", StudySettings)
        checked = validate(kind, values or {}, f"studies.{name}.", faults)
        if checked is None:
            continue
        found[name] = checked
        if checked.reduced is not None:
            small = validate(kind, reduced_values(values), f"studies.{name}.reduced.", faults)
            found |= {} if small is None else {f"{name}/reduced": small}
    return found
