"""The layout of results/. Other modules get the paths of its files from the classes of this module.

    report.html, report/, tracked.json  the report with its tables and figures, and the ids of the MLflow runs
    per_query.parquet, methods.csv, metrics.json, run.json   values per test query and means for DVC; their checksums
    plots/curves/, plots/queries/       one CSV file per data set and method, which DVC draws
    studies/<study>/[reduced/]          page.json, page.md, numbers.json, tables/, the parts (parts.py), provenance.json
    <dataset>/                          summary.json, summary.md, queries.parquet, tables/, provenance.json
    <dataset>/printed.json              the means that the last report printed; belongs to no stamp
    <dataset>/explanations.json         what the best methods learned; contains its own checksum
    <dataset>/methods/<method>/         per_query.parquet, evaluation.json
    <dataset>/methods/<method>/fold<k>/ model/, scores.parquet, history.parquet, timing.json, spec.json

The folder methods/ contains all trained models, scores and values per query of a data set, and no file that is in git,
so that DVC can hold it. In each line, the last file is the stamp of the folder: a file with the checksums of the other
files (see stamps.py). The targets `snakemake <dataset>` and `snakemake <study>` also write report.html, report/ and
tracked.json into the folder of that data set or study.

If a method is trained with several seeds, the files of the first seed are in fold<k>/, and the files of a further seed
s are in fold<k>/seed<s>/. The classes return paths whether or not the files exist. Methods of these classes that read a
file raise FileNotFoundError if the file does not exist, and GradrankError if its JSON is damaged.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradrank.base.files import read_json
from gradrank.base.stamps import TABLES, check_file
from gradrank.bench.parts import JOBS, Parts, read_job
from gradrank.training.fold_folder import Below, Folder, FoldFolder

METHODS = "methods"  # a folder in the folder of each data set
STUDIES, PLOTS = "studies", "plots"  # folders in results/; therefore no data set may have these names
PROVENANCE, SUMMARY, PER_QUERY = "provenance.json", "summary.json", "per_query.parquet"

EVALUATION, RUN, PAGE = "evaluation.json", "run.json", "page.json"
EXPLANATIONS = "explanations.json"


_FOLD, _SEED = re.compile(r"fold(\d+)"), re.compile(r"seed(\d+)")


class Recorded(Folder):
    """A folder with a record: a provenance.json that lists the inputs of its files."""

    provenance_path = Below(PROVENANCE)

    @property
    def recorded(self) -> bool:
        return self.provenance_path.is_file()

    def provenance(self) -> dict[str, Any]:
        """Return the content of provenance.json, which `gradrank.bench.provenance` writes."""
        return read_json(self.provenance_path)


class NumberedFold(FoldFolder):
    """A fold in results/: fold<k>/, or fold<k>/seed<s>/ for a further seed."""

    @classmethod
    def holding(cls, path: Path | str) -> "NumberedFold | None":
        """Return the fold that contains a file of results/; None if the file is not in a fold."""
        folders = (cls(folder) for folder in Path(path).parents)
        return next((fold for fold in folders if _FOLD.fullmatch(fold.numbered.name)), None)

    @property
    def seed(self) -> int | None:
        """The seed s of fold<k>/seed<s>/; None for fold<k>/, which has the results of the first seed."""
        return int(match[1]) if (match := _SEED.fullmatch(self.name)) else None

    @property
    def number(self) -> int:
        """The number k of fold<k>/."""
        match = _FOLD.fullmatch(self.numbered.name)
        if match is None:
            raise ValueError(f"{self.folder}: not a folder fold<k> or fold<k>/seed<s>")
        return int(match[1])

    @property
    def method(self) -> "MethodFolder":
        return MethodFolder(self.numbered.parent)

    @property
    def numbered(self) -> Path:
        """The folder fold<k>/: this folder, or its parent if this is the folder of a further seed."""
        return self.folder if self.seed is None else self.folder.parent


class MethodFolder(Folder):
    """The folder results/<dataset>/methods/<method>/ with the results of a method on one data set."""

    per_query_path = Below(PER_QUERY)
    evaluation_path = Below(EVALUATION)

    @property
    def dataset(self) -> str:
        return self.dataset_folder.name

    @property
    def dataset_folder(self) -> "DatasetFolder":
        return DatasetFolder(self.folder.parent.parent)

    @property
    def evaluated(self) -> bool:
        return self.per_query_path.is_file()

    def check(self) -> None:
        """Raise GradrankError if the checksum of per_query.parquet differs from the one in evaluation.json."""
        check_file(self.evaluation_path, self.per_query_path)

    @property
    def begun(self) -> bool:
        """True if any file of the method exists."""
        return self.evaluated or any(_FOLD.fullmatch(path.name) for path in self.folder.glob("fold*"))

    def fold(self, number: int, seed: int | None = None) -> NumberedFold:
        folder = self.folder / f"fold{number}"
        return NumberedFold(folder if seed is None else folder / f"seed{seed}")

    def folds(self) -> list[NumberedFold]:
        """Return the finished folds, sorted by number and seed. Folds of seeds outside params.yaml are included."""
        folders = [path for path in self.folder.glob("fold*") if _FOLD.fullmatch(path.name)]
        folders += [path for folder in folders for path in folder.glob("seed*") if _SEED.fullmatch(path.name)]
        finished = [fold for fold in map(NumberedFold, folders) if fold.finished]
        return sorted(finished, key=lambda fold: (fold.number, -1 if fold.seed is None else fold.seed))


class DatasetFolder(Recorded):
    """The folder results/<dataset>/ with the methods and their summary."""

    methods_path = Below(METHODS)
    summary_path = Below(SUMMARY)
    summary_page_path = Below("summary.md")
    queries_path = Below("queries.parquet")
    printed_path = Below("printed.json")
    explanations_path = Below(EXPLANATIONS)
    tables_path = Below(TABLES)

    @property
    def summarised(self) -> bool:
        return self.summary_path.is_file()

    def summary(self) -> dict[str, dict[str, float | None]]:
        """Return the means under the primary convention, rounded to four decimals: {method: {metric: mean}}.

        An undefined mean has the value None.
        """
        return read_json(self.summary_path)

    def method(self, name: str) -> MethodFolder:
        return MethodFolder(self.methods_path / name)

    def methods(self) -> list[MethodFolder]:
        """Return the methods that have at least one file, sorted by name."""
        folders = sorted(self.methods_path.iterdir()) if self.methods_path.is_dir() else []
        return [method for method in map(MethodFolder, folders) if method.begun]


class StudyFolder(Recorded):
    """The folder results/studies/<study>/ of a study or of its reduced form."""

    page_path = Below(PAGE)
    markdown_path = Below("page.md")
    numbers_path = Below("numbers.json")
    tables_path = Below(TABLES)

    @property
    def job_parts(self) -> Parts:
        """The results of the study's own jobs."""
        return Parts(self.folder, JOBS)

    def job_path(self, name: str) -> Path:
        return self.job_parts.path(name)

    def jobs(self) -> list[Any]:
        """Return the results of the study's own jobs, sorted by job name.

        Raises GradrankError if a file does not match its checksum.
        """
        return [self.job(name) for name in self.job_names()]

    def job_names(self) -> list[str]:
        """Return the sorted names of the study's own jobs that have results."""
        return [str(name) for (name,) in self.job_parts.existing()]

    def job(self, name: str) -> Any:
        """Return the result of one of the study's own jobs."""
        parts = self.job_parts
        return read_job(parts.path(name)) if parts.are_unpacked else json.loads(parts.read(name)["found"][0])

    @property
    def reduced(self) -> "StudyFolder":
        """The folder of the reduced form of the study. Plain `snakemake` builds the reduced form."""
        return StudyFolder(self.folder / "reduced")


@dataclass(frozen=True)
class Results(Folder):
    """The folder results/, or a folder with the same layout."""

    folder: Path = Path("results")

    tracked_path = Below("tracked.json")
    report_path = Below("report.html")
    per_query_path = Below(PER_QUERY)
    metrics_path = Below("metrics.json")
    means_path = Below("methods.csv")
    run_path = Below(RUN)
    curves_path = Below(f"{PLOTS}/curves")
    query_values_path = Below(f"{PLOTS}/queries")

    @property
    def project(self) -> Path:  # the folder with params.yaml and the code
        return self.folder.resolve().parent

    def dataset(self, name: str) -> DatasetFolder:
        return DatasetFolder(self.folder / name)

    def datasets(self) -> list[DatasetFolder]:
        """Return the data sets that have a summary, a record or a file of a method, sorted by name."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        datasets = map(DatasetFolder, folders)
        return [dataset for dataset in datasets if dataset.summarised or dataset.recorded or dataset.methods()]

    def study(self, name: str) -> StudyFolder:
        return StudyFolder(self.folder / STUDIES / name)

    def studies(self) -> dict[str, StudyFolder]:
        """Return a dict from name to folder of the studies that are finished or have a record.

        The name of a reduced form is <study>/reduced.
        """
        studies = [StudyFolder(folder) for folder in sorted((self.folder / STUDIES).glob("*/"))]
        forms = [form for study in studies for form in (study, study.reduced)]
        finished = [form for form in forms if form.recorded or form.numbers_path.is_file()]
        return {str(form.folder.relative_to(self.folder / STUDIES)): form for form in finished}
