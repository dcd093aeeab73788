"""The code digests in a record, their current values, and their replacement after a check of a sample.

A code digest has a key: the name of a stage, such as `parse`, or a stage and a method, such as `train lambdamart`. The
key `rechecked` of a record has an entry for each code digest that `gradrank verify --recheck` replaced: the digest of
the code that computed the results (`was`), the sample that was computed again (`sample`), what was compared
(`compared`), and the commit whose code computed the sample (`commit`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradrank.base.stamps import SCHEMA, read_sealed, write_sealed
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import RunSettings
from gradrank.bench.provenance.code import training_code
from gradrank.bench.provenance.records import STAGES
from gradrank.bench.provenance.study_records import RECHECKED, study_code
from gradrank.bench.results import Results

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
