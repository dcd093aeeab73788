"""The layout of results/: this module alone knows the names of its files, and reads them.

    report.html, report/, tracked.json  the report with its tables and figures, and the MLflow runs of it all
    per_query.parquet, methods.csv, metrics.json, run.json   values per test query, and means, for DVC; their stamp
    studies/<study>/[reduced/]          page.json, page.md, numbers.json, tables/, jobs/<job>.json, provenance.json
    <dataset>/                          summary.json, summary.md, queries.parquet, tables/, provenance.json
    <dataset>/<method>/                 per_query.parquet, evaluation.json
    <dataset>/<method>/fold<k>/         model/, scores.parquet, history.parquet, timing.json, spec.json

The last file of each folder is its stamp (see stamps.py). The targets `snakemake <dataset>` and `snakemake <study>`
write report.html, report/ and tracked.json of their own in that folder.

Trained with several seeds, a method has the first one's files in fold<k>/, as of one alone, and each further one's in
fold<k>/seed<s>/. A path is a name, whether anything lies there or not; a reader raises FileNotFoundError where nothing
does, and GradrankError for damaged JSON.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.base.stamps import REPAIR, SCHEMA, check_file

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

STUDIES = "studies"  # of results/: what no data set may be called
PROVENANCE, SUMMARY, PER_QUERY = "provenance.json", "summary.json", "per_query.parquet"
MODEL, MEMBERS = "model", "members"
EVALUATION, RUN, JOBS, PAGE = "evaluation.json", "run.json", "jobs", "page.json"
SCORES, HISTORY, TIMING, SPEC = "scores.parquet", "history.parquet", "timing.json", "spec.json"
FOLD_FILES = (MODEL, SCORES, HISTORY, TIMING, SPEC)  # as they come: the last says that all are there
_FOLD, _SEED = re.compile(r"fold(\d+)"), re.compile(r"seed(\d+)")


class Below:
    """A path in the `folder` of its owner."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> Path:
        return owner.folder / self.name


@dataclass(frozen=True)
class Folder:
    """A folder of results/, whether it is there or not."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name


class Recorded(Folder):
    """A folder that says what is in it was made of."""

    provenance_path = Below(PROVENANCE)

    @property
    def recorded(self) -> bool:
        return self.provenance_path.is_file()

    def provenance(self) -> dict[str, Any]:
        """Read what `gradrank.provenance` recorded of this data set or study."""
        return read_json(self.provenance_path)


class FoldFolder(Folder):
    """The output of one training job: fold<k>/, fold<k>/seed<s>/, or any folder with a model's files."""

    model_path = Below(MODEL)  # a folder, written and read by the model
    scores_path = Below(SCORES)
    history_path = Below(HISTORY)
    timing_path = Below(TIMING)
    spec_path = Below(SPEC)

    @classmethod
    def holding(cls, path: Path | str) -> "FoldFolder | None":
        """The fold that a file of results/ belongs to; None for one beside the folds."""
        named = (cls(folder) for folder in Path(path).parents)
        return next((fold for fold in named if _FOLD.fullmatch(fold.numbered.name)), None)

    @property
    def seed(self) -> int | None:
        """s of fold<k>/seed<s>/; None of fold<k>/, which is of the first seed."""
        return int(found[1]) if (found := _SEED.fullmatch(self.name)) else None

    @property
    def number(self) -> int:
        return int(_FOLD.fullmatch(self.numbered.name)[1])

    @property
    def method(self) -> "MethodFolder":
        return MethodFolder(self.numbered.parent)

    @property
    def numbered(self) -> Path:
        return self.folder if self.seed is None else self.folder.parent

    @property
    def finished(self) -> bool:
        return self.spec_path.is_file()

    def check(self, path: Path) -> None:
        """Raise GradrankError unless a file of this fold is, byte for byte, the one that its job wrote."""
        check_file(self.spec_path, path)

    def spec(self) -> dict[str, Any]:
        """Read the stamp: `model`, `dataset`, `fold`, `params`, `features`, `seed`, `job_seed`, `data_sha256`, `inputs`
        (SHA-256 by name), `code`, `versions`, `processor`, and `files` (SHA-256 by path; no timings).
        """
        return read_json(self.spec_path)

    def timing(self) -> dict[str, float]:
        """`seconds`, `fit_seconds`, `peak_memory_mb`; of a job that trained also what `evaluation/costs.py` reads."""
        return read_json(self.timing_path)

    def history(self) -> "pl.DataFrame":
        """A row a step: `step`, and what the model reported, null where it did not."""
        import polars as pl

        return pl.read_parquet(self.history_path)

    def scores(self, split: str) -> "np.ndarray":
        """(n,) float64 scores of a part (`train`, `vali` or `test`), in the order of its rows; checked."""
        import polars as pl

        self.check(self.scores_path)
        return pl.read_parquet(self.scores_path).filter(split=split)["score"].to_numpy()

    def member(self, number: int) -> "FoldFolder":
        """One of the folds, from 1, whose scores this fold's model is made of: it is kept in the model's folder."""
        return FoldFolder(self.model_path / MEMBERS / str(number))


class MethodFolder(Folder):
    """results/<dataset>/<method>/: a model, or a variant of one, on one data set."""

    per_query_path = Below(PER_QUERY)
    evaluation_path = Below(EVALUATION)

    @property
    def dataset(self) -> str:
        return self.folder.parent.name

    @property
    def evaluated(self) -> bool:
        return self.per_query_path.is_file()

    def check(self) -> None:
        """Raise GradrankError unless the values per query are, byte for byte, the ones that were measured."""
        check_file(self.evaluation_path, self.per_query_path)

    @property
    def begun(self) -> bool:
        """Whether anything of it is here."""
        return self.evaluated or any(_FOLD.fullmatch(path.name) for path in self.folder.glob("fold*"))

    def fold(self, number: int, seed: int | None = None) -> FoldFolder:
        folder = self.folder / f"fold{number}"
        return FoldFolder(folder if seed is None else folder / f"seed{seed}")

    def folds(self) -> list[FoldFolder]:
        """The finished ones, by number and seed: of seeds that are no longer asked for as well."""
        folders = [path for path in self.folder.glob("fold*") if _FOLD.fullmatch(path.name)]
        folders += [path for folder in folders for path in folder.glob("seed*") if _SEED.fullmatch(path.name)]
        found = [fold for fold in map(FoldFolder, folders) if fold.finished]
        return sorted(found, key=lambda fold: (fold.number, -1 if fold.seed is None else fold.seed))


class DatasetFolder(Recorded):
    """results/<dataset>/: its methods, and their summary."""

    summary_path = Below(SUMMARY)
    summary_page_path = Below("summary.md")
    queries_path = Below("queries.parquet")
    tables_path = Below("tables")

    @property
    def summarised(self) -> bool:
        return self.summary_path.is_file()

    def summary(self) -> dict[str, dict[str, float | None]]:
        """Means by method and metric under the primary convention, to four decimals; null where undefined."""
        return read_json(self.summary_path)

    def method(self, name: str) -> MethodFolder:
        return MethodFolder(self.folder / name)

    def methods(self) -> list[MethodFolder]:
        """Return the methods of which any file is here, by name."""
        inside = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [method for method in map(MethodFolder, inside) if method.begun]


class StudyFolder(Recorded):
    """results/studies/<study>/ or its reduced form: page.json for the report, and what is in git beside it."""

    page_path = Below(PAGE)
    markdown_path = Below("page.md")
    numbers_path = Below("numbers.json")
    tables_path = Below("tables")

    def job_path(self, name: str) -> Path:
        return self.folder / JOBS / f"{name}.json"

    def jobs(self) -> list[Any]:
        """Return what each of the study's own jobs found, in the order of their names; checked."""
        return [read_job(path) for path in sorted(self.job_path("*").parent.glob("*.json"))]

    @property
    def reduced(self) -> "StudyFolder":
        """The study on little, which every run builds."""
        return StudyFolder(self.folder / "reduced")


def write_job(path: Path, found: Any) -> None:
    """Write what a study's job found, as plain data, with its checksum: the file is its own stamp."""
    write_json(path, {"schema": SCHEMA, "sha256": _sha256_of(found), "found": found})


def read_job(path: Path) -> Any:
    """Read what `write_job` wrote. Raises GradrankError where the file was damaged or edited."""
    said = read_json(path)
    if not isinstance(said, dict) or "found" not in said or said.get("sha256") != _sha256_of(said["found"]):
        raise GradrankError(f"{path}: damaged or edited. Fix: {REPAIR}")
    return said["found"]


def _sha256_of(found: Any) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Results(Folder):
    """results/, or a folder that is laid out like it."""

    folder: Path = Path("results")

    tracked_path = Below("tracked.json")
    report_path = Below("report.html")
    per_query_path = Below(PER_QUERY)
    metrics_path = Below("metrics.json")
    means_path = Below("methods.csv")
    run_path = Below(RUN)

    @property
    def project(self) -> Path:  # with params.yaml and the code
        return self.folder.resolve().parent

    def dataset(self, name: str) -> DatasetFolder:
        return DatasetFolder(self.folder / name)

    def datasets(self) -> list[DatasetFolder]:
        """Return the data sets with a summary, a record or any file of a method, by name."""
        inside = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [each for each in map(DatasetFolder, inside) if each.summarised or each.recorded or each.methods()]

    def study(self, name: str) -> StudyFolder:
        return StudyFolder(self.folder / STUDIES / name)

    def studies(self) -> dict[str, StudyFolder]:
        """Return the studies that are finished or recorded, by name; a reduced form as <study>/reduced."""
        studies = [StudyFolder(folder) for folder in sorted((self.folder / STUDIES).glob("*/"))]
        forms = [form for study in studies for form in (study, study.reduced)]
        there = [form for form in forms if form.recorded or form.numbers_path.is_file()]
        return {str(form.folder.relative_to(self.folder / STUDIES)): form for form in there}
