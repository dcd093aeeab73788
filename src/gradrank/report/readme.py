"""Write the README's results: `make readme`, or `python -m gradrank.report.readme`.

A sentence, a table and the picture docs/contest.svg are built from results/studies/contest/numbers.json. The sentence
and the table replace the text between two markers in README.md. A test fails if README.md or the picture does not match
the results.
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
from gradrank.report.plots.figure_files import standalone
from gradrank.report.plots.intervals import intervals
from gradrank.report.plots.strips import stacked
from gradrank.report.standings import Standing, Standings, families
from gradrank.report.tables.verdicts import MARKS

BEGIN, END = "<!-- results: made by `make readme` -->", "<!-- /results -->"
DATASET = "mq2007"
PICTURE = "docs/contest.svg"
JUDGED = "ndcg@10"
METRICS = (JUDGED, "map", "mean_ndcg", "p@10")


def result_table(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> str:
    """Return a Markdown table of the contest's methods on a data set, sorted by NDCG@10.

    NDCG@10 is in bold if the method is not significantly worse than the method in the first row. The last column has
    the published values of NDCG@10 with the marks of their verdicts. numbers: content of the numbers.json of the
    contest.
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


def contest_standings(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> Standings:
    """Return the methods of the contest by NDCG@10, with the pairs that the contest calls better."""
    pairs = numbers[f"pairs_{dataset}"]
    better = frozenset((pair["first"], pair["second"]) for pair in pairs if pair["verdict"] == "better")
    methods = {name for pair in pairs for name in (pair["first"], pair["second"])}
    rows = [row for row in numbers[f"results_{dataset}"] if row["method"] in methods]
    first, family_of = rows[0]["method"], families()
    return Standings(
        JUDGED,
        [
            Standing(
                model=row["method"],
                family=family_of.get(row["method"], ""),
                mean=row[JUDGED],
                half_width=row[f"{JUDGED} half"],
                published=[
                    {"published": each.value, "method": each.method, "source": each.source}
                    for each in lookup(dataset, row["method"], JUDGED)
                ],
                is_worse=(first, row["method"]) in better,
            )
            for row in rows
        ],
        better,
    )


def picture(ranked: Standings) -> str:
    """Return the text of an SVG file: one row per method, best first. Methods that are not worse are shaded."""
    plot = intervals(ranked)
    if plot is None:
        raise GradrankError("The contest has no methods. Fix: run `snakemake contest`")
    return standalone(stacked(plot.ranked, plot.axis, ".4f", plot.level))


def _published(dataset: str, row: Mapping[str, Any]) -> str:
    """Return the published values with the marks of their verdicts, such as `0.4439 ≈, 0.4383 ≈`."""
    band = Band(row[f"{JUDGED} half"], QUERIES)
    values = dict.fromkeys(published.value for published in lookup(dataset, row["method"], JUDGED))
    return ", ".join(f"{value:.4f} {MARKS[judge(value, row[JUDGED], band).verdict]}" for value in values)


def with_results(text: str, ranked: Standings, table: str) -> str:
    """Return the README text with the sentence and the table between the two markers.

    Raises GradrankError if a marker is missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise GradrankError(f"README.md: no {BEGIN if not begin else END!r}. Fix: put the two markers around the table")
    return f"{before}{BEGIN}\n**{ranked.answer()}**\n\n{table}\n{END}{after}"


def main(readme: Path = Path("README.md"), results: Path = Path("results")) -> None:
    """Replace the results in README.md, and write docs/contest.svg next to it."""
    numbers = read_json(Results(results).study("contest").numbers_path)
    ranked = contest_standings(numbers, DATASET)
    text = with_results(readme.read_text(encoding="utf-8"), ranked, result_table(numbers, DATASET))
    for path, content in ((readme, text), (readme.parent / PICTURE, picture(ranked))):
        with atomic(path) as partial:
            partial.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
