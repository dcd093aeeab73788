"""The report's own tables as CSV, Markdown and LaTeX; those of one data set lie in results/<dataset>/tables/."""

from collections.abc import Iterator
from pathlib import Path

from gradrank.report.contents import Contents, measures
from gradrank.report.pages.datasets import costs
from gradrank.report.pages.making import package_versions
from gradrank.report.tables.table import Column, Row, Table, Wide
from gradrank.report.tables.writing import write_table

DATASET = Column("dataset")


def write_tables(contents: Contents, folder: Path) -> None:
    """overview: the headline metric of each method and data set run here; data, costs, versions as in the report."""
    for table in (_overview(contents), _data(contents), _costs(contents), _versions(contents)):
        write_table(table, folder)


def _overview(contents: Contents) -> Table:
    rows = [
        {
            "dataset": each.name,
            "model": model,
            "metric": each.headline,
            "convention": each.convention,
            "mean": means[each.headline],
        }
        for each in contents.here
        for model, means in each.summary.items()
        if means.get(each.headline) is not None
    ]
    columns = (DATASET, Column("model"), Column("metric"), Column("convention"), Column("mean", form=".4f"))
    note = f"{measures(contents.here)}, mean over folds." if contents.here else ""
    wide = Wide(("model",), "dataset", "{mean}", best="mean")
    return Table("overview", "Results at a glance", columns, rows, note, wide=wide)


def _data(contents: Contents) -> Table:
    columns = (
        Column("dataset", of=lambda each: each.name),
        *(Column(key, form="d", of=lambda each, key=key: each.meta[key]) for key in ("rows", "queries", "features")),
        Column("folds", form="d", of=lambda each: len(each.meta["folds"])),
        Column("source_sha256", of=lambda each: each.meta["source_sha256"]),
    )
    return Table("data", "Data", columns, [each for each in contents.datasets if each.meta])


def _costs(contents: Contents) -> Table:
    rows = [(each.name, model, cost) for each in contents.datasets for model, cost in costs(each).items()]
    columns = (
        Column("dataset", of=lambda row: row[0]),
        Column("model", of=lambda row: row[1]),
        Column("fit_seconds", form=".2f", of=lambda row: row[2].mean_fit_seconds),
        Column("slowest_seconds", form=".2f", of=lambda row: row[2].slowest_fit_seconds),
        Column("job_seconds", form=".2f", of=lambda row: row[2].seconds),
        Column("peak_memory_mb", form=".0f", of=lambda row: row[2].peak_memory_mb),
        Column("model_bytes", form=",.0f", of=lambda row: row[2].model_bytes),
        Column("score_microseconds", form=",.2f", of=lambda row: row[2].score_microseconds),
    )
    return Table("costs", "Time, memory and size", columns, rows, timed=True)


def _versions(contents: Contents) -> Table:
    columns = (Column("package"), Column("version"))
    return Table("versions", "Versions", columns, list(_installed(contents)))


def _installed(contents: Contents) -> Iterator[Row]:
    for package, versions in package_versions(contents).items():
        for version in versions:
            yield {"package": package, "version": version}
