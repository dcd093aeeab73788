"""params.yaml as pydantic models: every value is checked, and named by its path, before any job starts."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from gradrank.conventions import CONVENTIONS
from gradrank.data.catalogue import catalogue
from gradrank.errors import GradrankError, nearest
from gradrank.metrics import find
from gradrank.model import Model, get_model, missing_packages, models
from gradrank.validation import validate

STAGES = ("all", "data", "report", "track")


class Section(BaseModel):
    """Base of the sections: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyParams(Section):
    """What plain `snakemake` builds."""

    datasets: tuple[str, ...] = Field(min_length=1)
    models: Literal["all"] | tuple[str, ...] = "all"


class SyntheticParams(Section):
    """Size of an artificial data set: queries in all five parts together, and documents a query."""

    queries: int = Field(ge=5, le=1_000_000)
    documents: int = Field(ge=2, le=10_000)


class OwnDataParams(Section):
    """A user's data: Fold1..5/{train,vali,test}.txt, one such folder, or one SVMlight file with qid."""

    path: Path
    title: str | None = None
    features: int | None = Field(None, ge=1)  # width of sparse data whose last feature is rarely present


class EvaluationParams(Section):
    """What is measured; `convention` is the primary one, by which summary.json and the tables are made."""

    convention: str = "letor4"
    conventions: tuple[str, ...] = ("letor4",)
    metrics: tuple[str, ...] = Field(min_length=1)


class Params(Section):
    """The whole of params.yaml, resolved: defaults filled in and names checked."""

    seed: int = Field(ge=0, lt=2**31)
    study: StudyParams
    datasets: dict[str, SyntheticParams | OwnDataParams]
    models: dict[str, dict[str, Any]]
    evaluation: EvaluationParams

    def model_names(self) -> list[str]:
        """The models of the study: those listed, or all that this installation can run."""
        if self.study.models == "all":
            return [name for name, cls in models().items() if not missing_packages(cls)]
        return sorted(set(self.study.models))

    def model(self, name: str) -> type[Model]:
        return get_model(name)

    def members(self, name: str) -> tuple[str, ...]:
        """The models whose scores `name` is made of."""
        cls = self.model(name)
        return cls.members(cls.Params(**self.models[name]))

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
    raw["models"] = _check_models(raw.get("models") or {}, faults)
    raw["datasets"] = _check_datasets(raw.get("datasets") or {}, faults)
    params = validate(Params, raw, "", faults)
    if params is not None:
        known = params.dataset_names()
        faults += [
            f"study.datasets: unknown data set {name!r}{nearest(name, known)}; "
            f"your own needs `datasets.{name}.path`"
            for name in params.study.datasets
            if name not in known
        ]
        if params.study.models != "all":
            faults += [
                f"study.models: unknown model {name!r}{nearest(name, list(models()))}"
                for name in params.study.models
                if name not in models()
            ]
        if not faults:
            faults += _check_members(params)
        faults += _check_evaluation(params.evaluation)
    if faults or params is None:
        raise GradrankError("\n".join([f"{where}:", *(f"  {fault}" for fault in faults)]))
    return params


def _check_models(section: Any, faults: list[str]) -> dict[str, dict[str, Any]]:
    """Every registered model's resolved parameters."""
    resolved = {}
    if not isinstance(section, Mapping):
        faults.append("models: expected a mapping from model name to its parameters")
        return {}
    for name in section:
        if name not in models():
            faults.append(f"models.{name}: unknown model{nearest(str(name), list(models()))}")
    for name, cls in models().items():
        checked = validate(cls.Params, section.get(name) or {}, f"models.{name}.", faults)
        if checked is not None:
            resolved[name] = checked.model_dump(mode="json")
    return resolved


def _check_datasets(section: Any, faults: list[str]) -> dict[str, Section]:
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
        elif not re.fullmatch(r"[a-z][a-z0-9_]*", str(name)) or name in STAGES:
            faults.append(
                f"datasets.{name}: a data set's name is lower case letters, digits and _, and not "
                f"one of {', '.join(STAGES)}"
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
    """A model made of other models' scores needs them in the study."""
    names = params.model_names()
    faults = []
    for name in names:
        for member in params.members(name):
            if member == name:
                faults.append(f"models.{name}: cannot be made of its own scores")
            elif member not in models():
                faults.append(f"models.{name}: unknown model {member!r}{nearest(member, list(models()))}")
            elif member not in names:
                faults.append(
                    f"models.{name}: is made of the scores of {member!r}, not in study.models or not "
                    f"installed; add it, or name others in `models.{name}`"
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
        f"evaluation.conventions: unknown convention {name!r}{nearest(name, list(CONVENTIONS))}"
        for name in evaluation.conventions
        if name not in CONVENTIONS
    ]
    if evaluation.convention not in evaluation.conventions:
        faults.append(f"evaluation.conventions: must contain the primary one, {evaluation.convention!r}")
    return faults
