"""The catalogue of known data sets.

It is read from catalogue.yaml in this folder, and from a catalogue.yaml in each package to which an entry point of the
group `gradrank.datasets` refers.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.extensions import DATASETS, extensions
from gradrank.base.validation import validate
from gradrank.data.sources.file_form import FileForm

OWN_PACKAGE = "gradrank.data.sources"
FILE = "catalogue.yaml"


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


class SingleFile(CatalogueSection):
    """A file of a data set that is published as single files: its name, its addresses, its checksum and its size.

    A mirror has the file under <data set>/<name>.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][\w-]*(\.[\w-]+)*(/[A-Za-z0-9][\w-]*(\.[\w-]+)*)*$")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int
    urls: tuple[str, ...] = ()


class Entry(CatalogueSection, FileForm):
    """A data set: its description, its licence, its sources, and the expected counts of the parsed data.

    The data are in one of `archives`, or in all of `files`. `root` is the folder of the data within the archive, and
    `rename` maps file names below this folder, or the names of single files, to names in the official layout. `labels`
    maps each grade to its number of rows. `convention` is the primary convention unless params.yaml sets one for the
    data set. If `generator` is set, the data are artificial, and are generated instead of fetched.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")  # also the name of a target of the workflow
    title: str
    about: str
    citation: str
    licence: str
    homepage: str | None = None
    obtain: str | None = None
    generator: Literal["net", "poly"] | None = None
    archives: tuple[Archive, ...] = ()
    files: tuple[SingleFile, ...] = ()
    root: str = ""
    rename: dict[str, str] = {}
    folds: Literal[1, 5] = 5
    sparse: bool = False  # rows may leave features out
    features: int | None = None
    rows: int | None = None
    queries: int | None = None
    labels: dict[int, int] = {}
    convention: str | None = None

    @model_validator(mode="after")
    def _has_one_kind_of_source(self) -> Self:
        if self.archives and self.files:
            raise PydanticCustomError("sources", "has both `archives` and `files`; give one of them")
        return self

    @property
    def access(self) -> Literal["artificial", "public", "licensed"]:
        """How users get the data: by generating them, from a public address, or from the owner."""
        if self.generator:
            return "artificial"
        return "public" if any(source.urls for source in (*self.archives, *self.files)) else "licensed"

    @property
    def declared_features(self) -> int | None:
        """The number of features if rows may leave features out, otherwise None."""
        return self.features if self.sparse else None

    def parse_options(self) -> dict[str, Any]:
        """Return a dict from the name of each option of `gradrank parse` to its value."""
        return {"features": self.declared_features} | self.form_options()


@cache
def catalogue() -> dict[str, Entry]:
    """Return a dict from the name of each data set to its entry, in the order of catalogue.yaml.

    The data sets of other packages are last. Raises GradrankError if two packages have a data set of the same name, or
    if the file of another package is missing or invalid.
    """
    entries: dict[str, Entry] = {}
    package_of: dict[str, str] = {}
    packages = {OWN_PACKAGE: "gradrank"} | {each.package: str(each) for each in extensions(DATASETS)}
    for package, distribution in packages.items():
        for name, entry in _read(package, distribution).items():
            if name in entries:
                raise GradrankError(
                    f"duplicate data set {name!r} in {package_of[name]} and {distribution}. Fix: uninstall one of the "
                    "packages"
                )
            entries[name], package_of[name] = entry, distribution
    return entries


def _read(package: str, distribution: str) -> dict[str, Entry]:
    """Return the entries in the catalogue.yaml of a package. distribution: the name for error messages."""
    try:
        sections = yaml.safe_load(files(package).joinpath(FILE).read_text(encoding="utf-8"))
    except (ImportError, OSError, yaml.YAMLError) as error:
        raise GradrankError(f"{distribution}: {FILE} cannot be read ({error}). Fix: install another version") from error
    if not isinstance(sections, Mapping):
        raise GradrankError(f"{distribution}: {FILE} is not a mapping from names to entries. Fix: correct the file")
    faults: list[str] = []
    entries: dict[str, Entry] = {}
    for name, fields in sections.items():
        values = {**fields, "name": name} if isinstance(fields, Mapping) else fields
        entry = validate(Entry, values, f"{name}.", faults)
        if entry is not None:
            entries[name] = entry
            if entry.generator and package != OWN_PACKAGE:
                faults.append(f"{name}.generator: only gradrank's own data sets can be generated; give archives")
    if faults:
        raise GradrankError(f"{distribution}: {FILE}: {'; '.join(faults)}. Fix: correct the file")
    return entries


def get_entry(name: str) -> Entry:
    """Return the entry of a data set. Raises GradrankError for an unknown name, and suggests the most similar one."""
    if name not in catalogue():
        raise GradrankError(unknown("data set", name, catalogue()))
    return catalogue()[name]


def check_counts(entry: Entry, meta: Mapping[str, Any]) -> None:
    """Raise GradrankError if the counts of a parsed collection differ from the catalogue.

    meta: the content of collection.json. The message lists every count that differs.
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
