"""The first page: what was run, one table of all methods on all data sets, and how to read the rest."""

from dataclasses import dataclass

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.report.contents import Contents, ReportedDataset, measures
from gradrank.report.pages.page import Page, render_page
from gradrank.report.tables.numbers import best, missing


def pages(contents: Contents) -> list[Page]:
    costs = [cost for dataset in contents.here for cost in dataset.costs.values()]
    body = render_page(
        "overview.html",
        contents=contents,
        here=_glance(contents.here),
        committed=_glance(contents.committed),
        linked={model for dataset in contents.datasets for model in dataset.explained},
        jobs=sum(cost.jobs for cost in costs),
        job_seconds=sum(cost.seconds for cost in costs),
        conventions=CONVENTIONS,
    )
    return [Page("overview", "Overview", body)]


@dataclass(frozen=True)
class Glance:
    """The headline metric of some data sets: means by data set and model, and who is best on each.

    models: the best on the first data set first. measures: what is shown, in words.
    """

    datasets: list[ReportedDataset]
    models: list[str]
    means: dict[str, dict[str, float | None]]
    winners: dict[str, set[str]]
    measures: str


def _glance(datasets: list[ReportedDataset]) -> Glance | None:
    if not datasets:
        return None
    means = {
        dataset.name: {model: means.get(dataset.headline) for model, means in dataset.summary.items()}
        for dataset in datasets
    }
    first = means[datasets[0].name]
    models = sorted({model for column in means.values() for model in column})
    models.sort(key=lambda model: float("inf") if missing(first.get(model)) else -first[model])
    winners = {name: best(column) for name, column in means.items()}
    return Glance(datasets, models, means, winners, measures(datasets))
