"""The report's own tables as CSV and Markdown; those of one data set lie in results/<dataset>/tables/."""

from pathlib import Path

from gradrank.report.contents import Study
from gradrank.report.pages.datasets import costs
from gradrank.report.pages.making import package_versions
from gradrank.report.tables.files import write_table


def write_tables(study: Study, folder: Path) -> None:
    """overview: the headline metric of each method and data set; data, costs and versions as in the report."""
    overview = [
        {"dataset": each.name, "model": model, "metric": each.headline, "mean": means[each.headline]}
        for each in study.datasets
        for model, means in each.summary.items()
        if means.get(each.headline) is not None
    ]
    write_table(folder, "overview", overview, ("dataset", "model", "metric", "mean"))
    data = [
        {"dataset": each.name}
        | {key: each.meta[key] for key in ("rows", "queries", "features", "source_sha256")}
        | {"folds": len(each.meta["folds"])}
        for each in study.datasets
        if each.meta
    ]
    columns = ("dataset", "rows", "queries", "features", "folds", "source_sha256")
    write_table(folder, "data", data, columns)
    units = {
        "fit": "fit_seconds",
        "slowest": "slowest_seconds",
        "total": "job_seconds",
        "memory": "peak_memory_mb",
    }
    spent = [
        {"dataset": each.name} | {units.get(key, key): value for key, value in cost.items()}
        for each in study.datasets
        for cost in costs(each)
    ]
    write_table(folder, "costs", spent, ("dataset", "model", *units.values()))
    versions = [
        {"package": package, "version": version}
        for package, found in package_versions(study).items()
        for version in found
    ]
    write_table(folder, "versions", versions, ("package", "version"))
