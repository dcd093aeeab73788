"""Build summary.md: the main table, the effect of tied scores, and a comparison with published numbers."""

from collections.abc import Iterable, Sequence

from gradrank.base.numbers import is_missing
from gradrank.base.text_tables import pipe_table
from gradrank.bench.folds import file_order
from gradrank.bench.folds.file_order import CONSTANT
from gradrank.bench.report.tables.baseline import NOTE, detectable_sentence, difference_text
from gradrank.bench.report.tables.bold import BOLD, in_bold, may_be_best
from gradrank.bench.report.tables.dataset_values import headline_metric
from gradrank.bench.report.tables.numbers import format_value
from gradrank.bench.report.tables.published_runs import sharper_verdicts
from gradrank.bench.report.tables.summary_tables import SEEDS, SETTINGS, Caution, cautions
from gradrank.bench.report.tables.table import Row, Table, markdown
from gradrank.bench.report.tables.verdicts import MARKS, count_verdicts, explain_verdicts
from gradrank.measures.metrics import metric_label


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
