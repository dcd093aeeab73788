"""The text that a run prints last."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from gradrank.base.numbers import number
from gradrank.bench.config.project_folder import typed
from gradrank.bench.git import git
from gradrank.bench.report.contents import headline
from gradrank.bench.report.tables.bold import may_be_best
from gradrank.bench.report.tables.summary_tables import Caution, cautions, feature_cautions, read_tables
from gradrank.bench.report.tables.table import Row
from gradrank.bench.report.training_changes import training_changes
from gradrank.bench.results import DatasetFolder, Results
from gradrank.comparison.statistics import LEVEL
from gradrank.data.folds.held_out import held_out_sentence
from gradrank.measures.metrics import metric_label

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
