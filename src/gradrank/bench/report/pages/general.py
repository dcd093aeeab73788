"""The pages that cover all data sets: Overview, Methods, Reading, Provenance, and one page per study.

The Overview has one sentence and one plot per data set. The page Methods has the publications of each method, and its
parameters with the sources of their defaults. The page Reading explains conventions, intervals and tests. The page
Provenance has the data, parameters, seeds and package versions that the numbers were computed from. The page of a study
recreates tables and figures of a publication next to the published numbers.
"""

import json
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gradrank.bench.report.contents import Contents, ReportedDataset, ReportedFold, headline_text
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.plots.row_plots import IntervalPlot, intervals
from gradrank.bench.report.plots.svg import stacked
from gradrank.bench.report.refit_command import best_refittable, refit_arguments
from gradrank.bench.report.standings import standings
from gradrank.bench.report.tables.table import BOLD, VERDICT, descending, in_bold
from gradrank.bench.results import Results
from gradrank.data.part_files import GIVEN
from gradrank.measures.conventions import CONVENTIONS
from gradrank.training.literature import Reference, named
from gradrank.training.model import Model
from gradrank.training.registry import models


def overview_pages(contents: Contents) -> list[Page]:
    """Return a list with one page, or [] in the report of a study, which has no data set of its own."""
    if not contents.datasets and not contents.unfinished:
        return []
    costs = [cost for dataset in contents.run_here for cost in dataset.costs.values()]
    results = [_results(dataset) for dataset in contents.datasets]
    body = render_page(
        "overview.html",
        contents=contents,
        rule=BOLD,
        results=results,
        here=_overview(contents.run_here),
        committed=_overview(contents.committed),
        linked={model for dataset in contents.datasets for model in dataset.methods_with_parameters},
        jobs=sum(cost.jobs for cost in costs),
        job_seconds=sum(cost.seconds for cost in costs),
    )
    return [Page("overview", "Overview", body, {name: figure for each in results for name, figure in each.figures()})]


@dataclass(frozen=True)
class DatasetResults:
    """The results of one data set on the page. answer: one sentence on the tests. plot: None if there are no means."""

    dataset: ReportedDataset
    answer: str
    plot: IntervalPlot | None

    def figures(self) -> list[tuple[str, Markup]]:
        """Return (file name without suffix, drawing) of the plot."""
        if self.plot is None:
            return []
        return [(f"{self.dataset.name}/intervals", stacked(self.plot.strips, self.plot.axis, ".4f", self.plot.level))]


def _results(dataset: ReportedDataset) -> DatasetResults:
    ranked = standings(dataset)
    answer = ranked.answer()
    if best := best_refittable(row.model for row in ranked.rows):
        command = f"gradrank {refit_arguments(Results().dataset(dataset.name), best)}"
        answer += f" To train `{best}` on all queries, for new data: `{command}`."
    return DatasetResults(dataset, answer, intervals(ranked))


@dataclass(frozen=True)
class OverviewTable:
    """A table of the mean of the headline metric for each model on each data set.

    models: names of the models, sorted by their mean on the first data set, best first. bold: the models in bold of
    each data set. headline_text: the metric and its convention as text.
    """

    datasets: list[ReportedDataset]
    models: list[str]
    means: dict[str, dict[str, float | None]]
    bold: dict[str, set[str]]
    headline_text: str


def _overview(datasets: list[ReportedDataset]) -> OverviewTable | None:
    if not datasets:
        return None
    means = {
        dataset.name: {model: means.get(dataset.headline) for model, means in dataset.summary.items()}
        for dataset in datasets
    }
    first = means[datasets[0].name]
    models = sorted({model for column in means.values() for model in column})
    models.sort(key=lambda model: descending(first.get(model)))
    bold = {dataset.name: in_bold(dataset.headline_rows()) for dataset in datasets}
    return OverviewTable(datasets, models, means, bold, headline_text(datasets))


@dataclass(frozen=True)
class Setting:
    """A parameter as text.

    source: where the default comes from, such as a publication. is_changed: True if the value is not the default.
    """

    name: str
    value: str
    source: str
    default: str
    is_changed: bool


@dataclass(frozen=True)
class MethodDescription:
    """A method with its publications and settings.

    variants: the settings. Each key is a comma-separated list of the data sets with the same settings. There are
    several keys if the settings differ between data sets.
    """

    name: str
    model: str
    summary: str
    references: list[Reference]
    variants: dict[str, list[Setting]]


def methods_pages(contents: Contents) -> list[Page]:
    """Return a list with one page, or an empty list if no parameters are known."""
    datasets: dict[str, dict[str, list[str]]] = {}  # keys: method, then settings as JSON; values: data sets
    for dataset in contents.datasets:
        for name in dataset.methods_with_parameters:
            spec = dataset.folds[name][0].spec
            settings = json.dumps([spec["model"], spec["params"], spec.get("pairs")])
            datasets.setdefault(name, {}).setdefault(settings, []).append(dataset.name)
    if not datasets:
        return []
    methods = [_method(name, by_settings) for name, by_settings in sorted(datasets.items())]
    return [Page("methods", "Methods", render_page("methods.html", methods=methods))]


def _method(name: str, by_settings: dict[str, list[str]]) -> MethodDescription:
    """Return the description of a method.

    If the model is not installed, the description has no summary, no references and no sources of defaults.
    """
    specs = {", ".join(datasets): json.loads(settings) for settings, datasets in by_settings.items()}
    model_name = next(iter(specs.values()))[0]
    model = models().get(model_name)
    return MethodDescription(
        name=name,
        model=model_name,
        summary=model.summary if model else "",
        references=named(model.summary) if model else [],
        variants={datasets: _settings(model, params) + _pairs(pairs) for datasets, (_, params, pairs) in specs.items()},
    )


def _settings(model: type[Model] | None, params: dict[str, Any]) -> list[Setting]:
    fields = model.Params.model_fields if model else {}
    defaults = model.Params().model_dump(mode="json") if model else {}
    return [
        Setting(
            name=key,
            value=_printed(value),
            source=(fields[key].description or "") if key in fields else "",
            default=_printed(defaults.get(key)),
            is_changed=key in fields and value != defaults.get(key),
        )
        for key, value in params.items()
    ]


def _pairs(pairs: dict[str, Any] | None) -> list[Setting]:
    """Return a list with one setting that describes the stored training pairs.

    The list is empty if no pairs were stored. The model was then trained on the default pairs: all pairs of documents
    with different grades.
    """
    if pairs is None:
        return []
    value = "given by the user" if pairs["targets"] == GIVEN else f"of grades, ties: {pairs['ties']}"
    return [Setting("pairs", value, "stored by the pairs stage", "of grades", True)]


def _printed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_printed, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value) if isinstance(value, dict) else str(value)


def reading_pages(contents: Contents) -> list[Page]:
    """Return a list with one page. It mentions MQ2007 only if the report has results on it."""
    has_mq2007 = any(dataset.name == "mq2007" for dataset in contents.datasets)
    return [Page("reading", "Reading", render_page("reading.html", conventions=CONVENTIONS, has_mq2007=has_mq2007))]


def provenance_pages(contents: Contents) -> list[Page]:
    """Return a list with one page."""
    jobs = _jobs(contents)
    body = render_page(
        "provenance.html",
        contents=contents,
        versions=package_versions(contents),
        seeds=sorted({fold.spec["seed"] for fold in jobs}),
        processors=sorted({fold.spec.get("processor", "not recorded") for fold in jobs}),
    )
    return [Page("provenance", "Provenance", body)]


def _jobs(contents: Contents) -> list[ReportedFold]:
    """Return the folds of all methods on all data sets."""
    return [fold for dataset in contents.datasets for folds in dataset.folds.values() for fold in folds]


def package_versions(contents: Contents) -> dict[str, list[str]]:
    """Return the versions of each package that were used in training, sorted by package.

    Several versions of one package mean that the models were trained in different environments.
    """
    by_package: dict[str, set[str]] = {}
    for fold in _jobs(contents):
        for package, version in fold.spec["versions"].items():
            by_package.setdefault(package, set()).add(version)
    return {package: sorted(versions) for package, versions in sorted(by_package.items())}


def study_pages(contents: Contents) -> list[Page]:
    """Return one page per finished study."""
    return [
        Page(f"study-{page['name']}", page["name"], _content(page), _figures(page), "Studies")
        for page in contents.studies
    ]


def _content(page: dict[str, Any]) -> Markup:
    """Return the page as HTML. It explains the verdicts if a table has them."""
    columns = [column for item in _items(page) if item["kind"] == "table" for column in item["columns"]]
    return render_page("studies.html", page=page, judged=any(column["form"] == VERDICT for column in columns))


def _figures(page: dict[str, Any]) -> dict[str, Markup]:
    """Return the figures of a study's page. The keys are the file names."""
    figures = [item for item in _items(page) if item["kind"] == "figure"]
    return {f"studies/{page['name']}/{item['id']}": Markup(item["svg"]) for item in figures}


def _items(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables and figures of all sections."""
    return [item for section in page["sections"] for item in section["content"]]
