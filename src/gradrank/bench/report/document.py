"""Write the report: one HTML file of several pages, tables as files, and the text that a run prints last.

PAGES lists the functions of the pages in reading order. Each function has the form `pages(contents) -> list[Page]`. To
add a page, write a function and a template, and add the function to PAGES. Styles, scripts and plots are inline, so the
HTML file loads no other files.

The text that a run prints last names the methods that were trained since the last report, with the change of their
means. The report writes printed.json into the folder of each data set: the methods and means that it has printed. The
next report compares them with the present results. The file is not an output of a Snakemake rule, because Snakemake
deletes the outputs of a job before the job starts. It is written last, so a report that was killed is repeated in full.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, read_json, write_json
from gradrank.base.stamps import CONTENTS, check_own_folder, remove_listed, write_contents
from gradrank.base.text_tables import number
from gradrank.bench.config.project_folder import typed
from gradrank.bench.git import git
from gradrank.bench.report.contents import Contents, headline, headline_text, read_contents
from gradrank.bench.report.pages import datasets, explanations
from gradrank.bench.report.pages.datasets import costs
from gradrank.bench.report.pages.general import (
    methods_pages,
    overview_pages,
    package_versions,
    provenance_pages,
    reading_pages,
    study_pages,
)
from gradrank.bench.report.pages.page import render_page
from gradrank.bench.report.plots.svg import write_figures
from gradrank.bench.report.refit_command import best_refittable, refit_arguments
from gradrank.bench.report.tables.method_table import Block, MethodTable
from gradrank.bench.report.tables.summary_tables import Caution, cautions, feature_cautions, read_tables
from gradrank.bench.report.tables.table import (
    Column,
    Row,
    Table,
    Wide,
    may_be_best,
    write_data,
    write_latex,
    write_table,
)
from gradrank.bench.results import DatasetFolder, Results
from gradrank.comparison.statistics import LEVEL
from gradrank.data.fold_parts import held_out_sentence
from gradrank.measures.conventions import DEFAULT
from gradrank.measures.metrics import metric_label

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


KEYS = {"metric", "convention", "source", "methods"}  # of printed.json
MOST = 8  # maximum number of methods with a line of their own
TRAINING = ("digest", "train", "results")  # the digests of a record that differ after a method was trained again


def write_printed(dataset: DatasetFolder, metric: str, convention: str) -> None:
    """Write printed.json of a data set with a record. A file that is not ours stays as it is."""
    if dataset.recorded and (not os.path.lexists(dataset.printed_path) or _former(dataset)):
        write_json(dataset.printed_path, _present(dataset, metric, convention))


def training_changes(dataset: DatasetFolder, metric: str, convention: str) -> Iterator[str]:
    """Yield lines on the methods that were trained since printed.json was written; none if this file is missing.

    A method is listed if its parameters, its code, its model or its scores changed. The former mean is shown if it has
    the same metric, convention and data. If gradrank has not written the file, one line says so.
    """
    if not (dataset.recorded and dataset.printed_path.is_file()):
        return
    before = _former(dataset)
    if before is None:
        yield f"{dataset.printed_path}: damaged, or not written by gradrank."
        yield "So methods that were trained since the last report are not listed."
        yield "Fix: if it is yours, move it; else delete it"
        return
    now = _present(dataset, metric, convention)
    comparable = all(before.get(key) == now[key] for key in ("metric", "convention", "source"))
    former = before["methods"]
    trained = [name for name, method in now["methods"].items() if _was_trained(former.get(name), method)]
    if not trained:
        return
    yield "Trained since the last report" + ("" if comparable else " (other data, metric or convention before)") + ":"
    width = max(map(len, trained[:MOST]))
    for name in trained[:MOST]:
        mean = now["methods"][name]["mean"]
        old = former[name]["mean"] if comparable and name in former else None
        yield f"  {name:{width}}  {number(mean)}  {_change(mean, old, name in former)}".rstrip()
    if len(trained) > MOST:
        yield f"  and {len(trained) - MOST} more"


def _former(dataset: DatasetFolder) -> dict[str, Any] | None:
    """Return the content of printed.json; None if it does not have the form that `_present` gives it."""
    try:
        content = read_json(dataset.printed_path)
    except GradrankError:
        return None
    return content if isinstance(content, dict) and content.keys() >= KEYS else None


def _present(dataset: DatasetFolder, metric: str, convention: str) -> dict[str, Any]:
    """Return the content of printed.json for the present results. The best methods are first."""
    record = dataset.provenance()
    means = {name: values.get(metric) for name, values in dataset.summary().items()}
    ranked = sorted(means, key=lambda name: (means[name] is None, -(means[name] or 0), name))
    methods = record.get("methods", {})
    trained = {name: [methods.get(name, {}).get(key) for key in TRAINING] for name in ranked}
    return {
        "metric": metric,
        "convention": convention,
        "source": record.get("data", {}).get("source_sha256"),
        "methods": {name: {"trained": trained[name], "mean": means[name]} for name in ranked},
    }


def _was_trained(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    return before is None or before["trained"] != now["trained"]


def _change(mean: float | None, before: float | None, is_known: bool) -> str:
    if not is_known:
        return "new"
    if mean is None or before is None:
        return ""
    return f"{number(mean - before, '+.4f')} (before: {number(before)})" if mean != before else "unchanged"


BEST = 5
MOST_NAMED = 8  # maximum number of methods that a sentence lists
WIDTH = 100  # characters per line


def console_summary(
    results: Results,
    conventions: Mapping[str, str],
    out: Path,
    descriptions: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> str:
    """Return the best and the newly trained methods of each data set, the path of the report, and the next commands.

    conventions: the primary convention of each data set. out: the report. descriptions: the content of collection.json,
    or None. The keys of both dicts are the names of the data sets.
    """
    lines = []
    for dataset, convention in conventions.items():
        lines += ["", *_best(results.dataset(dataset), convention)]
        description = (descriptions or {}).get(dataset)
        lines += map(_caution_line, feature_cautions(description))
        if sentence := held_out_sentence(description):
            lines.append(f"  {sentence}")
    report = out.resolve()
    return "\n".join(
        [
            *lines,
            "",
            f"The report: {report}",
            f"Its tables (CSV, Markdown, LaTeX) and figures (SVG): {report.with_suffix('')}, {results.folder}/*/tables",
            *_next(results, conventions),
        ]
    )


def _next(results: Results, datasets: Iterable[str]) -> Iterator[str]:
    """Yield lines that suggest the next steps: change a value, compare the results, and print citations.

    The results are compared with the last commit. If git has no committed results, the lines
    suggest copying the results first and comparing with the copy.
    """
    paths = (results.dataset(dataset).summary_path.resolve() for dataset in datasets)
    committed = any(git("cat-file", "-e", f"HEAD:./{path.name}", folder=path.parent) is not None for path in paths)
    after, command = results.folder, typed("gradrank", results.project)
    before = "HEAD" if committed else f"{after}_before"
    copied = "" if committed else f"`cp -r {after} {before}`, "
    yield f"Next: {copied}change a value in params.yaml and run the same command: only dependent jobs rerun."
    yield f"      `{command} diff {before} {after}` lists what changed, with tests of significance."
    yield f"      `{command} cite` prints BibTeX."
    for dataset in map(results.dataset, datasets):
        summary = dataset.summary()
        metric = headline(summary)
        means = {model: mean for model, values in summary.items() if (mean := values.get(metric)) is not None}
        if best := best_refittable(sorted(means, key=lambda model: -means[model])):
            yield f"      `{command} {refit_arguments(dataset, best)}` trains {best} on all queries, for new data."


def _best(dataset: DatasetFolder, convention: str) -> Iterator[str]:
    """Yield the lines on one data set: the best methods, the methods trained since the last report, and cautions.

    The methods are ranked by the headline metric.
    """
    summary, tables = dataset.summary(), read_tables(dataset.tables_path)
    metric = headline(summary)
    rows = {row["model"]: row for row in tables["main"] if (row["convention"], row["metric"]) == (convention, metric)}
    means = {model: mean for model, means in summary.items() if (mean := means.get(metric)) is not None}
    shown = sorted(means, key=lambda model: -means[model])[:BEST]
    measure = f"{metric_label(metric)} under {convention}"
    yield f"{dataset.name}: {measure}, ± half the 95% interval, the best {len(shown)} of {len(summary)} methods"
    width = max(map(len, shown), default=0)
    for model in shown:
        yield f"  {model:{width}}  {number(means[model])} ± {number(rows.get(model, {}).get('half_width'))}"
    yield from map(_wrapped, _best_methods(rows))
    if members := dataset.provenance().get("members") if dataset.recorded else None:
        yield _wrapped(f"Also trained as members of a fusion, and not listed as results: {_listed(list(members))}.")
    yield from (f"  {line}" for line in training_changes(dataset, metric, convention))
    yield from map(_caution_line, cautions(tables, dataset.name, convention))


def _best_methods(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield a sentence on the methods that may be the best.

    rows: the rows of the table main per method. Nothing is yielded if the metric has no tests.
    """
    if level := sorted(may_be_best(rows), key=lambda model: -rows[model]["mean"]):
        named = "every method" if len(level) == len(rows) else _listed(level)
        yield f"May be the best ({1 - LEVEL:.0%} model confidence set): {named}."


def _listed(names: Sequence[str]) -> str:
    """Return the names as a list, with the number of names after the first MOST_NAMED."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _caution_line(caution: Caution) -> str:
    return _wrapped(f"{caution.word.upper()}: {caution.text}")


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


PAGES = (
    overview_pages,
    datasets.pages,
    explanations.pages,
    study_pages,
    methods_pages,
    reading_pages,
    provenance_pages,
)


def report(
    results: Path,
    out: Path,
    convention: str = DEFAULT,
    params: Path = Path("params.yaml"),
    data: Path = Path("data/parquet"),
    only: tuple[Collection[str], Collection[str]] | None = None,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write the report of a results folder, and return the text that a run prints last.

    `out` is the HTML file. The tables and figures are written into the folder with the same path without the suffix.
    Equal results give equal bytes, except for the measured times and memory. The returned text lists the methods that
    were trained since the last call.

    convention: the primary convention of data sets for which params.yaml does not specify one. params: path of
    params.yaml. The report shows this file and the settings of its studies in full. data: folder of the Parquet
    collections. only: (names of data sets, names of studies) to show; by default every data set with a summary.json and
    every finished study. missing: methods per data set that are not finished, which the pages name.
    Raises GradrankError if there is nothing to report, a file cannot be read, or the folder contains other files.
    """
    root, folder = Results(Path(results)), Path(out).with_suffix("")
    if folder == Path(out):
        raise GradrankError(f"{out}: the report needs a suffix, because its figures are in {out}/. Fix: add .html")
    check_own_folder(folder / CONTENTS, [params, data])
    contents = read_contents(root, convention, Path(params), Path(data), only, missing)
    pages = [page for pages_of in PAGES for page in pages_of(contents)]
    with atomic(Path(out)) as partial:
        partial.write_text(render_page("layout.html", pages=pages), encoding="utf-8")
    remove_listed(folder / CONTENTS)
    write_tables(contents, folder)
    write_figures({name: drawing for page in pages for name, drawing in page.figures.items()}, folder)
    files = (path for path in folder.rglob("[!.]*") if path.is_file())
    write_contents(folder, (path.relative_to(folder).as_posix() for path in files))
    run_here = contents.run_here
    conventions = {dataset.name: dataset.convention for dataset in run_here}
    descriptions = {dataset.name: dataset.meta for dataset in run_here}
    text = console_summary(root, conventions, Path(out), descriptions)
    for dataset in run_here:
        write_printed(root.dataset(dataset.name), dataset.headline, dataset.convention)
    return text
