"""The report's own tables as CSV and Markdown; those of one data set lie in results/<dataset>/tables/."""

from pathlib import Path

from gradrank.report.contents import Contents
from gradrank.report.pages.datasets import costs
from gradrank.report.pages.making import package_versions
from gradrank.report.tables.files import write_table


def write_tables(contents: Contents, folder: Path) -> None:
    """overview: the headline metric of each method and data set; data, costs and versions as in the report."""
    overview = [
        {"dataset": each.name, "model": model, "metric": each.headline, "mean": means[each.headline]}
        for each in contents.datasets
        for model, means in each.summary.items()
        if means.get(each.headline) is not None
    ]
    write_table(folder, "overview", overview, ("dataset", "model", "metric", "mean"))
    data = [
        {"dataset": each.name}
        | {key: each.meta[key] for key in ("rows", "queries", "features", "source_sha256")}
        | {"folds": len(each.meta["folds"])}
        for each in contents.datasets
        if each.meta
    ]
    columns = ("dataset", "rows", "queries", "features", "folds", "source_sha256")
    write_table(folder, "data", data, columns)
    spent = [
        {
            "dataset": each.name,
            "model": model,
            "fit_seconds": cost.mean_fit_seconds,
            "slowest_seconds": cost.slowest_fit_seconds,
            "job_seconds": cost.seconds,
            "peak_memory_mb": cost.peak_memory_mb,
        }
        for each in contents.datasets
        for model, cost in costs(each).items()
    ]
    columns = ("dataset", "model", "fit_seconds", "slowest_seconds", "job_seconds", "peak_memory_mb")
    write_table(folder, "costs", spent, columns)
    versions = [
        {"package": package, "version": version}
        for package, found in package_versions(contents).items()
        for version in found
    ]
    write_table(folder, "versions", versions, ("package", "version"))
