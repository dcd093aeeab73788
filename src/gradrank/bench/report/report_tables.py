"""Tables that cover all data sets. The tables of a single data set are in results/<dataset>/tables/."""

from collections.abc import Iterator
from pathlib import Path

from gradrank.bench.report.contents import Contents, headline_text
from gradrank.bench.report.pages.datasets import costs
from gradrank.bench.report.pages.provenance import package_versions
from gradrank.bench.report.tables.method_table import Block, MethodTable
from gradrank.bench.report.tables.table import Column, Row, Table, Wide
from gradrank.bench.report.tables.table_files import write_data, write_latex, write_table

DATASET = Column("dataset")


def write_tables(contents: Contents, folder: Path) -> None:
    """Write the tables `overview`, `data`, `costs` and `versions` into `folder`.

    `overview` has the mean of the headline metric for every method, on the data sets that were run in this folder.
    """
    write_data(_overview(contents), folder)
    if contents.run_here:
        write_latex("overview", {"": _overview_in_latex(contents)}, folder)
    for table in (_data(contents), _costs(contents), _versions(contents)):
        write_table(table, folder)


def _overview(contents: Contents) -> Table:
    rows = [
        {
            "dataset": dataset.name,
            "model": model,
            "metric": dataset.headline,
            "convention": dataset.convention,
            "mean": means[dataset.headline],
        }
        for dataset in contents.run_here
        for model in dataset.ranked()
        for means in [dataset.summary[model]]
        if means.get(dataset.headline) is not None
    ]
    columns = (DATASET, Column("model"), Column("metric"), Column("convention"), Column("mean", form=".4f"))
    note = f"{headline_text(contents.run_here)}, mean over folds." if contents.run_here else ""
    return Table("overview", "Results at a glance", columns, rows, note, wide=Wide(("model",), "dataset", "{mean}"))


def _overview_in_latex(contents: Contents) -> str:
    blocks = []
    for dataset in contents.run_here:
        wanted = (dataset.convention, dataset.headline)
        rows = [row for row in dataset.tables["main"] if (row["convention"], row["metric"]) == wanted]
        folds = len({row["fold"] for row in dataset.tables["folds"]})
        queries = max(row["queries"] for row in rows)
        blocks.append(Block(dataset.name, dataset.convention, folds, queries, rows))
    return MethodTable(blocks, blocks[0].metrics[0], choice="overview").to_latex()


def _data(contents: Contents) -> Table:
    columns = (
        Column("dataset", of=lambda dataset: dataset.name),
        *(
            Column(key, form="d", of=lambda dataset, key=key: dataset.meta[key])
            for key in ("rows", "queries", "features")
        ),
        Column("folds", form="d", of=lambda dataset: len(dataset.meta["folds"])),
        Column("source_sha256", of=lambda dataset: dataset.meta["source_sha256"]),
    )
    return Table("data", "Data", columns, [dataset for dataset in contents.datasets if dataset.meta])


def _costs(contents: Contents) -> Table:
    rows = [(dataset.name, model, cost) for dataset in contents.datasets for model, cost in costs(dataset).items()]
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
