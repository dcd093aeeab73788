"""Checks of a record (provenance.json): its form, its code digests, and the digests that a check of a sample replaced.

Anyone can write a record, so its form is checked before its values are used.

A code digest has a key: the name of a stage, such as `parse`, or a stage and a method, such as `train lambdamart`. The
key `rechecked` of a record has an entry for each code digest that `gradrank verify --recheck` replaced: the digest of
the code that computed the results (`was`), the sample that was computed again (`sample`), what was compared
(`compared`), and the commit whose code computed the sample (`commit`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradrank.base.stamps import SCHEMA, fault_of_name, read_sealed, write_sealed
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings
from gradrank.bench.provenance.records import STAGES, training_code
from gradrank.bench.provenance.study_records import RECHECKED, VALUES, study_code
from gradrank.bench.results import Results

# The texts that each entry of a method has, in the record of a data set and in the record of a study.
DATASET_ENTRY, STUDY_ENTRY = ("digest", "model", "results", "values"), ("digest", "model")


def fault_of_record(record: Mapping[str, Any], is_study: bool) -> str | None:
    """Return what is wrong with the form of a record, as text for messages; None if its values can be used.

    Names of data sets and methods must be plain names, because they are parts of paths.
    """
    methods, entry_keys = ("models", STUDY_ENTRY) if is_study else ("methods", DATASET_ENTRY)
    texts = ("code", "versions", "read" if is_study else "data")
    if fault := next((key for key in ("params", *texts, methods) if not isinstance(record.get(key), dict)), None):
        return f"`{fault}` is not a mapping"
    if fault := next((key for key in texts if not all(isinstance(text, str) for text in record[key].values())), None):
        return f"`{fault}` has a value that is not text"
    processors = record.get("processors")
    if not isinstance(processors, list) or not all(isinstance(processor, str) for processor in processors):
        return "`processors` is not a list of texts"
    for key, keys in ((methods, entry_keys), ("members", ("digest", "model"))):
        entries = record.get(key, {})
        if not isinstance(entries, dict):
            return f"`{key}` is not a mapping"
        for name, entry in entries.items():
            if fault_of_name(name) or "/" in name:
                return f"`{key}` contains {ascii(name)[:200]}, which is not the name of a method"
            if not isinstance(entry, dict) or not all(isinstance(entry.get(text), str) for text in keys):
                return f"`{key}.{name}` lacks one of {', '.join(keys)}"
            if not isinstance(entry.get("params", {}), dict) or not isinstance(entry.get("train", ""), str):
                return f"`{key}.{name}` has `params` or `train` of another type"
    if is_study:
        if not isinstance(record.get("jobs"), str):
            return "`jobs` is not text"
        for key in record["read"]:
            if fault_of_name(key) or key.count("/") != (2 if key.startswith(f"{VALUES}/") else 1):
                return f"`read` contains {ascii(key)[:200]}, which is not <data set>/<method>"
    return None


TRAIN = "train"
SHOWING = ("summary", "study")  # stages that only show results: their code changes no value of a method


@dataclass(frozen=True, eq=False)
class Record:
    """A record of a data set or a study. name: the data set, the study, or `<study>/reduced`."""

    name: str
    path: Path
    content: dict[str, Any]
    is_study: bool

    @property
    def methods(self) -> dict[str, Any]:
        """The entries of the methods, including members that are not listed as results."""
        return self.content["models" if self.is_study else "methods"] | self.content.get("members", {})

    def code(self) -> dict[str, str]:
        """Return the recorded code digests."""
        trained = {f"{TRAIN} {name}": entry[TRAIN] for name, entry in self.methods.items() if TRAIN in entry}
        return self.content["code"] | trained

    def current_code(self, settings: RunSettings) -> dict[str, str]:
        """Return the code digests of this checkout, without methods that are no longer in params.yaml."""
        code = study_code(settings, self.name) if self.is_study else {stage: code_digest(stage) for stage in STAGES}
        trained = [name for name, entry in self.methods.items() if name in settings.models and TRAIN in entry]
        variants = {name: settings.models[name] for name in trained}
        return code | {
            f"{TRAIN} {name}": training_code(variant.model, variant.params) for name, variant in variants.items()
        }

    def replace_code(self, checks: Mapping[str, Mapping[str, Any]], current: Mapping[str, str]) -> None:
        """Write the record with the current digests of the keys of `checks`, whose values are entries of `rechecked`.

        If a digest was replaced before, `was` remains the digest of the code that computed the results.
        """
        recorded, entries = self.code(), self.content.setdefault(RECHECKED, {})
        for key, entry in checks.items():
            entries[key] = {"was": entries.get(key, {}).get("was", recorded[key]), **entry}
            if key in self.content["code"]:
                self.content["code"][key] = current[key]
            else:
                method = key.removeprefix(f"{TRAIN} ")
                sections = (self.content.get(name, {}) for name in ("methods", "members", "models"))
                next(section for section in sections if method in section)[method][TRAIN] = current[key]
        self.content[RECHECKED] = dict(sorted(entries.items()))
        write_sealed(self.path, self.content)


def records(settings: RunSettings, root: Results) -> list[Record]:
    """Return the records of the data sets and studies of params.yaml. Records of another schema are left out."""
    named = [(dataset.name, dataset, False) for dataset in root.datasets()]
    named += [(name, study, True) for name, study in root.studies().items() if name in settings.studies]
    found = [
        Record(name, folder.provenance_path, read_sealed(folder.provenance_path), is_study)
        for name, folder, is_study in named
        if folder.recorded
    ]
    return [record for record in found if record.content.get("schema") == SCHEMA]
