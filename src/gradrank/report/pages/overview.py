"""The Overview page: one table of all methods on all data sets, the data sets, and how to read the numbers."""

from dataclasses import dataclass

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.report.contents import Contents, ReportedDataset, headline_text
from gradrank.report.pages.page import Page, render_page
from gradrank.report.tables.numbers import best, descending


def pages(contents: Contents) -> list[Page]:
    """Return a list with one page."""
    costs = [cost for dataset in contents.run_here for cost in dataset.costs.values()]
    body = render_page(
        "overview.html",
        contents=contents,
        here=_overview(contents.run_here),
        committed=_overview(contents.committed),
        linked={model for dataset in contents.datasets for model in dataset.methods_with_parameters},
        jobs=sum(cost.jobs for cost in costs),
        job_seconds=sum(cost.seconds for cost in costs),
        conventions=CONVENTIONS,
    )
    return [Page("overview", "Overview", body)]


@dataclass(frozen=True)
class OverviewTable:
    """A table of the mean of the headline metric for each model on each data set.

    models: names of the models, sorted by their mean on the first data set, best first. winners: the best models of
    each data set. headline_text: the metric and its convention as text.
    """

    datasets: list[ReportedDataset]
    models: list[str]
    means: dict[str, dict[str, float | None]]
    winners: dict[str, set[str]]
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
    winners = {name: best(column) for name, column in means.items()}
    return OverviewTable(datasets, models, means, winners, headline_text(datasets))
