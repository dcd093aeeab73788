"""The registry of studies: find studies by folder, check their settings in params.yaml, and list their jobs.

Studies are found in the folder studies/ of the working folder, or else of the checkout, and in the packages to which
the entry points of the group `gradrank.studies` refer. Each subpackage or module of such a folder or package is a
study. A project makes the studies that have a file of settings in its folder studies/: `<name>/study.yaml`, or
`<name>.yaml`, for example for a study in one file `<name>.py`.

The module of a study, or the `__init__` of its package, defines `TITLE` and `PUBLICATION` (a citation). For a study
with settings or jobs of its own, the `__init__` also defines:

- `Settings`: a subclass of StudySettings with further keys of study.yaml;
- `jobs(settings)`: a function that returns a dict from the name of each job to its settings, which are plain data. If
  the settings have the key `dataset`, the job starts after that data set is stored, and, if the key `pairs` is true,
  after its pairs are stored. If they have the key `model`, the job depends on the code of that registered model;
- or `training_jobs(settings, trainings)`, which returns the same dict for a study that repeats the trainings of its
  `models` with a change. `trainings` yields one dict per data set, method and seed, with the keys `dataset`, `method`,
  `model`, `params`, `seed`, `pairs` (whether the model reads the stored pairs) and `convention`. The function raises
  GradrankError if a method cannot be trained with the change.

`page.py` defines `build(inputs)`, which returns the sections of the page. Their text can be in a template next to this
file (gradrank.bench.studies.templates). `experiments.py` defines `run_job(settings,
data, seed)`, which returns the result of a job as plain data; `data` is the folder of all stored collections. Every
start of the workflow imports the `__init__` of each study, so this file must not import slow packages.

The methods of a tuned study, such as a contest, are tuned under one budget and in parts. The files of such a study, its
jobs and its targets are those of the contest (gradrank.bench.tuning.folders). A study only declares its methods and
writes its page.
"""

import importlib
import json
import pkgutil
import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from types import ModuleType
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.base.validation import validate
from gradrank.bench.config.code_digest import STUDIES, studies_folder
from gradrank.bench.config.params_file import read
from gradrank.bench.tuning.choice_values import CHOICE_VALUES
from gradrank.bench.tuning.variants import variant_class, variant_modules
from gradrank.training.model import Model
from gradrank.training.registry import models
from gradrank.training.spaces import is_tuned, members_parameter

GROUP = "gradrank.studies"  # the entry points that name packages of studies
SETTINGS = "study.yaml"
PATTERNS = (f"{STUDIES}/*/{SETTINGS}", f"{STUDIES}/*.yaml")  # the paths of settings in a project


class StudySettings(BaseModel):
    """The settings of a study.

    models: entries of the section `models` of params.yaml. variants: further entries that only this study trains.
    reduced: settings of a smaller form of the study, which plain `snakemake` runs; they replace the settings of the
    study. `datasets`, `models` and `variants` are not inherited: they are empty if `reduced` lacks them. Without
    `reduced`, plain `snakemake` does not run the study.

    shows_trainings: whether the page shows the workflow's trainings of `models`. If not, only the study's own jobs
    train these models, and the workflow does not. packs_jobs: whether the results of the study's own jobs are packed
    into jobs.parquet, which git does not ignore.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    shows_trainings: ClassVar[bool] = True
    packs_jobs: ClassVar[bool] = False

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


def study_of(path: PurePath) -> str:
    """Return the name of the study whose settings have this path."""
    return path.parent.name if path.name == SETTINGS else path.stem


def settings_path(name: str, project: Path = Path()) -> Path:
    """Return the path of the settings of a study: studies/<name>.yaml if it exists, else studies/<name>/study.yaml."""
    own = project / STUDIES / f"{name}.yaml"
    return own if own.is_file() else project / STUDIES / name / SETTINGS


def read_settings(project: Path = Path()) -> dict[str, dict[str, Any]]:
    """Return the settings of each study of a project, sorted by name. They are not yet checked.

    Raises a GradrankError that lists every file that cannot be read, and every study with two files.
    """
    paths = sorted((path for pattern in PATTERNS for path in project.glob(pattern)), key=study_of)
    settings: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for path in paths:
        name = study_of(path)
        if path != settings_path(name, project):
            faults.append(f"{path}: the study also has {settings_path(name, project)}. Fix: merge both into one file")
        try:
            settings[name] = read(path, may_be_empty=True)
        except GradrankError as error:
            faults.append(str(error))
    if faults:
        raise GradrankError("\n".join(faults))
    return settings


def reduced_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the reduced form. values: the settings of the study, with the key `reduced`."""
    replaced = {"datasets", "models", "variants", "reduced"}
    return {key: value for key, value in values.items() if key not in replaced} | dict(values["reduced"])


def key_prefix(form: str, project: Path = Path()) -> str:
    """Return the text before the keys of a study or its reduced form in messages: `studies/<name>/study.yaml: `."""
    name, _, reduced = form.partition("/")
    return f"{settings_path(name, project)}: {f'{reduced}.' if reduced else ''}"


def check_studies(section: Any, project: Path, faults: list[str]) -> dict[str, StudySettings]:
    """Return a dict of the checked settings of each study. The key is the study's name, or `<study>/reduced`.

    section: the settings of each study, as `read_settings` returns them, or of an older params.yaml.
    """
    settings: dict[str, StudySettings] = {}
    if not isinstance(section, Mapping):
        faults.append("studies: expected a mapping from study name to its settings")
        return settings
    for name, values in section.items():
        if name not in study_names():
            faults.append(
                f"{key_prefix(name, project)}unknown study{nearest(str(name), study_names())}; write its code to "
                f"{STUDIES}/{name}.py or {STUDIES}/{name}/__init__.py, or rename this file"
            )
            continue
        checked = _checked(name, values or {}, project, faults)
        if checked is None:
            continue
        settings[name] = checked
        if checked.reduced is not None:
            form = f"{name}/reduced"
            reduced = _checked(form, reduced_values(values), project, faults)
            settings |= {} if reduced is None else {form: reduced}
    return settings


def _checked(form: str, values: Any, project: Path, faults: list[str]) -> StudySettings | None:
    found: list[str] = []
    kind = getattr(get_study(form.partition("/")[0]), "Settings", StudySettings)
    checked = validate(kind, values, "", found)
    faults += (f"{key_prefix(form, project)}{fault.removeprefix(': ')}" for fault in found)
    return checked


Count = Annotated[int, Field(strict=True, ge=1, le=100)]
Trials = Annotated[int, Field(strict=True, ge=1, le=10_000)]


class TunedStudySettings(StudySettings):
    """Settings of a study whose methods are tuned.

    tuners: number of tuners per method. A tuner is one independent random search. trials: number of configurations that
    each tuner evaluates per fold. seconds: processor time per tuner and fold for the comparison at equal time. seeds:
    number of trainings, with different seeds, of the configuration that a tuner chose for a fold.
    """

    trials: Trials = 16
    seeds: Count = 3
    tuners: Count = 2
    seconds: Annotated[float, Field(gt=0)] = 20.0

    @abstractmethod
    def method_names(self) -> list[str]:
        """Return the names of the methods: registered models, or variants of them."""

    def frozen_datasets(self) -> list[str]:
        """Return the data sets on which nothing is tuned."""
        return []

    def variant_of(self, method: str, dataset: str | None = None) -> dict[str, Any] | None:
        """Return the registered `model` and the fixed parameters of a method; None for a registered model.

        dataset: by default, the parameters have the values for data sets without values of their own.
        """
        return None

    def refits_only_choices(self) -> bool:
        """Return whether only the choices are trained again, and no other trials for comparison."""
        return False

    def divided(self) -> list[tuple[str, str]]:
        """Return the data sets and methods that are trained on other divisions of the queries."""
        return []

    def model_class(self, method: str) -> type[Model]:
        """Return the class of a method."""
        variant = self.variant_of(method)
        return models()[method] if variant is None else variant_class(method, variant)

    def further_modules(self, stage: str, method: str) -> tuple[str, ...]:
        """Return the modules that `tune` or `refit` runs for a method of this study in addition to those of a model."""
        variant = self.variant_of(method)
        of_variant = () if variant is None else variant_modules(variant)
        return of_variant + ((CHOICE_VALUES,) if stage == "refit" and self.refits_only_choices() else ())

    def variant_json(self, method: str, dataset: str) -> str | None:
        """Return the variant as JSON, as the commands of the workflow take it; None for a registered model."""
        variant = self.variant_of(method, dataset)
        return None if variant is None else json.dumps(variant, sort_keys=True)

    def trials_of(self, method: str) -> int:
        """Return the number of configurations that each tuner of a method evaluates per fold."""
        return self.trials

    def tuners_of(self, method: str) -> int:
        """Return the number of tuners of a method. A method without a search space has one.

        A method that combines the scores of others has `tuners`, because its members have tuners.
        """
        cls = self.model_class(method)
        return self.tuners_if_tuned(method) if is_tuned(cls) or members_parameter(cls) else 1

    def tuners_if_tuned(self, method: str) -> int:
        """Return the number of tuners of a method that has a search space."""
        return self.tuners
