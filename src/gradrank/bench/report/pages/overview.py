"""The Overview page: per data set one sentence and one plot; the table of all methods and the data sets are folded."""

from dataclasses import dataclass

from markupsafe import Markup

from gradrank.bench.report.contents import Contents, ReportedDataset, headline_text
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.plots.intervals import IntervalPlot, intervals
from gradrank.bench.report.plots.strips import stacked
from gradrank.bench.report.standings import standings
from gradrank.bench.report.tables.bold import BOLD, in_bold
from gradrank.bench.report.tables.numbers import descending


def pages(contents: Contents) -> list[Page]:
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
    return DatasetResults(dataset, ranked.answer(), intervals(ranked))


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
