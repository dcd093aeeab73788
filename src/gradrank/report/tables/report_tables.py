"""The report's own tables as CSV and Markdown; those of one data set lie in results/<dataset>/tables/."""

from collections.abc import Iterator
from pathlib import Path

from gradrank.report.contents import Study
from gradrank.report.pages.datasets import costs
from gradrank.report.pages.making import package_versions
from gradrank.report.tables.table import Column, Row, Table, Wide, write_table

DATASET = Column("dataset")


def write_tables(study: Study, folder: Path) -> None:
    """overview: the headline metric of each method and data set; data, costs and versions as in the report."""
    for table in (_overview(study), _data(study), _costs(study), _versions(study)):
        write_table(table, folder)


def _overview(study: Study) -> Table:
    rows = [
        {"dataset": each.name, "model": model, "metric": each.headline, "mean": means[each.headline]}
        for each in study.datasets
        for model, means in each.summary.items()
        if means.get(each.headline) is not None
    ]
    columns = (DATASET, Column("model"), Column("metric"), Column("mean", form=".4f"))
    return Table("overview", "Results", columns, rows, wide=Wide(("model",), "dataset", "{mean}"))


def _data(study: Study) -> Table:
    columns = (
        Column("dataset", of=lambda each: each.name),
        *(
            Column(key, form="d", of=lambda each, key=key: each.meta[key])
            for key in ("rows", "queries", "features")
        ),
        Column("folds", form="d", of=lambda each: len(each.meta["folds"])),
        Column("source_sha256", of=lambda each: each.meta["source_sha256"]),
    )
    return Table("data", "Data", columns, [each for each in study.datasets if each.meta])


def _costs(study: Study) -> Table:
    rows = [{"dataset": each.name} | cost for each in study.datasets for cost in costs(each)]
    seconds = {"fit_seconds": "fit", "slowest_seconds": "slowest", "job_seconds": "total"}
    columns = (
        DATASET,
        Column("model"),
        *(Column(key, form=".2f", of=lambda row, own=own: row[own]) for key, own in seconds.items()),
        Column("peak_memory_mb", form=".0f", of=lambda row: row["memory"]),
    )
    return Table("costs", "Time and memory", columns, rows, timed=True)


def _versions(study: Study) -> Table:
    columns = (Column("package"), Column("version"))
    return Table("versions", "Versions", columns, list(_installed(study)))


def _installed(study: Study) -> Iterator[Row]:
    for package, versions in package_versions(study).items():
        for version in versions:
            yield {"package": package, "version": version}
