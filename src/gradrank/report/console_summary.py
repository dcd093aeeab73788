"""The text that a run prints last."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gradrank.base.git import git
from gradrank.base.numbers import number
from gradrank.base.results import DatasetFolder, Results
from gradrank.config.project_folder import typed
from gradrank.evaluation.metrics import metric_label
from gradrank.report.contents import headline
from gradrank.report.tables.summary_tables import read_tables, warnings

BEST = 5


def console_summary(results: Results, conventions: Mapping[str, str], out: Path) -> str:
    """Return the best methods of each data set, the path of the report `out`, and the next commands to try.

    conventions: the primary convention of each data set. The keys are the names of the data sets.
    """
    lines = []
    for dataset, convention in conventions.items():
        lines += ["", *_best(results.dataset(dataset), convention)]
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
    """Yield a line for each of the best methods on a data set, then a line for each warning about the data set.

    The methods are ranked by the headline metric.
    """
    summary, tables = dataset.summary(), read_tables(dataset.tables_path)
    metric = headline(summary)
    half_widths = {
        row["model"]: row["half_width"]
        for row in tables["main"]
        if (row["convention"], row["metric"]) == (convention, metric)
    }
    means = {model: mean for model, means in summary.items() if (mean := means.get(metric)) is not None}
    shown = sorted(means, key=lambda model: -means[model])[:BEST]
    measure = f"{metric_label(metric)} under {convention}"
    yield f"{dataset.name}: {measure}, ± half the 95% interval, the best {len(shown)} of {len(summary)} methods"
    width = max(map(len, shown), default=0)
    for model in shown:
        yield f"  {model:{width}}  {number(means[model])} ± {number(half_widths.get(model))}"
    yield from (f"  WARNING: {warning}" for warning in warnings(tables, dataset.name, convention))
