"""Summarise a data set: write its tables, and the files summary.json, summary.md and queries.parquet for git.

summary.md has the main table, the effect of tied scores, and a comparison with published numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, write_json
from gradrank.base.text_tables import is_missing, pipe_table
from gradrank.bench.folds import file_order
from gradrank.bench.folds.file_order import CONSTANT, constant_score
from gradrank.bench.folds.per_query import QueryValues, write_compact
from gradrank.bench.folds.settings import BASELINE
from gradrank.bench.report.tables.dataset_values import (
    NOTE,
    DatasetValues,
    detectable_sentence,
    difference_text,
    headline_metric,
    sharper_verdicts,
)
from gradrank.bench.report.tables.method_table import Block, table_by_headline
from gradrank.bench.report.tables.results_table import constant_folds, read_methods
from gradrank.bench.report.tables.summary_tables import (
    SEEDS,
    SETTINGS,
    Caution,
    cautions,
    feature_cautions,
    means,
    summary_tables,
)
from gradrank.bench.report.tables.table import (
    BOLD,
    MARKS,
    Row,
    Table,
    count_verdicts,
    explain_verdicts,
    format_value,
    in_bold,
    markdown,
    may_be_best,
    write_data,
    write_latex,
    write_table,
)
from gradrank.bench.results import DatasetFolder
from gradrank.data.fold_parts import held_out_sentence
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import in_expectation
from gradrank.measures.metrics import metric_label
from gradrank.measures.query_values import short_lists


def summary_page(
    dataset: str,
    convention: str,
    tables: dict[str, Table],
    members: Sequence[str] = (),
    held_out: str | None = None,
    about_features: Sequence[Caution] = (),
) -> str:
    """Return the text of summary.md.

    tables: as returned by `summary_tables`. members: methods that were trained only as members of a fusion. held_out: a
    sentence about the queries that are held out for validation. about_features: cautions about the features.
    """
    main = [row for row in tables["main"].rows if row["convention"] == convention]
    folds = tables["folds"].frame["fold"].n_unique()
    over = "one split" if folds == 1 else f"{folds} folds"
    ties = tables["file_order"].rows
    rows = {name: table.rows for name, table in tables.items()}
    parts = [
        f"# {dataset}: one setting for all folds, test results under the `{convention}` convention",
        *(
            f"> **{caution.word}.** {caution.text}"
            for caution in (*cautions(rows, dataset, convention), *about_features)
        ),
        f"Mean over {over} of the mean over test queries ({max(row['queries'] for row in main):,} queries in "
        "all), ± half the 95% interval (1.96 standard errors over all test queries). " + BOLD,
        SETTINGS,
        *([held_out] if held_out else []),
        *_seeds(main),
        *_differences(tables),
        _main_table(main, [row for row in ties if row["model"] == CONSTANT], rows["baseline"]),
        *([f"Also trained as members of a fusion: {', '.join(f'`{name}`' for name in members)}."] if members else []),
        *_best_methods(main, tables["pairwise"].frame["metric"].unique(maintain_order=True)),
    ]
    if dependent := file_order.notable_rows(ties):
        parts += ["## Effect of the file order", *_file_order(dependent)]
    if published := tables["published"].rows:
        parts += ["## Published numbers beside ours", *_published(published)]
    if tables["published_runs"].rows:
        sentences = sharper_verdicts(tables["published_bands"].rows)
        parts += ["### Published single runs, fold by fold", *sentences, tables["published_runs"].note]
        parts.append(markdown(tables["published_runs"]))
    return "\n\n".join(parts) + "\n"


def _differences(tables: dict[str, Table]) -> list[str]:
    """Return the sentences about the differences from the baseline and about differences that could be detected."""
    rows = tables["baseline"].rows
    if not rows:
        return []
    metric = headline_metric(row["metric"] for row in rows)
    baseline, best = ([row for row in tables[name].rows if row["metric"] == metric] for name in ("baseline", "main"))
    best = [row for row in best if row["convention"] == rows[0]["convention"]]
    name = f"`{rows[0]['baseline']}`"
    found = detectable_sentence([(name, baseline), ("the best method", best)])
    return [" ".join([f"The last column compares {metric_label(metric)} with {name}. {NOTE}", *found])]


def _main_table(main: list[Row], constant: list[Row], baseline: list[Row]) -> str:
    """Return the main table. Two rows of a constant score, in file order and in expectation, follow the methods.

    baseline: rows of the table baseline. The last column has the differences of the headline metric.
    """
    metrics = list(dict.fromkeys(row["metric"] for row in main))
    models = list(dict.fromkeys(row["model"] for row in main))
    means = {(row["model"], row["metric"]): (row["mean"], _half_width(row)) for row in main}
    bold = {metric: in_bold(_by_model(main, metric)) for metric in metrics}
    headline = headline_metric(metrics)
    differences = {row["model"]: difference_text(row) for row in baseline if row["metric"] == headline}
    rows = []
    for model in models:
        row = [f"`{model}`"]
        for metric in metrics:
            mean, half_width = format_value(means[model, metric][0], ".4f"), means[model, metric][1]
            row.append(f"**{mean}** ± {half_width}" if model in bold[metric] else f"{mean} ± {half_width}")
        rows.append(row + [differences.get(model, "")] * bool(differences))
    score = {row["metric"]: row for row in constant}
    for key, name in {"mean": "file order", "expected": "expected"}.items() if score else ():
        cells = (format_value(score[metric][key] if metric in score else None, ".4f") for metric in metrics)
        rows.append([f"*{CONSTANT} score, {name}*", *cells, *[""] * bool(differences)])
    last = [f"{metric_label(headline)} − `{baseline[0]['baseline']}`"] if differences else []
    return pipe_table(["method", *map(metric_label, metrics), *last], rows)


def _half_width(row: Row) -> str:
    """Return the half width as text, such as `0.0123`.

    With several seeds, the standard deviation over seeds follows in brackets: `0.0123 (0.0021)`.
    """
    half_width, deviation = format_value(row["half_width"], ".4f"), row.get("seed_deviation")
    return half_width if is_missing(deviation) else f"{half_width} ({deviation:.4f})"


def _seeds(main: list[Row]) -> list[str]:
    """Return a list with one sentence that explains the brackets in the main table, or [] without several seeds."""
    several = {row["seeds"] for row in main if row.get("seeds")}
    return [
        f"In brackets: the standard deviation of the mean over {' or '.join(map(str, sorted(several)))} seeds. {SEEDS}"
    ] * bool(several)


def _file_order(rows: list[Row]) -> list[str]:
    """Return a note and a table of the values that depend noticeably on the order of tied scores.

    A change is noticeable if it exceeds `file_order.NOTABLE_SHARE` half widths of the 95% interval.
    """
    head = ["method", "metric", "in file order", "expected", "difference", "difference / half interval"]
    lines = [
        [
            f"`{row['model']}`",
            metric_label(row["metric"]),
            *(format_value(row[key], ".4f") for key in ("mean", "expected")),
            format_value(row["difference"], "+.4f"),
            format_value(row["share"], ".2f"),
        ]
        for row in rows
    ]
    return [
        "Tied scores are ranked in file order. The expected value is the mean over all orders of the tied documents. "
        "The table has the values that differ from it by more than "
        f"{file_order.NOTABLE_SHARE:g} of half the 95% interval.",
        pipe_table(head, lines),
    ]


def _by_model(main: list[Row], metric: str) -> dict[str, Row]:
    return {row["model"]: row for row in main if row["metric"] == metric}


def _best_methods(main: list[Row], tested: Iterable[str]) -> list[str]:
    """Return one sentence per tested metric that names the methods that may be the best, or those that are worse."""
    sentences = []
    for metric in tested:
        rows = {model: row for model, row in _by_model(main, metric).items() if not is_missing(row["p_best"])}
        if any(row["mean"] for row in rows.values()):  # not if every query has too few documents
            sentences.append(f"By {metric_label(metric)}, {_split(rows)}.")
    return sentences


def _split(rows: dict[str, Row]) -> str:
    """Return a clause that names the methods of the shorter list. rows: the tested methods, best first."""
    level = [model for model in sorted(rows, key=lambda model: -rows[model]["mean"]) if model in may_be_best(rows)]
    worse = [model for model in rows if model not in level]
    if not worse:
        return "every method may be the best"
    names = ", ".join(f"`{model}`" for model in min(level, worse, key=len))
    if len(level) == 1:
        return f"every other method is significantly worse than {names}"
    if len(level) <= len(worse):
        return f"the methods that may be the best are {names}"
    return f"significantly worse than the best method are {names}. The other {len(level)} methods may be the best"


def _published(rows: list[Row]) -> list[str]:
    """Return the explanation, the counts, a table with one line per published method, and the numbered sources."""
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    sources = list(dict.fromkeys(row["source"] for row in rows))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        key = tuple(row[k] for k in ("model", "method", "note", "convention", "our_convention", "source"))
        power = f"{row['alike']}/{row['others']}"
        text = f"{row['published']:.4f} ({row['difference']:+.4f} {MARKS[row['verdict']]} {power})"
        lines.setdefault(key, {})[row["metric"]] = text
    table = []
    for (model, method, note, theirs, ours, source), cells in lines.items():
        name = f"{method} [{sources.index(source) + 1}]" + (f", {note}" if note else "")
        under = f"`{theirs}`" if theirs == ours else f"`{theirs}` (ours: `{ours}`)"
        table.append([f"`{model}`", name, under, *(cells.get(metric, "") for metric in metrics)])
    return [
        f"Published value (ours minus it, verdict, power). {explain_verdicts()}",
        count_verdicts(rows),
        pipe_table(["method", "published as", "convention", *map(metric_label, metrics)], table),
        "\n".join(f"{number}. {source}" for number, source in enumerate(sources, 1)),
    ]


def summary(
    folder: Path,
    models: Sequence[str],
    convention: str,
    data: Path | None = None,
    members: Sequence[str] = (),
    baseline: str = BASELINE,
) -> None:
    """Write summary.json, summary.md, queries.parquet and tables/ into `folder`, which is results/<dataset>.

    models: names of the methods to compare; each must have a per_query.parquet. convention: the primary
    convention, which summary.json and summary.md use. The tables contain every measured convention. All measured
    metrics are included. data: folder of the Parquet collection. If given, a constant score is evaluated, and the
    queries whose value is 0 only because they have few documents are counted. If there are many such queries,
    summary.md contains a warning. If the data have no validation file, summary.md says which queries were held out.
    members: methods that were trained only because others combine their scores; summary.md names them. baseline: the
    method that the others are compared with; if it is not among the methods, the one with the highest mean.
    Raises GradrankError if a file or convention is missing, or if methods were evaluated on different queries.
    """
    dataset, models = DatasetFolder(Path(folder)), sorted(set(models))
    if not models:
        raise GradrankError(f"{folder}: no model to summarise. Fix: name at least one in --models")
    values = read_methods(dataset, models, convention)
    metrics, conventions = _metrics_and_conventions(values)
    equal = {model: constant_folds(dataset.method(model)) for model in models}
    measured = DatasetValues(dataset.name, convention, values, baseline=baseline, constant_folds=equal)
    held_out, about_features = None, []
    if data is not None:
        both = filter(None, (convention, in_expectation(convention)))
        short, constant = short_lists(data, metrics, conventions), constant_score(data, metrics, both)
        measured = replace(measured, short=tuple(short), constant=constant)
        description = StoredCollection.open(data).description
        held_out, about_features = held_out_sentence(description), feature_cautions(description)
    tables = summary_tables(measured)
    for name in tables:
        for path in dataset.tables_path.glob(f"{name}-*.tex"):  # the convention may have left params.yaml
            path.unlink()
    for name, table in tables.items():
        if name == "main":
            write_data(table, dataset.tables_path)
        else:
            write_table(table, dataset.tables_path, dataset.name)
    write_latex("main", _method_tables(measured, tables["main"].rows), dataset.tables_path)
    write_json(dataset.summary_path, means(tables["main"].rows, convention))
    write_compact(dataset, models, convention)
    with atomic(dataset.summary_page_path) as partial:
        text = summary_page(dataset.name, convention, tables, members, held_out, about_features)
        partial.write_text(text, encoding="utf-8")


def _method_tables(dataset: DatasetValues, main: Sequence[Row]) -> dict[str, str]:
    """Return a dict from convention to the LaTeX table of all methods and metrics. main: rows of the table main."""
    folds, count = len(np.unique(dataset.first.folds)), len(dataset.first.qids)
    texts = {}
    for convention in dict.fromkeys(row["convention"] for row in main):
        rows = [row for row in main if row["convention"] == convention]
        texts[convention] = table_by_headline([Block(dataset.dataset, convention, folds, count, rows)]).to_latex()
    return texts


def _metrics_and_conventions(values: dict[str, dict[str, QueryValues]]) -> tuple[list[str], list[str]]:
    """Return the metrics and the conventions of the first method, because all methods have the same."""
    by_convention = next(iter(values.values()))
    return list(next(iter(by_convention.values())).values), list(by_convention)
