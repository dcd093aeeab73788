"""The catalogue of known data sets, which is read from catalogue.yaml."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from gradrank.base.errors import GradrankError, unknown


class CatalogueSection(BaseModel):
    """Base class of the sections of catalogue.yaml. Unknown keys are errors, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Archive(CatalogueSection):
    """An archive of a data set: its file name, its addresses, and the checksums of all known good copies."""

    name: str = Field(pattern=r"^[\w.-]+\.(tar\.xz|tar\.gz|tgz|zip|rar)$")
    sha256: tuple[str, ...] = ()
    md5: tuple[str, ...] = ()  # used if no SHA-256 of the original was published
    bytes: int | None = None
    urls: tuple[str, ...] = ()


class Entry(CatalogueSection):
    """A data set: its description, its licence, its sources, and the counts with which parsed data are compared.

    `root` is the folder of the data within the archive, and `rename` maps file names below this folder to names in the
    official layout. `labels` maps each grade to its number of rows. If `generator` is set, the data are artificial, and
    are generated instead of fetched.
    """

    name: str
    title: str
    about: str
    citation: str
    licence: str
    homepage: str | None = None
    obtain: str | None = None
    generator: Literal["net", "poly"] | None = None
    archives: tuple[Archive, ...] = ()
    root: str = ""
    rename: dict[str, str] = {}
    folds: Literal[1, 5] = 5
    sparse: bool = False  # rows may leave features out
    features: int | None = None
    rows: int | None = None
    queries: int | None = None
    labels: dict[int, int] = {}


@cache
def catalogue() -> dict[str, Entry]:
    """Return a dict from the name of each data set to its entry, in the order of catalogue.yaml."""
    text = files("gradrank.data.sources").joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {name: Entry(name=name, **fields) for name, fields in yaml.safe_load(text).items()}


def get_entry(name: str) -> Entry:
    """Return the entry of a data set. Raises GradrankError for an unknown name, and suggests the most similar one."""
    if name not in catalogue():
        raise GradrankError(unknown("data set", name, catalogue()))
    return catalogue()[name]


def check_counts(entry: Entry, meta: Mapping[str, Any]) -> None:
    """Raise GradrankError if a parsed collection is not the published one, because its counts differ.

    meta: the content of collection.json. The error lists every count that differs from the count in the catalogue.
    """
    labels: dict[int, int] = {}
    for part in meta["parts"].values():
        for grade, rows in part["labels"].items():
            labels[int(grade)] = labels.get(int(grade), 0) + rows
    counts = {**{key: meta[key] for key in ("rows", "queries", "features")}, "labels": dict(sorted(labels.items()))}
    wrong = [
        f"{key}: found {value}, expected {getattr(entry, key)}"
        for key, value in counts.items()
        if getattr(entry, key) and getattr(entry, key) != value
    ]
    if wrong:
        raise GradrankError(
            f"{entry.name} is not the collection {entry.title}: {'; '.join(wrong)}. Fix: fetch the data again, or "
            "parse it under another name"
        )
