"""The section `datasets` of params.yaml: the size of artificial data sets, and the location of a user's own data."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from gradrank.base.errors import nearest
from gradrank.base.validation import validate
from gradrank.bench.config.code_digest import STAGES
from gradrank.bench.config.variants import NAME
from gradrank.bench.folds.settings import PATH_VARIABLE
from gradrank.bench.results import PLOTS, STUDIES
from gradrank.data.layout import FoldOptions
from gradrank.data.sources.catalogue import catalogue
from gradrank.data.sources.file_form import ColumnName, FileForm

# Names of Snakemake rules. No data set can have one of these names, because the name of each data set is also a target.
RULES = sorted({*STAGES, "all", "data", "run"})
# The environment variable with the number of folds of each of the user's own data sets, as JSON. It is set only in runs
# without a shared file system, whose jobs do not have the user's files.
FOLDS_VARIABLE = "GRADRANK_OWN_FOLDS"
REPORTS = ("report", "finished")  # folders of reports in results/; no data set can have one of these names


class SettingsSection(BaseModel):
    """Base class of the sections of params.yaml. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def replaced_form(path: Path) -> str | None:
    """Return why Snakemake would read another path, as text for messages; None if it reads the path as it is."""
    if re.search("[{}]", str(path)):
        return "Snakemake reads {...} in a path as a wildcard; rename the folder, or link to it (`ln -s`)"
    if match := PATH_VARIABLE.search(str(path)):
        return f"Snakemake reads {match[0]} in a path as a variable; rename the folder, or link to it (`ln -s`)"
    return None


def _existing(path: Path) -> Path:
    """Return the path with `~` expanded. Raises an error if it does not exist or has a form that Snakemake replaces."""
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise _fault(f"{error}; write the full path") from None
    if fault := replaced_form(path):
        raise _fault(fault)
    if not path.exists() and FOLDS_VARIABLE not in os.environ:
        raise _fault(f"{path} does not exist")
    return path


def _fault(reason: str) -> PydanticCustomError:
    """Return a pydantic error. For a ValueError, pydantic would put `Value error, ` in front of the text."""
    return PydanticCustomError("path", "{reason}", {"reason": reason})


Models = Literal["all"] | tuple[str, ...]  # entries of `models`, or all models whose packages are installed


class DataSetParams(SettingsSection):
    """The settings of any data set."""

    models: Models | None = None  # methods that are trained on the data set; default: `run.models`
    # number of seeds of the randomised methods, which are the first seed and the next numbers; default: `run.seeds`.
    # Variants that only studies train have `run.seeds`
    seeds: int | None = Field(None, ge=1, le=100)
    # primary convention; default: that of the data set's entry in the catalogue, or else `evaluation.convention`
    convention: str | None = None
    # gain of each grade, for training and selection; default: 2^grade - 1 in training, and that of the convention
    gain: Literal["exponential", "linear"] | tuple[Annotated[float, Field(ge=0)], ...] | None = None
    pairs: Annotated[Path, AfterValidator(_existing)] | None = None  # file with a user's own pairs (data/pair_files.py)


class SyntheticParams(DataSetParams):
    """The size of an artificial data set. The default is the size in its publication (Burges et al. 2005, section 5).

    queries: number of queries in all five parts together. documents: number of documents per query.
    """

    queries: int = Field(1000, ge=5, le=1_000_000)
    documents: int = Field(50, ge=2, le=10_000)


class OwnDataParams(DataSetParams, FileForm):
    """A user's own data, as text or tables.

    path: a folder with Fold1, Fold2 and so on, each with the files train, vali and test; one folder with these three
    files; or one file. Validation files may be absent. The further keys are those of FileForm.
    """

    path: Annotated[Path, AfterValidator(_existing)]
    title: str | None = None
    features: int | None = Field(None, ge=1)  # number of features, if sparse rows leave it ambiguous
    # The replacement of missing values. `least` and `zero` apply to all models (data/text/letor.py). `mean`, `median`
    # and `indicator` apply to models that do not accept missing values, and are learned on the training part of each
    # fold (data/preparation.py). By default, a missing value in text is replaced by the lowest value of that feature in
    # the query, and a missing value in a table stays missing.
    missing: Literal["least", "zero", "keep", "mean", "median", "indicator"] | None = None
    skip: bool = False  # true: models that do not accept missing values are left out
    weight: str | None = None  # column of weights, which the training uses and the evaluation does not
    # LETOR's normalisation within each query, or that of each feature by mean and deviation of the training part
    normalise: Literal["query", "global", "none"] = "none"
    folds: int | None = Field(None, ge=2)  # number of folds of a single file
    fold: ColumnName | None = None  # column of a single table whose values are the test folds
    # Share of the training queries that is held out in each fold without a validation file (data/fold_parts.py).
    validation: float | None = Field(None, gt=0, lt=1)

    def parse_options(self) -> dict[str, Any]:
        """Return a dict from the name of each option of `gradrank parse` to its value."""
        names = {"features", "missing", "weight", "folds", "fold", "validation"}
        names |= {"normalise"} if self.normalise != "none" else set()
        return self.model_dump(include=names) | self.form_options()

    @property
    def fold_options(self) -> FoldOptions:
        """The division of the data into folds."""
        return FoldOptions(self.folds, self.fold, self.validation, self.header)


def check_datasets(section: Any, studies: Iterable[str], faults: list[str]) -> dict[str, SettingsSection]:
    """Return a dict from name to checked settings. Faults are appended to `faults` as `datasets.<name>: reason`.

    An artificial data set that the section does not name has its default size.
    """
    resolved: dict[str, SettingsSection] = {
        name: SyntheticParams.model_validate({}) for name, entry in catalogue().items() if entry.generator
    }
    if not isinstance(section, Mapping):
        faults.append("datasets: expected a mapping from data set name to its settings")
        return {}
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
    """Return the reason why a data set cannot have this name or these settings; None if there is no such reason."""
    entry = catalogue().get(name)
    if entry is not None:
        keys = set(values) if isinstance(values, Mapping) else set()
        free = entry.generator or not keys - set(DataSetParams.model_fields)
        keys_of_entries = ", ".join(f"`{key}`" for key in sorted(DataSetParams.model_fields))
        return (
            None
            if free
            else "is in the catalogue, whose data sets have published numbers and only the settings "
            f"{keys_of_entries}. {_rename(name)}"
        )
    if name in RULES:
        return f"a rule of the workflow has this name. {_rename(name)}"
    if name in studies:
        return f"a study has this name. {_rename(name)}"
    if name in (STUDIES, PLOTS, *REPORTS):
        return f"results/{name} is used for other files. {_rename(name)}"
    if not re.fullmatch(NAME, name):
        return (
            "the name of a data set consists of lower-case letters, digits and _, and begins with a letter. "
            f"{_rename(name)}"
        )
    if not isinstance(values, Mapping) or "path" not in values:
        return f"unknown data set{nearest(name, list(catalogue()))}; for your own data, set `path`"
    return None


def _rename(name: str) -> str:
    """Return the advice to give one's own data a name that no entry of the catalogue and no rule has."""
    plain = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
    is_free = re.fullmatch(NAME, plain) and plain not in {*catalogue(), *RULES, STUDIES, *REPORTS, name}
    valid = plain if is_free else f"my_{plain or 'data'}"
    return f"Fix: call your own data `{valid}`, or another free name"
