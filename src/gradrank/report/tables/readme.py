"""The README's result table, made from results/mq2007/: `python -m gradrank.report.tables.readme`.

The table lies between two markers; a test fails where README and results disagree.
"""

from collections.abc import Mapping
from pathlib import Path

from gradrank.errors import GradrankError
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.per_query import QueryValues, read_compact
from gradrank.evaluation.published import lookup
from gradrank.evaluation.verdict import judge_values
from gradrank.files import atomic
from gradrank.report.tables.numbers import best
from gradrank.report.tables.table import pipe_table
from gradrank.report.tables.verdicts import MARKS
from gradrank.results import Results

BEGIN, END = "<!-- results: made by `make readme` -->", "<!-- /results -->"
BEST = 12
JUDGED = "ndcg@10"
METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "mean_ndcg", "map", "p@10")


def result_table(
    summary: Mapping[str, Mapping[str, float]], values: Mapping[str, QueryValues], dataset: str
) -> str:
    """The BEST methods by NDCG@10 and those with a published one; best values in bold.

    values: each method's, NDCG@10 among them, by which the published numbers in the last column get their verdicts.
    """
    bold = {metric: best({model: values[metric] for model, values in summary.items()}) for metric in METRICS}
    rows = []
    for place, model in enumerate(sorted(summary, key=lambda name: -summary[name][JUDGED])):
        published = {
            f"{there.value:.4f} {MARKS[judge_values(there.value, there.folds, values[model], JUDGED).verdict]}": None
            for there in lookup(dataset, model, JUDGED)
        }
        if place >= BEST and not published:
            continue
        cells = [f"{summary[model][metric]:.4f}" for metric in METRICS]
        cells = [
            f"**{cell}**" if model in bold[metric] else cell
            for metric, cell in zip(METRICS, cells, strict=True)
        ]
        rows.append([f"`{model}`", *cells, ", ".join(published)])
    return pipe_table(["method", *map(metric_label, METRICS), "published NDCG@10"], rows)


def with_table(text: str, table: str) -> str:
    """The README's text with the table between its markers. Raises GradrankError without the markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise GradrankError(f"README.md: expected the markers {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(readme: Path = Path("README.md"), results: Path = Path("results")) -> None:
    own = Results(results).dataset("mq2007")
    table = result_table(own.summary(), read_compact(own), own.name)
    text = with_table(readme.read_text(encoding="utf-8"), table)
    with atomic(readme) as partial:
        partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
