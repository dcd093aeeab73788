"""`datasets:` of params.yaml: the size of the artificial data, and where a user's own lie."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from gradrank.base.errors import nearest
from gradrank.base.results import STUDIES
from gradrank.base.validation import validate
from gradrank.config.code_digest import STAGES
from gradrank.config.variants import NAME
from gradrank.data.sources.catalogue import catalogue

# Every data set is a target, beside the rules, which are called as their stages, and those that only gather files.
RULES = sorted({*STAGES, "all", "data", "run"})


class SettingsSection(BaseModel):
    """Base of the sections: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _there(path: Path) -> Path:
    """The path with `~` expanded, as a shell would have it."""
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise _fault(f"{error}; write the folder out") from None
    if re.search("[{}]", str(path)):
        raise _fault("Snakemake takes {...} in a path for a wildcard; rename the folder, or link to it (`ln -s`)")
    if not path.exists():
        raise _fault(f"{path} does not exist")
    return path


def _fault(reason: str) -> PydanticCustomError:
    """A ValueError's text would begin with `Value error, `."""
    return PydanticCustomError("path", "{reason}", {"reason": reason})


Models = Literal["all"] | tuple[str, ...]  # entries of `models`, or every model that is installed


class DataSetParams(SettingsSection):
    """The settings of any data set."""

    models: Models | None = None  # what is trained on it, if not `run.models`

    convention: str | None = None  # its primary one, where that is not `evaluation.convention`
    pairs: Annotated[Path, AfterValidator(_there)] | None = None  # a user's own, not the grades' (data/given_pairs.py)


class SyntheticParams(DataSetParams):
    """Size of an artificial data set: queries in all five parts together, and documents a query."""

    queries: int = Field(ge=5, le=1_000_000)
    documents: int = Field(ge=2, le=10_000)


class OwnDataParams(DataSetParams):
    """A user's data: Fold1..5/{train,vali,test}.txt, one such folder, or one file; text or tables (data/layout.py)."""

    path: Annotated[Path, AfterValidator(_there)]
    title: str | None = None
    features: int | None = Field(None, ge=1)  # width of sparse data whose last feature is rarely present
    # What missing values become (data/text/rows.py). By default a missing value in text becomes the least value of its
    # query, and a missing value in a table stays missing, which some models accept.
    missing: Literal["least", "mean", "zero", "keep"] | None = None
    query: str | None = None  # a table's columns, where their names are others than data/tables/roles.py knows
    label: str | None = None
    docid: str | None = None
    ignore: tuple[str, ...] = ()  # columns to set aside
    keep: tuple[str, ...] = ()  # columns that are features though their names could be those of roles

    def parse_options(self) -> dict[str, Any]:
        """What `gradrank parse` is told, by option."""
        return self.model_dump(include={"features", "missing", "query", "label", "docid", "ignore", "keep"})


def check_datasets(section: Any, studies: Iterable[str], faults: list[str]) -> dict[str, SettingsSection]:
    """The settings of each data set that has some; faults are added as `datasets.<name>: reason`."""
    resolved: dict[str, SettingsSection] = {}
    if not isinstance(section, Mapping):
        faults.append("datasets: expected a mapping from data set name to its settings")
        return {}
    for name, entry in catalogue().items():
        if entry.generator and name not in section:
            faults.append(f"datasets.{name}: missing; it needs `queries` and `documents`")
    for name, values in section.items():
        if reason := _refused(str(name), values, studies):
            faults.append(f"datasets.{name}: {reason}")
            continue
        entry = catalogue().get(name)
        kind = OwnDataParams if entry is None else SyntheticParams if entry.generator else DataSetParams
        checked = validate(kind, values or {}, f"datasets.{name}.", faults)
        if checked is not None:
            resolved[name] = checked
    return resolved


def _refused(name: str, values: Any, studies: Iterable[str]) -> str | None:
    """Why a data set cannot be called so, or is none."""
    entry = catalogue().get(name)
    if entry is not None:
        free = entry.generator or not set(values or {}) - set(DataSetParams.model_fields)
        return (
            None
            if free
            else "is in the catalogue and takes no setting but `convention`, `models` and `pairs`; choose another name"
        )
    if name in RULES:
        return "a rule of the workflow has this name, and so has its target; choose another"
    if name in studies:
        return "a study has this name, and so has its target; choose another"
    if name in (STUDIES, "report"):
        return f"results/{name} holds something else; choose another name"
    if not re.fullmatch(NAME, name):
        return "a data set's name is lower case letters, digits and _, and begins with a letter"
    if not isinstance(values, Mapping) or "path" not in values:
        return f"unknown data set{nearest(name, list(catalogue()))}; your own data need `path`"
    return None
