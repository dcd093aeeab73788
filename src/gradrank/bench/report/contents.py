"""Read the content of the report from results/ and data/parquet/, or from the files of a data set that are in git."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256
from gradrank.base.stamps import check_names, read_sealed
from gradrank.base.text_tables import is_missing
from gradrank.bench import results
from gradrank.bench.config.params_file import read
from gradrank.bench.config.studies import settings_path
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues, measured_folds, read_compact, read_test_queries, timings
from gradrank.bench.folds.settings import BASELINE, baseline_of, primary_convention
from gradrank.bench.git import revision
from gradrank.bench.report.tables.dataset_values import DatasetValues, baseline_rows, headline_metric
from gradrank.bench.report.tables.summary_tables import (
    DEFINITIONS,
    Caution,
    cautions,
    feature_cautions,
    means,
    read_tables,
)
from gradrank.bench.report.tables.table import Row, Table
from gradrank.bench.results import SUMMARY, DatasetFolder, Results
from gradrank.data.part_files import COLLECTION
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.metrics import metric_label

Summary = Mapping[str, Mapping[str, float | None]]


class CommittedResults(NamedTuple):
    """The content of the committed files.

    convention: the convention of the values. tables: rows of the tables `main`, `folds`, `baseline`, `published`,
    `published_bands` and `published_runs`.
    """

    convention: str
    tables: dict[str, list[Row]]


def read_committed(dataset: DatasetFolder, summary: Summary, convention: str, baseline: str) -> CommittedResults:
    """Return the tables of a data set without tables.

    convention: the convention if there is no queries.parquet. baseline: the method that the others are compared with.
    The means are those of summary.json. If queries.parquet is missing or belongs to other means, there are no
    intervals, no published values and no tests.
    """
    measures = committed_values(dataset, summary, convention, baseline)
    convention, has_values = measures.primary, bool(measures.values)
    tables = {"main": list(mean_rows(summary, measures)), "folds": [], "published": []}
    if has_values:
        tables["folds"] = list(_folds(measures))
        for name in ("baseline", "published", "published_bands", "published_runs"):
            tables[name] = Table(name, "", DEFINITIONS[name].columns, DEFINITIONS[name].rows(measures)).rows
    return CommittedResults(convention, tables)


def committed_values(dataset: DatasetFolder, summary: Summary, convention: str, baseline: str) -> DatasetValues:
    """Return the values of queries.parquet under their primary convention.

    Without queries.parquet, and if it belongs to other means, there are no values, and the convention is `convention`.
    """
    measured, values = read_compact(dataset.queries_path) if dataset.queries_path.is_file() else ("", {})
    if not _belong_together(values, summary):
        return DatasetValues(dataset.name, convention, {}, baseline=baseline)
    by_convention = {model: {measured: of} for model, of in values.items()}
    return DatasetValues(dataset.name, measured, by_convention, baseline=baseline)


def _belong_together(values: Mapping[str, QueryValues], summary: Summary) -> bool:
    """Return whether the values have the methods and the means of the summary, and all the same queries."""
    if values.keys() != summary.keys():
        return False
    first = next(iter(values.values()))
    return all(
        of.same_queries(first) and all(_is_mean(of.mean(metric), summary[model].get(metric)) for metric in of.values)
        for model, of in values.items()
    )


def _is_mean(mean: float, stored: float | None) -> bool:
    return np.isnan(mean) if stored is None else abs(mean - stored) < 6e-5  # half of the last digit, and rounding


def mean_rows(summary: Summary, measures: DatasetValues) -> Iterator[Row]:
    """Yield rows of the table main. Metrics without values per query have no half width and no p value."""
    convention, best = measures.primary, measures.best if measures.values else {}
    for model, own_means in summary.items():
        values = measures.values[model][convention] if measures.values else None
        for metric, mean in own_means.items():
            half = values.half_width(metric) if values and metric in values.values else None
            row = {"convention": convention, "model": model, "metric": metric, "mean": mean}
            own = best.get((convention, model, metric))
            yield row | {"half_width": None if is_missing(half) else half, "p_best": own.p if own else None}


def _folds(measures: DatasetValues) -> Iterator[Row]:
    """Yield rows of the table folds."""
    convention = measures.primary
    for model, by_convention in measures.values.items():
        values = by_convention[convention]
        for metric in values.values:
            for fold, (mean, _) in values.fold_means(metric).items():
                yield {"convention": convention, "model": model, "metric": metric, "fold": fold, "mean": mean}


@dataclass(frozen=True)
class ReportedFold:
    """The results of one training job.

    history: columns of the training history. One of them is `step`. The dict is empty if the model has no steps.
    is_additional_seed: True for every seed but the first.
    """

    number: int
    history: dict[str, list[float | None]]
    spec: dict[str, Any]
    is_additional_seed: bool = False


@dataclass(frozen=True)
class ReportedDataset:
    """The results of one data set.

    convention: the primary convention. The means in `summary` follow this convention. summary: mean of each metric. The
    outer keys are the models, and the inner keys are the metrics. tables: rows of each table. The keys are the names of
    the tables. Committed results have only the tables of `read_committed`. queries: (q,) values of the
    headline metric for each model. The queries are in the same order for every model. The dict is empty if values are
    missing, if the models were evaluated on different queries, and for committed results. folds: the finished folds of
    each model. meta: content of collection.json of the stored collection, or None if the file is missing. notices:
    remarks on the state of the results. costs: the cost of each model. Models without stored times are left out.
    cautions: cautions about short lists and tied scores. comparisons: rows of the table baseline for the headline
    metric. was_run_here: True if the results were computed in this folder, False if they were committed. The settings
    of committed results are unknown. explanations: content of explanations.json, and under the key `is_current` whether
    the explained folds and the summary have not changed since; None if the file is missing.
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
    cautions: list[Caution] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    was_run_here: bool = True
    explanations: dict[str, Any] | None = None

    @property
    def is_artificial(self) -> bool:
        """True if the data are generated."""
        return self.name in catalogue() and catalogue()[self.name].generator is not None

    @property
    def baseline(self) -> str | None:
        """The method that the others are compared with; None without comparisons."""
        return self.comparisons[0]["baseline"] if self.comparisons else None

    @cached_property
    def better(self) -> frozenset[str] | None:
        """Methods that are better than the baseline; None if this was not decided."""
        if not self.comparisons or self.comparisons[0]["decision"] is None:
            return None
        return frozenset(row["model"] for row in self.comparisons if row["decision"] == "better")

    @property
    def methods_with_parameters(self) -> set[str]:
        """Names of the methods whose parameters are known because they have a trained fold."""
        return {model for model, folds in self.folds.items() if folds}

    @cached_property
    def metrics(self) -> list[str]:
        """Names of the metrics in `summary`."""
        return list(dict.fromkeys(metric for means in self.summary.values() for metric in means))

    @cached_property
    def headline(self) -> str:
        """Name of the metric in plots that show only one metric."""
        return headline(self.summary)

    def headline_rows(self) -> dict[str, Row]:
        """Return the row of each model in the table main, for the headline metric under the primary convention."""
        key = (self.headline, self.convention)
        return {row["model"]: row for row in self.tables.get("main", []) if (row["metric"], row["convention"]) == key}

    def model_of(self, method: str) -> str:
        """Return the name of the model that a method is a variant of."""
        folds = self.folds.get(method)
        return folds[0].spec["model"] if folds else method.split("-")[0]

    def ranked(self) -> list[str]:
        """Return the names of the models, sorted by the mean of the headline metric, best first."""
        return sorted(self.summary, key=lambda model: -(self.summary[model].get(self.headline) or 0.0))


def headline_text(datasets: Sequence[ReportedDataset]) -> str:
    """Return the headline metric and convention as text, such as "NDCG@10 under `letor4`".

    If the data sets have different headline metrics or conventions, each is followed by the names of its data sets.
    """
    names: dict[str, list[str]] = {}
    for dataset in datasets:
        text = f"{metric_label(dataset.headline)} under `{dataset.convention}`"
        names.setdefault(text, []).append(dataset.name)
    if len(names) == 1:
        return next(iter(names))
    return ", ".join(f"{text} ({', '.join(group)})" for text, group in names.items())


def headline(summary: dict[str, dict[str, float | None]]) -> str:
    """Return the name of the headline metric of a summary."""
    return headline_metric(next(iter(summary.values())))


@dataclass(frozen=True)
class Contents:
    """The content of the report.

    datasets: the data sets with a summary. Real data come before artificial data, and results of this folder before
    committed results. studies: content of page.json of each study, sorted by name.
    unfinished: names of the data sets without a summary. settings: text of params.yaml, if there is such a file,
    and of the settings of the studies that it shows; the key is the path of the file.
    revision: git revision of the project, or None if it is unknown.
    """

    datasets: list[ReportedDataset]
    studies: list[dict[str, Any]]
    unfinished: list[str]
    settings: dict[str, str]
    revision: str | None

    @property
    def run_here(self) -> list[ReportedDataset]:
        """Data sets that were run in this folder."""
        return [dataset for dataset in self.datasets if dataset.was_run_here]

    @property
    def committed(self) -> list[ReportedDataset]:
        """Data sets with committed results only."""
        return [dataset for dataset in self.datasets if not dataset.was_run_here]


def read_contents(
    root: Results,
    convention: str,
    params: Path,
    data: Path,
    only: tuple[Collection[str], Collection[str]] | None = None,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> Contents:
    """Read every data set with a summary and every finished study.

    convention: the primary convention of data sets for which params.yaml does not specify one. params: path of
    params.yaml. data: folder of the Parquet collections. only: (names of data sets, names of studies) to read; None for
    all. missing: methods per data set that are not finished.
    Raises GradrankError if there is neither a data set with a summary nor a finished study to read.
    """
    datasets, pages = root.datasets(), study_pages(root)
    if only is not None:
        datasets = [dataset for dataset in datasets if dataset.name in only[0]]
        pages = [page for page in pages if page["name"] in only[1]]
    finished = [dataset for dataset in datasets if dataset.summarised]
    if not finished and not pages:
        raise GradrankError(f"{root.folder}: no data set with a {SUMMARY}. Fix: run `snakemake --cores 2` first")
    values = read(params) if params.is_file() and params.stat().st_size else {}
    titles = _titles(values)
    on_pages = {model for page in pages for model in page.get("models", ())}
    reported = []
    for dataset in finished:
        read_one = read_dataset(
            dataset,
            titles.get(dataset.name, dataset.name),
            primary_convention(values, dataset.name, convention),
            data,
            on_pages,
            baseline_of(values),
        )
        notices = [*_unfinished_methods((missing or {}).get(dataset.name, ())), *read_one.notices]
        reported.append(replace(read_one, notices=notices, explanations=_read_explanations(dataset)))
    known = {dataset.name for dataset in datasets}
    return Contents(
        datasets=sorted(reported, key=lambda dataset: (not dataset.was_run_here, dataset.is_artificial)),
        studies=pages,
        unfinished=[
            *(dataset.name for dataset in datasets if not dataset.summarised),
            *(name for name in missing or () if name not in known),
        ],
        settings=_settings(params, pages),
        revision=revision(root.project),
    )


def _settings(params: Path, pages: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the text of params.yaml and of the settings of the studies with these pages, as far as there are files."""
    project = params.parent
    studies = dict.fromkeys(settings_path(page["name"], project) for page in pages)
    files = (path for path in (params, *studies) if path.is_file())
    return {path.relative_to(project).as_posix(): path.read_text(encoding="utf-8") for path in files}


def study_pages(root: Results) -> list[dict[str, Any]]:
    """Return the content of page.json of every finished study, sorted by name.

    If only the reduced form of a study is finished, the page of the reduced form is returned.
    """
    studies = [root.study(folder.name) for folder in sorted((root.folder / results.STUDIES).glob("*/"))]
    candidates = ((study.page_path, study.reduced.page_path) for study in studies)
    pages = (next((path for path in paths if path.is_file()), None) for paths in candidates)
    return [read_sealed(path) for path in pages if path]


def _titles(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the title of each data set. Titles in params.yaml take precedence over those in the catalogue."""
    datasets = params.get("datasets") or {}
    titles = {name: entry.title for name, entry in catalogue().items()}
    return titles | {name: values["title"] for name, values in datasets.items() if (values or {}).get("title")}


def read_dataset(
    dataset: results.DatasetFolder,
    title: str,
    convention: str,
    data: Path,
    on_pages: Collection[str] = (),
    baseline: str = BASELINE,
) -> ReportedDataset:
    """Read the results of one data set.

    convention: the primary convention. data: folder of the Parquet collections. on_pages: models that appear on pages
    of studies; they are not reported as omitted from the summary. baseline: the method that the others are compared
    with, if the tables do not name it.
    """
    summary = dataset.summary()
    tables, notices = read_tables(dataset.tables_path), []
    was_run_here = bool(tables["main"])
    queries = _read_queries(dataset, summary, convention) if was_run_here else {}
    if was_run_here:
        tested = (headline(summary), convention)
        comparisons = [row for row in tables["baseline"] if (row["metric"], row["convention"]) == tested]
        if queries and not comparisons:  # the table has one convention
            values = {model: {convention: of} for model, of in queries.items()}
            comparisons = list(baseline_rows(DatasetValues(dataset.name, convention, values, baseline=baseline)))
        if means(tables["main"], convention) != summary:
            notices.append(
                f"{SUMMARY} and the tables differ under {convention}: they are from different runs or "
                f"conventions. Run `snakemake {dataset.name}` again."
            )
    else:
        convention, tables = read_committed(dataset, summary, convention, baseline)
        comparisons = [row for row in tables.get("baseline", []) if row["metric"] == headline(summary)]
        notices.append(
            "These results are part of the checkout. They come from another run, whose settings may differ from this "
            "params.yaml. For the other intervals, the tests of all pairs, the curves and the costs, run "
            f"`snakemake {dataset.name}`."
        )
    notices += _models_outside(dataset, {*summary, *on_pages})
    meta = data / dataset.name / COLLECTION
    description = read_json(meta) if meta.is_file() else None
    costs = {model: Cost.of(timings(dataset.method(model))) for model in summary} if was_run_here else {}
    return ReportedDataset(
        name=dataset.name,
        title=title,
        convention=convention,
        summary=summary,
        tables=tables,
        queries={model: values.values[headline(summary)] for model, values in queries.items()},
        folds={model: _read_folds(dataset.method(model)) for model in summary} if was_run_here else {},
        costs={model: cost for model, cost in costs.items() if cost},
        meta=description,
        notices=notices,
        cautions=[*cautions(tables, dataset.name, convention), *feature_cautions(description)],
        comparisons=comparisons,
        was_run_here=was_run_here,
    )


def _unfinished_methods(missing: Sequence[str]) -> list[str]:
    """Return a remark on the methods that the tables lack because they are not finished; empty if `missing` is."""
    if not missing:
        return []
    return [
        f"Not finished, and therefore not compared: {', '.join(missing)}. The tests and the choice of the best method "
        "change when these methods are finished."
    ]


def _models_outside(dataset: results.DatasetFolder, shown: Collection[str]) -> Iterator[str]:
    """Yield remarks on trained models that are not in the summary. shown: models of the summary and of studies."""
    members = dataset.provenance().get("members", {}) if dataset.recorded else {}
    if members:
        yield (
            f"Also trained as members of a fusion: {', '.join(members)}. To list them as results, name them in "
            "`run.models`."
        )
    evaluated = [method.name for method in dataset.methods() if method.evaluated]
    if omitted := [model for model in evaluated if model not in {*shown, *members}]:
        yield f"Evaluated, but not part of this summary: {', '.join(omitted)}."


def _read_explanations(dataset: results.DatasetFolder) -> dict[str, Any] | None:
    if not dataset.explanations_path.is_file():
        return None
    content = read_sealed(dataset.explanations_path)
    check_names(dataset.explanations_path, content.get("inputs", [None]))
    paths = {dataset.folder / name: digest for name, digest in content["inputs"].items()}
    return content | {"is_current": all(path.is_file() and sha256(path) == digest for path, digest in paths.items())}


def _read_queries(dataset: results.DatasetFolder, summary: dict[str, Any], convention: str) -> dict[str, QueryValues]:
    """Return the values of the headline metric for each model.

    The dict is empty if values are missing or the models were evaluated on different queries.
    """
    metric = headline(summary)
    methods = [dataset.method(model) for model in summary]
    if not all(method.evaluated for method in methods):
        return {}
    for method in methods:
        method.check()
    measured: dict[str, QueryValues] = {}
    for method in methods:
        values = read_test_queries(method.per_query_path, [metric]).get(convention)
        if values is None:
            return {}
        measured[method.name] = values
    first = next(iter(measured.values()))
    if not all(values.same_queries(first) for values in measured.values()):
        return {}
    return measured


def _read_folds(method: results.MethodFolder) -> list[ReportedFold]:
    """Return the finished folds of a method for every seed."""
    return [
        ReportedFold(
            number=fold.number,
            history=fold.history().to_dict(as_series=False) if fold.history_path.is_file() else {},
            spec=fold.spec(),
            is_additional_seed=fold.seed is not None,
        )
        for fold in measured_folds(method)
    ]
