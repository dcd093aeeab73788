"""Everything that the report shows, read from results/ and data/parquet/ once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base import results
from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.base.git import revision
from gradrank.base.results import SUMMARY, Results
from gradrank.base.stamps import read_sealed
from gradrank.config.params_file import read
from gradrank.data.part_files import COLLECTION
from gradrank.data.sources.catalogue import catalogue
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.per_query import read_test_queries
from gradrank.evaluation.primary import primary_convention
from gradrank.evaluation.seeds import measured_folds, timings
from gradrank.report.tables.summary_tables import means, read_tables, warnings
from gradrank.report.tables.table import Row

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ReportedFold:
    """What one training job left; `history` holds its columns, `step` among them, empty without any step.

    further: whether it is of another seed than the first.
    """

    number: int
    history: dict[str, list[float | None]]
    spec: dict[str, Any]
    further: bool = False


@dataclass(frozen=True)
class ReportedDataset:
    """One data set's results. `tables` is empty where only the committed summary.json is here.

    convention: the primary one, of `summary`. warnings: what is to be said of its short lists and of its files' order.
    queries: (q,) values of the headline metric by model, the queries in one order; empty where they differ.
    costs: of the models whose times are here.
    """

    name: str
    title: str
    convention: str
    summary: dict[str, dict[str, float | None]]
    tables: dict[str, list[Row]]
    queries: dict[str, "np.ndarray"]
    folds: dict[str, list[ReportedFold]]
    meta: dict[str, Any] | None
    notices: list[str]
    costs: dict[str, Cost] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def here(self) -> bool:
        """Whether it was run here; otherwise means that were committed, of a run whose settings nobody knows here."""
        return bool(self.tables)

    @property
    def explained(self) -> set[str]:
        """The methods whose parameters are here."""
        return {model for model, folds in self.folds.items() if folds}

    @cached_property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for means in self.summary.values() for metric in means))

    @cached_property
    def headline(self) -> str:
        """The metric of the plots that show one."""
        return headline(self.summary)

    def ranked(self) -> list[str]:
        """Models, best first by the headline metric."""
        return sorted(self.summary, key=lambda model: -(self.summary[model].get(self.headline) or 0.0))


def measures(datasets: Sequence[ReportedDataset]) -> str:
    """The headline metrics and their conventions in words; each with its data sets where they differ."""
    found: dict[str, list[str]] = {}
    for each in datasets:
        found.setdefault(f"{metric_label(each.headline)} under `{each.convention}`", []).append(each.name)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{shown} ({', '.join(names)})" for shown, names in found.items())


def headline(summary: dict[str, dict[str, float | None]]) -> str:
    """NDCG@10 if it was measured, else the first metric."""
    metrics = next(iter(summary.values()))
    return "ndcg@10" if "ndcg@10" in metrics else next(iter(metrics))


@dataclass(frozen=True)
class Contents:
    """What was run: data sets and studies (the page of each) by name, and the data sets that are not finished."""

    datasets: list[ReportedDataset]
    studies: list[dict[str, Any]]
    unfinished: list[str]
    params: str | None
    revision: str | None

    @property
    def here(self) -> list[ReportedDataset]:
        return [dataset for dataset in self.datasets if dataset.here]

    @property
    def committed(self) -> list[ReportedDataset]:
        return [dataset for dataset in self.datasets if not dataset.here]


def read_contents(
    found: Results,
    convention: str,
    params: Path,
    data: Path,
    only: tuple[Collection[str], Collection[str]] | None = None,
) -> Contents:
    """Read every data set with a summary and every finished study.

    convention: of data sets that params.yaml names no primary one for. only: the names of the data sets and of the
    studies to read, if not all.
    Raises GradrankError where there is none, and no study either.
    """
    datasets, pages = found.datasets(), study_pages(found)
    if only is not None:
        datasets = [each for each in datasets if each.name in only[0]]
        pages = [page for page in pages if page["name"] in only[1]]
    finished = [each for each in datasets if each.summarised]
    if not finished and not pages:
        raise GradrankError(f"{found.folder}: no data set with a {SUMMARY}; run `snakemake --cores 2` first")
    text = params.read_text(encoding="utf-8") if params.is_file() else None
    values = read(params) if text else {}
    titles = _titles(values)
    on_pages = {model for page in pages for model in page.get("models", ())}
    return Contents(
        datasets=[
            _read_dataset(
                each,
                titles.get(each.name, each.name),
                primary_convention(values, each.name, convention),
                data,
                on_pages,
            )
            for each in finished
        ],
        studies=pages,
        unfinished=[each.name for each in datasets if not each.summarised],
        params=text,
        revision=revision(found.project),
    )


def study_pages(root: Results) -> list[dict[str, Any]]:
    """page.json of every finished study, by name; of one that is not its reduced form's, where that is."""
    studies = [root.study(folder.name) for folder in sorted((root.folder / results.STUDIES).glob("*/"))]
    forms = ((each.page_path, each.reduced.page_path) for each in studies)
    found = (next((path for path in paths if path.is_file()), None) for paths in forms)
    return [read_sealed(path) for path in found if path]


def _titles(params: Mapping[str, Any]) -> dict[str, str]:
    """What a data set is called: in the catalogue, or by the user in params.yaml."""
    own = params.get("datasets") or {}
    titles = {name: entry.title for name, entry in catalogue().items()}
    return titles | {name: values["title"] for name, values in own.items() if (values or {}).get("title")}


def _read_dataset(
    own: results.DatasetFolder, title: str, convention: str, data: Path, on_pages: set[str]
) -> ReportedDataset:
    """on_pages: models, beside those of the summary, that a study's page is about."""
    summary = own.summary()
    tables, notices = read_tables(own.tables_path), []
    if tables["main"]:
        if means(tables["main"], convention) != summary:
            notices.append(
                f"{SUMMARY} and the tables differ under {convention}: they are of different runs or "
                f"conventions. Run `snakemake {own.name}` again."
            )
    else:
        tables = {}
        notices.append(
            "Only the committed means are here, of a run elsewhere whose settings need not be those of this "
            "params.yaml. Intervals, plots and tests need the per-query values: run "
            f"`snakemake {own.name}`."
        )
    others = [method.name for method in own.methods() if method.evaluated]
    if left := [model for model in others if model not in summary and model not in on_pages]:
        notices.append(f"Evaluated, but not part of this summary: {', '.join(left)}.")
    meta = data / own.name / COLLECTION
    costs = {model: Cost.of(timings(own.method(model))) for model in summary} if tables else {}
    return ReportedDataset(
        name=own.name,
        title=title,
        convention=convention,
        summary=summary,
        tables=tables,
        queries=_read_queries(own, summary, convention) if tables else {},
        folds={model: _read_folds(own.method(model)) for model in summary} if tables else {},
        costs={model: cost for model, cost in costs.items() if cost},
        meta=read_json(meta) if meta.is_file() else None,
        notices=notices,
        warnings=warnings(tables, own.name, convention),
    )


def _read_queries(own: results.DatasetFolder, summary: dict[str, Any], convention: str) -> dict[str, "np.ndarray"]:
    """Values of the headline metric under `convention`; none where files are missing or of other queries."""
    metric = headline(summary)
    methods = [own.method(model) for model in summary]
    if not all(method.evaluated for method in methods):
        return {}
    for method in methods:
        method.check()
    measured = {method.name: read_test_queries(method.per_query_path, [metric]).get(convention) for method in methods}
    first = next(iter(measured.values()))
    if first is None or not all(each and each.same_queries(first) for each in measured.values()):
        return {}
    return {model: each.values[metric] for model, each in measured.items()}


def _read_folds(method: results.MethodFolder) -> list[ReportedFold]:
    """The finished folds of every seed, in numerical order."""
    return [
        ReportedFold(
            number=fold.number,
            history=fold.history().to_dict(as_series=False) if fold.history_path.is_file() else {},
            spec=fold.spec(),
            further=fold.seed is not None,
        )
        for fold in measured_folds(method)
    ]
