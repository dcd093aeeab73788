"""Write the README's table of results: `make readme`, or `python -m gradrank.report.tables.readme`.

The table is built from results/studies/contest/numbers.json and replaces the text between two markers in README.md.
A test fails if the table in README.md does not match the results.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, read_json
from gradrank.base.results import Results
from gradrank.base.text_tables import pipe_table
from gradrank.evaluation.literature.published import lookup
from gradrank.evaluation.literature.verdict import QUERIES, Band, judge
from gradrank.evaluation.metrics import metric_label
from gradrank.report.tables.verdicts import MARKS

BEGIN, END = "<!-- results: made by `make readme` -->", "<!-- /results -->"
DATASET = "mq2007"
JUDGED = "ndcg@10"
METRICS = (JUDGED, "map", "mean_ndcg", "p@10")


def result_table(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> str:
    """Return a Markdown table of the contest's methods on a data set, sorted by NDCG@10.

    NDCG@10 is in bold if it is not significantly below the value in the first row. The last column has the published
    values of NDCG@10 with the marks of their verdicts. numbers: content of the numbers.json of the contest.
    """
    results = numbers[f"results_{dataset}"]
    below = {
        pair["second"]
        for pair in numbers[f"pairs_{dataset}"]
        if pair["first"] == results[0]["method"] and pair["verdict"] == "better"
    }
    methods = {name for pair in numbers[f"pairs_{dataset}"] for name in (pair["first"], pair["second"])}
    rows = []
    for row in results:
        is_method = row["method"] in methods  # the other rows are reference rankings, such as a constant score
        cells = [f"{row[metric]:.4f} ± {row[f'{metric} half']:.4f}" for metric in METRICS]
        if is_method and row["method"] not in below:
            cells[0] = f"**{row[JUDGED]:.4f}** ± {row[f'{JUDGED} half']:.4f}"
        published = _published(dataset, row) if is_method else ""
        rows.append([f"`{row['method']}`" if is_method else f"*{row['method']}*", *cells, published])
    return pipe_table(["method", *map(metric_label, METRICS), "published NDCG@10"], rows)


def _published(dataset: str, row: Mapping[str, Any]) -> str:
    """Return the published values with the marks of their verdicts, such as `0.4439 ≈, 0.4383 ≈`."""
    band = Band(row[f"{JUDGED} half"], QUERIES)
    values = dict.fromkeys(published.value for published in lookup(dataset, row["method"], JUDGED))
    return ", ".join(f"{value:.4f} {MARKS[judge(value, row[JUDGED], band).verdict]}" for value in values)


def with_table(text: str, table: str) -> str:
    """Return the README text with `table` between the two markers. Raises GradrankError if a marker is missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise GradrankError(f"README.md: no {BEGIN if not begin else END!r}. Fix: put the two markers around the table")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(readme: Path = Path("README.md"), results: Path = Path("results")) -> None:
    """Replace the table of results in README.md."""
    table = result_table(read_json(Results(results).study("contest").numbers_path), DATASET)
    text = with_table(readme.read_text(encoding="utf-8"), table)
    with atomic(readme) as partial:
        partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
