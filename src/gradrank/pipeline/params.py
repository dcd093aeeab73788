"""params.yaml as pydantic models: every value is checked, and named by its path, before any job starts."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from gradrank.data.catalogue import catalogue
from gradrank.errors import GradrankError, nearest, unknown
from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.evaluation.metrics import find
from gradrank.learning.model import Model, get_model, missing_packages, models
from gradrank.pipeline.code_closure import STAGES
from gradrank.pipeline.studies import StudySettings, check_studies, jobs
from gradrank.pipeline.variants import NAME, Variant, expand
from gradrank.validation import validate

# No data set's name: every rule is a target of that name, and what else lies in results/.
RESERVED = sorted({*STAGES, "all", "data", "snapshot", "studies"})


class Section(BaseModel):
    """Base of the sections: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunParams(Section):
    """What plain `snakemake` builds."""

    datasets: tuple[str, ...] = Field(min_length=1)
    models: Literal["all"] | tuple[str, ...] = "all"


class SyntheticParams(Section):
    """Size of an artificial data set: queries in all five parts together, and documents a query."""

    queries: int = Field(ge=5, le=1_000_000)
    documents: int = Field(ge=2, le=10_000)


class OwnDataParams(Section):
    """A user's data: Fold1..5/{train,vali,test}.txt, one such folder, or one file; text or tables (data/layout.py)."""

    path: Path
    title: str | None = None
    features: int | None = Field(None, ge=1)  # width of sparse data whose last feature is rarely present
    # What missing values become (data/rows.py): of text the least value of their query, if nothing is said; in tables
    # they stay missing, which some models take.
    missing: Literal["least", "mean", "zero", "keep"] | None = None
    query: str | None = None  # a table's columns, where their names are others than data/table.py knows
    label: str | None = None
    docid: str | None = None
    ignore: tuple[str, ...] = ()  # columns that are no features

    def parse_options(self) -> dict[str, Any]:
        """What `gradrank parse` is told, by option."""
        return self.model_dump(include={"features", "missing", "query", "label", "docid", "ignore"})


class EvaluationParams(Section):
    """What is measured; `convention` is the primary one, by which summary.json and the tables are made."""

    convention: str = "letor4"
    conventions: tuple[str, ...] = ("letor4",)
    metrics: tuple[str, ...] = Field(min_length=1)


class Params(Section):
    """The whole of params.yaml, resolved: defaults filled in and names checked."""

    seed: int = Field(ge=0, lt=2**31)
    run: RunParams
    studies: dict[str, StudySettings] = {}  # by name; a reduced form: <study>/reduced
    datasets: dict[str, SyntheticParams | OwnDataParams]
    models: dict[str, Variant]  # by the name of its results folder; the studies' own among them
    evaluation: EvaluationParams

    def model_names(self) -> list[str]:
        """What the run trains: the entries listed, or all that this installation can run; sweeps expanded."""
        if self.run.models == "all":
            own = {name for study in self.studies.values() for name in self.variants(study.variants)}
            return sorted(
                name for name in self.models if name not in own and not missing_packages(self.model(name))
            )
        return self.variants(self.run.models)

    def study_models(self, form: str) -> list[str]:
        """What a study, or its reduced form, trains; sweeps expanded."""
        return self.variants([*self.studies[form].models, *self.studies[form].variants])

    def study_settings(self, form: str) -> dict[str, Any]:
        """All that `studies.<study>` says, its models with sweeps expanded; what `gradrank study` is told."""
        values = self.studies[form].model_dump(
            mode="json", exclude={"variants", "reduced"}, exclude_none=True
        )
        return values | {"models": self.study_models(form)}

    def study_jobs(self, form: str) -> dict[str, Any]:
        """What each job of a study's own is told, by the job's name."""
        return jobs(form.partition("/")[0], self.studies[form])

    def variants(self, entries: Iterable[str]) -> list[str]:
        """The names that entries of `models` or of a study's `variants` stand for, in alphabetical order."""
        wanted = set(entries)
        return sorted(name for name, variant in self.models.items() if {name, variant.entry} & wanted)

    def model(self, name: str) -> type[Model]:
        """The registered model of a variant. Raises GradrankError with the nearest name for an unknown one."""
        if name not in self.models:
            raise GradrankError(unknown("model", name, self.models))
        return get_model(self.models[name].model)

    def members(self, name: str) -> tuple[str, ...]:
        """The models whose scores `name` is made of."""
        cls = self.model(name)
        return cls.members(cls.Params(**self.models[name].params))

    def dataset_names(self) -> list[str]:
        """Every data set that can be built: the catalogue's and the user's own."""
        return sorted(set(catalogue()) | set(self.datasets))


def load(path: Path | str = "params.yaml") -> Params:
    """Read and check a params.yaml. Raises GradrankError listing every fault with its path in the file."""
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GradrankError(f"{path}: no such file; run in the project's folder") from None
    except yaml.YAMLError as error:
        raise GradrankError(f"{path}: not YAML: {error}") from None
    if not isinstance(raw, Mapping):
        raise GradrankError(f"{path}: expected keys {', '.join(Params.model_fields)}")
    return check(raw, str(path))


def check(raw: Mapping[str, Any], where: str = "params.yaml") -> Params:
    """Params from the parsed file. Raises GradrankError listing every fault with its path."""
    faults: list[str] = []
    raw = dict(raw)
    if "study" in raw:
        raise GradrankError(f"{where}: `study` is now called `run`; rename the key")
    studies = raw.get("studies") or {}
    raw["studies"] = check_studies(studies, faults)
    raw["models"] = _check_models(raw.get("models") or {}, studies, faults)
    raw["datasets"] = _check_datasets(raw.get("datasets") or {}, studies, faults)
    params = validate(Params, raw, "", faults)
    if params is not None:
        faults += _check_datasets_known("run.datasets", params.run.datasets, params)
        if params.run.models != "all":
            faults += _check_entries("run.models", params.run.models, params)
        for name, study in params.studies.items():
            where = f"studies.{name.replace('/', '.')}"
            faults += _check_datasets_known(f"{where}.datasets", study.datasets, params)
            faults += _check_entries(f"{where}.models", study.models, params)
        if not faults:
            faults += _check_members(params)
        faults += _check_evaluation(params.evaluation)
    if faults or params is None:
        raise GradrankError("\n".join([f"{where}:", *(f"  {fault}" for fault in faults)]))
    return params


def _check_models(section: Any, studies: Any, faults: list[str]) -> dict[str, Variant]:
    """Every registered model's variants, those with a name of their own, and those of the studies."""
    if not isinstance(section, Mapping):
        faults.append("models: expected a mapping from model name to its parameters")
        return {}
    found = expand(dict.fromkeys(models()) | dict(section), "models.", faults)
    for study, values in studies.items() if isinstance(studies, Mapping) else ():
        own = (values.get("variants") if isinstance(values, Mapping) else None) or {}
        path = f"studies.{study}.variants."
        for entry in own:
            if entry in models() or any(entry == variant.entry for variant in found.values()):
                faults.append(f"{path}{entry}: the name is taken; choose another")
        found = expand(own, path, faults) | found
    return found


def _check_datasets_known(where: str, names: Iterable[str], params: Params) -> list[str]:
    known = params.dataset_names()
    return [
        f"{where}: {unknown('data set', name, known)}; your own needs `datasets.{name}.path`"
        for name in names
        if name not in known
    ]


def _check_entries(where: str, names: Iterable[str], params: Params) -> list[str]:
    """Each name must stand for a variant: an entry's, or one of a sweep."""
    known = sorted({variant.entry for variant in params.models.values()} | set(params.models))
    return [f"{where}: {unknown('model', name, known)}" for name in names if name not in known]


def _check_datasets(section: Any, studies: Any, faults: list[str]) -> dict[str, Section]:
    resolved: dict[str, Section] = {}
    if not isinstance(section, Mapping):
        faults.append("datasets: expected a mapping from data set name to its settings")
        return {}
    for name, entry in catalogue().items():
        if entry.generator and name not in section:
            faults.append(f"datasets.{name}: missing; it needs `queries` and `documents`")
    for name, values in section.items():
        entry = catalogue().get(name)
        if entry is not None and not entry.generator:
            faults.append(f"datasets.{name}: is in the catalogue and takes no settings; choose another name")
        elif not re.fullmatch(NAME, str(name)) or name in (*RESERVED, *studies):
            faults.append(
                f"datasets.{name}: a data set's name is lower case letters, digits and _, and not "
                f"one of {', '.join((*RESERVED, *studies))}"
            )
        elif entry is None and "path" not in (values or {}):
            faults.append(
                f"datasets.{name}: unknown data set{nearest(str(name), list(catalogue()))}; "
                "your own data need `path`"
            )
        else:
            kind = SyntheticParams if entry else OwnDataParams
            checked = validate(kind, values or {}, f"datasets.{name}.", faults)
            if checked is not None:
                resolved[name] = checked
            if isinstance(checked, OwnDataParams) and not checked.path.exists():
                faults.append(f"datasets.{name}.path: {checked.path} does not exist")
    return resolved


def _check_members(params: Params) -> list[str]:
    """A model made of other models' scores needs them: they are trained for it where they are not yet."""
    faults = []
    wanted = {*params.model_names(), *chain.from_iterable(map(params.study_models, params.studies))}
    for name in sorted(wanted):
        for member in params.members(name):
            if member == name:
                faults.append(f"models.{name}: cannot be made of its own scores")
            elif member not in params.models:
                faults.append(f"models.{name}: {unknown('model', member, params.models)}")
            elif missing := missing_packages(params.model(member)):
                faults.append(
                    f"models.{name}: is made of the scores of {member!r}, which needs {', '.join(missing)}: "
                    f"install it, or name others in `models.{name}`"
                )
    return faults


def _check_evaluation(evaluation: EvaluationParams) -> list[str]:
    faults = []
    for name in evaluation.metrics:
        try:
            find(name)
        except GradrankError as error:
            faults.append(f"evaluation.metrics: {error}")
    faults += [
        f"evaluation.conventions: {unknown('convention', name, CONVENTIONS)}"
        for name in evaluation.conventions
        if name not in CONVENTIONS
    ]
    if evaluation.convention not in evaluation.conventions:
        faults.append(f"evaluation.conventions: must contain the primary one, {evaluation.convention!r}")
    return faults
