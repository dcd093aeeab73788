"""The first page: what was run, one table of all methods on all data sets, and how to read the rest."""

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.evaluation.metrics import metric_label
from gradrank.report.contents import Contents
from gradrank.report.pages.page import Page, render_page
from gradrank.report.tables.numbers import best


def pages(contents: Contents) -> list[Page]:
    models = sorted({model for dataset in contents.datasets for model in dataset.summary})
    means = {
        dataset.name: {model: means.get(dataset.headline) for model, means in dataset.summary.items()}
        for dataset in contents.datasets
    }
    winners = {name: best(column) for name, column in means.items()}
    costs = [cost for dataset in contents.datasets for cost in dataset.costs.values()]
    body = render_page(
        "overview.html",
        contents=contents,
        models=models,
        means=means,
        winners=winners,
        headlines=sorted({metric_label(dataset.headline) for dataset in contents.datasets}),
        jobs=sum(cost.jobs for cost in costs),
        job_seconds=sum(cost.seconds for cost in costs),
        conventions=CONVENTIONS,
    )
    return [Page("overview", "Overview", body)]
