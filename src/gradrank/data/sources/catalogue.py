"""The catalogue of data sets that have a name, read from catalogue.yaml."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from gradrank.base.errors import GradrankError, unknown


class CatalogueSection(BaseModel):
    """Settings of the catalogue's models: unknown keys are errors, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Archive(CatalogueSection):
    """An archive of a data set: its file name, its addresses and the checksums of every known good copy."""

    name: str = Field(pattern=r"^[\w.-]+\.(tar\.xz|tar\.gz|tgz|zip|rar)$")
    sha256: tuple[str, ...] = ()
    md5: tuple[str, ...] = ()  # if the SHA-256 of the original was never published
    bytes: int | None = None
    urls: tuple[str, ...] = ()


class Entry(CatalogueSection):
    """A data set: its description, licence and sources, and the counts that parsing must find.

    `root` is the folder within the archive, and `rename` maps file names below it to their names in the official
    layout. `labels` maps each grade to its number of rows. `generator` marks artificial data, which is not fetched.
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
    """Return the entry of every data set by name, in the order of catalogue.yaml."""
    text = files("gradrank.data.sources").joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {name: Entry(name=name, **fields) for name, fields in yaml.safe_load(text).items()}


def get_entry(name: str) -> Entry:
    """Return the entry of a data set. Raises GradrankError, with the nearest name, for an unknown name."""
    if name not in catalogue():
        raise GradrankError(unknown("data set", name, catalogue()))
    return catalogue()[name]


def check_counts(entry: Entry, meta: Mapping[str, Any]) -> None:
    """Raise GradrankError if a parsed collection has other counts than the catalogue.

    meta: the content of collection.json. The error lists every count that differs: the data are then not the published
    collection.
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
