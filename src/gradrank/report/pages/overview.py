"""The first page: what was run, one table of all methods on all data sets, and how to read the rest."""

from gradrank.evaluation.conventions import CONVENTIONS
from gradrank.evaluation.metrics import metric_label
from gradrank.report.contents import Study
from gradrank.report.pages.page import Page, render_page
from gradrank.report.tables.numbers import best


def pages(study: Study) -> list[Page]:
    models = sorted({model for dataset in study.datasets for model in dataset.summary})
    means = {
        dataset.name: {model: means.get(dataset.headline) for model, means in dataset.summary.items()}
        for dataset in study.datasets
    }
    winners = {name: best(column) for name, column in means.items()}
    jobs = sum(len(folds) for dataset in study.datasets for folds in dataset.folds.values())
    seconds = sum(
        fold.timing.get("seconds", 0.0)
        for dataset in study.datasets
        for folds in dataset.folds.values()
        for fold in folds
    )
    body = render_page(
        "overview.html",
        study=study,
        models=models,
        means=means,
        winners=winners,
        headlines=sorted({metric_label(dataset.headline) for dataset in study.datasets}),
        jobs=jobs,
        job_seconds=seconds,
        conventions=CONVENTIONS,
    )
    return [Page("overview", "Overview", body)]
