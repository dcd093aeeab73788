"""The registry of studies: find studies by folder, check their settings in params.yaml, and list their jobs.

Studies are found in the folder studies/ of the working folder, or else of the checkout, and in the packages to which
the entry points of the group `gradrank.studies` refer. Each subpackage or module of such a folder or package is a
study. The module of a study, or the `__init__` of its package, defines `TITLE` and `PUBLICATION` (a citation). For a
study with settings or jobs of its own, the `__init__` also defines:

- `Settings`: a subclass of StudySettings with further keys of `studies.<name>` in params.yaml;
- `jobs(settings)`: a function that returns a dict from the name of each job to its settings, which are plain data. If
  the settings have the key `dataset`, the job starts after that data set is stored, and, if the key `pairs` is true,
  after its pairs are stored. If they have the key `model`, the job depends on the code of that registered model;
- or `training_jobs(settings, trainings)`, which returns the same dict for a study that repeats the trainings of its
  `models` with a change. `trainings` yields one dict per data set, method and seed, with the keys `dataset`, `method`,
  `model`, `params`, `seed`, `pairs` (whether the model reads the stored pairs) and `convention`. The function raises
  GradrankError if a method cannot be trained with the change.

`page.py` defines `build(inputs)`, which returns the sections of the page. `experiments.py` defines `run_job(settings,
data, seed)`, which returns the result of a job as plain data; `data` is the folder of all stored collections. Every
start of the workflow imports the `__init__` of each study, so this file must not import slow packages.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.base.validation import validate
from gradrank.bench.config.code_digest import STUDIES, studies_folder

GROUP = "gradrank.studies"  # the entry points that name packages of studies


class StudySettings(BaseModel):
    """The settings of a study in params.yaml.

    models: entries of the top-level section `models`. variants: further entries that only this study trains.
    reduced: settings of a smaller form of the study, which plain `snakemake` runs; they replace the settings of the
    study. `datasets`, `models` and `variants` are not inherited: they are empty if `reduced` lacks them. Without
    `reduced`, plain `snakemake` does not run the study.

    shows_trainings: whether the page shows the workflow's trainings of `models`. If not, only the study's own jobs
    train these models, and the workflow does not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    shows_trainings: ClassVar[bool] = True

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    variants: dict[str, Any] = {}
    reduced: dict[str, Any] | None = None


@cache
def study_names() -> list[str]:
    """Return the names of all studies, in alphabetical order."""
    return sorted(_modules())


def get_study(name: str, part: str = "") -> ModuleType:
    """Import a study's package, or its module `part`.

    Raises GradrankError with the nearest name for an unknown study.
    """
    if name not in study_names():
        raise GradrankError(unknown("study", name, study_names()))
    return importlib.import_module(study_module(name, part) if part else _modules()[name][0])


def study_module(name: str, part: str) -> str:
    """Return the dotted name of a study's module `part`, without importing it. A study in one file has one module."""
    module, is_package = _modules()[name]
    return f"{module}.{part}" if is_package else module


def shows_trainings(form: str) -> bool:
    """Return whether the page of a study or of its reduced form shows the workflow's trainings of its `models`."""
    return getattr(get_study(form.partition("/")[0]), "Settings", StudySettings).shows_trainings


@cache
def _modules() -> dict[str, tuple[str, bool]]:
    """Return a dict from the name of each study to its dotted name, and whether it is a package.

    Raises GradrankError if Python finds another package called `studies` before the folder.
    """
    packages, folder = [entry.value for entry in entry_points(group=GROUP)], studies_folder()
    if folder is not None:
        sys.path.append(str(folder.absolute().parent))  # the last place, so that the folder hides no installed package
        if not any(map(folder.samefile, importlib.import_module(STUDIES).__path__)):
            raise GradrankError(f"{folder}: another package is called {STUDIES}. Fix: uninstall that package")
        packages.append(STUDIES)
    return {
        info.name: (f"{package}.{info.name}", info.ispkg)
        for package in packages
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__)
    }


def jobs(name: str, settings: StudySettings, trainings: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return a dict from the name of each of the study's own jobs to its settings. Most studies have none.

    trainings: the trainings of the study's models in the workflow. Raises GradrankError if the study refuses one.
    """
    study = get_study(name)
    if hasattr(study, "training_jobs"):
        return study.training_jobs(settings, trainings)
    declared = getattr(study, "jobs", None)
    return declared(settings) if declared else {}


def reduced_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the reduced form. values: the settings of the study, with the key `reduced`."""
    replaced = {"datasets", "models", "variants", "reduced"}
    return {key: value for key, value in values.items() if key not in replaced} | dict(values["reduced"])


def check_studies(section: Any, faults: list[str]) -> dict[str, StudySettings]:
    """Return a dict of the checked settings of each study. The key is the study's name, or `<study>/reduced`."""
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
