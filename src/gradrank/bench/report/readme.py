"""Write the results in README.md and docs/results.md: `make readme`, or `python -m gradrank.bench.report.readme`.

A sentence, tables and the picture docs/contest.svg are built from results/studies/contest/numbers.json. A table of
published numbers is built from results/mq2007/queries.parquet. They replace the text between two markers of each page.
README.md has five rows, docs/results.md all. A test fails if a page or the picture does not match the results.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, read_json
from gradrank.base.text_tables import number, pipe_table
from gradrank.bench.folds.per_query import read_compact
from gradrank.bench.folds.settings import BASELINE
from gradrank.bench.literature import lookup
from gradrank.bench.report.plots.row_plots import intervals
from gradrank.bench.report.plots.svg import stacked, standalone
from gradrank.bench.report.standings import Standing, Standings, families
from gradrank.bench.report.tables.dataset_values import (
    DatasetValues,
    band_rows,
    detectable_sentence,
    difference_text,
    published_rows,
)
from gradrank.bench.report.tables.table import MARKS, Row, bold_rule, explain_marks, in_bold
from gradrank.bench.results import Results
from gradrank.comparison.significance import Candidate, candidates, covariance_of_errors, decide, detectable_difference
from gradrank.comparison.statistics import LEVEL, holm
from gradrank.measures.metrics import metric_label

BEGIN, END = "<!-- results: made by `make readme` -->", "<!-- /results -->"
DATASET = "mq2007"
README, PAGE = "README.md", "docs/results.md"
PICTURE = "docs/contest.svg"
SHOWN = ("fusion", "xendcg", "ranknet_kernel", "lambdamart", BASELINE)  # in README.md
JUDGED = "ndcg@10"
METRICS = (JUDGED, "map", "mean_ndcg", "p@10")
UNMEASURED = "†"
COVERED = "test queries, training queries, seeds and tuning"
CONTEST = (
    "± is half the 95% interval over test queries, seeds and tuning. "
    f"{bold_rule(COVERED, f' in the column {metric_label(JUDGED)}')} "
    f"To compare a method with `{BASELINE}`, use the 95% interval of their difference, which has no correction. "
    f"▲: better, ▼: worse than `{BASELINE}` (p < {LEVEL:g} with Holm's correction for the methods of the table)."
)
PUBLISHED = (
    "**Published numbers.** Ours are those of the run with one setting for all folds "
    "([results/mq2007/summary.md](../results/mq2007/summary.md)), under the convention of the published ones. Some of "
    "its settings were chosen on the validation parts of all folds, which together have the queries of the test parts, "
    "so these values can be too high. The linked page has all published numbers, also of other metrics, and counts the "
    f"verdicts. {explain_marks()} The last column counts our other methods that would be reproduced or consistent, "
    "each by its own interval. The fewer they are, the more a verdict says. An interval over queries is that of our "
    "mean alone. Both values come from the same queries, so it is wider than one of paired differences, such as those "
    "over folds, and a verdict by it says little."
)


def result_table(
    numbers: Mapping[str, Sequence[Mapping[str, Any]]],
    dataset: str,
    metrics: Sequence[str] = METRICS,
    methods: Sequence[str] | None = None,
) -> str:
    """Return a Markdown table of the contest's methods on a data set, sorted by NDCG@10.

    NDCG@10 is in bold by the rule of `gradrank.bench.report.tables.table`. numbers: content of the contest's
    numbers.json. metrics: the metrics of the columns, NDCG@10 first. methods: the methods of the rows; None for all.
    Differences and bold do not depend on which methods have a row.
    """
    best = contest_best(numbers, dataset)
    bold = in_bold({method: {"p_best": own.p} for method, own in best.items()})
    differences = {
        row["model"]: f"{difference_text(row)}{'' if row['is_measured'] else f' {UNMEASURED}'}"
        for row in contest_differences(numbers, dataset)
    }
    rows = []
    for row in numbers[f"results_{dataset}"]:
        if methods is not None and row["method"] not in methods:
            continue
        is_method = row["method"] in best  # the other rows are reference rankings, such as a constant score
        cells = [f"{row[metric]:.4f} ± {row[f'{metric} half']:.4f}" for metric in metrics]
        if row["method"] in bold:
            cells[0] = f"**{row[JUDGED]:.4f}** ± {row[f'{JUDGED} half']:.4f}"
        name = f"`{row['method']}`" if is_method else f"*{row['method']}*"
        rows.append([name, cells[0], differences.get(row["method"], ""), *cells[1:]])
    difference = f"{metric_label(JUDGED)} − `{BASELINE}`"
    return pipe_table(["method", metric_label(JUDGED), difference, *map(metric_label, metrics[1:])], rows)


def published_table(values: DatasetValues, methods: Sequence[str]) -> str:
    """Return a Markdown table of the published values of NDCG@10 of some methods beside ours.

    A value that several sources print has one row. The interval is the narrowest one that the published numbers allow,
    as in summary.md. values: the per-query values of all methods of the data set.
    """
    bands = [row for row in band_rows(values) if row["metric"] == JUDGED]
    inside = {(row["model"], row["method"], row["published"], row["of"]): row["inside"] for row in bands}
    rows: dict[tuple[str, str, float], list[str]] = {}
    for row in published_rows(values):
        model, published, judged = row.measured.model, row.published, row.judged
        key = model, published.method, published.value
        if row.measured.metric != JUDGED or model not in methods or key in rows:
            continue
        rows[key] = [
            f"`{model}`",
            f"{published.method}, {published.note}" if published.note else published.method,
            number(published.value),
            f"{number(judged.difference, '+.4f')} ± {number(judged.half_width)}",
            judged.of,
            f"{MARKS[judged.verdict]} {judged.verdict}",
            f"{inside[*key, judged.of]} of {row.others}",
        ]
    head = ["method", "published as", "published", "ours minus it", "± over", "verdict", "others alike"]
    return pipe_table(head, list(rows.values()))


def contest_best(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> dict[str, Candidate]:
    """Return the result of `best_methods` for each method of the contest.

    The standard errors of the pairs cover test queries, training queries, seeds and tuning. The degrees of freedom are
    the median of those of the pairs.
    """
    pairs = numbers[f"pairs_{dataset}"]
    means = {row["method"]: row[JUDGED] for row in numbers[f"results_{dataset}"]}
    methods = [method for method in means if any(method in (pair["first"], pair["second"]) for pair in pairs)]
    errors = np.zeros((len(methods), len(methods)))
    for pair in pairs:
        i, j = methods.index(pair["first"]), methods.index(pair["second"])
        errors[i, j] = errors[j, i] = pair["error"]
    freedom = float(np.median([pair["freedom"] or math.inf for pair in pairs])) if pairs else math.inf
    found = candidates(np.array([means[method] for method in methods]), covariance_of_errors(errors), freedom)
    return dict(zip(methods, found, strict=True))


def contest_differences(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> list[Row]:
    """Return one row per method of the contest other than the baseline: the difference, its interval and the decision.

    The p values of the contest are corrected by Holm for the methods that are compared with the baseline.
    """
    pairs = [pair for pair in numbers[f"pairs_{dataset}"] if BASELINE in (pair["first"], pair["second"])]
    rows = []
    for pair, p in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        model, sign = (pair["second"], -1) if pair["first"] == BASELINE else (pair["first"], 1)
        low, high = sorted((sign * pair["low"], sign * pair["high"]))
        row = {"model": model, "difference": sign * pair["difference"], "low": low, "high": high}
        row |= {"detectable": detectable_difference(pair["error"], (pair["freedom"] or math.inf) + 1, len(pairs))}
        rows.append(row | {"decision": decide(float(p), low, high), "is_measured": not pair.get("unmeasured")})
    return rows


def unmeasured_sentence(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> str:
    """Return the sentence about the comparisons that do not cover the training queries; empty if all do."""
    rows = contest_differences(numbers, dataset)
    names = [f"`{row['model']}`" for row in rows if not row["is_measured"]]
    if not names:
        return ""
    if len(names) == len(rows):
        return f"{UNMEASURED}: no comparison covers other training queries."
    return (
        f"{UNMEASURED}: the comparison does not cover other training queries, because their effect was not measured "
        f"for {'this method' if len(names) == 1 else f'these {len(names)} methods'}: {', '.join(names)}."
    )


def contest_standings(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> Standings:
    """Return the methods of the contest by NDCG@10."""
    best, family_of = contest_best(numbers, dataset), families()
    rows = [row for row in numbers[f"results_{dataset}"] if row["method"] in best]
    differences = contest_differences(numbers, dataset)
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
                is_worse=best[row["method"]].p < LEVEL,
            )
            for row in rows
        ],
        BASELINE,
        frozenset(row["model"] for row in differences if row["decision"] == "better"),
    )


def picture(ranked: Standings) -> str:
    """Return the text of an SVG file: one row per method, best first. Methods that may be the best are shaded."""
    plot = intervals(ranked)
    if plot is None:
        raise GradrankError("The contest has no methods. Fix: run `snakemake contest`")
    return standalone(stacked(plot.ranked, plot.axis, ".4f", plot.level))


def contest_note(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> str:
    """Return the sentences below the table of the contest. The last ones say what could have been detected."""
    best = [{"metric": JUDGED, "detectable": own.detectable} for own in contest_best(numbers, dataset).values()]
    rows = [row | {"metric": JUDGED} for row in contest_differences(numbers, dataset)]
    detectable = detectable_sentence([(f"`{BASELINE}`", rows), ("the best method", best)])
    return " ".join(filter(None, [CONTEST, unmeasured_sentence(numbers, dataset), *detectable]))


def short_note(numbers: Mapping[str, Sequence[Mapping[str, Any]]], dataset: str) -> str:
    """Return the sentences below the table of README.md."""
    undecided = [row["detectable"] for row in contest_differences(numbers, dataset) if row["decision"] == "no evidence"]
    sentences = [
        f"These are {len(SHOWN)} of {len(contest_best(numbers, dataset))} methods. Brackets are 95% intervals. ▲ marks "
        f"a significant difference from `{BASELINE}` (p < {LEVEL:g} with Holm's correction for all methods). For "
        f"{len(undecided)} methods, no difference from `{BASELINE}` is shown, which does not mean equal: only true "
        f"differences above {max(undecided):.4f} would have been found with a probability of 80% for each of them.",
        "`fusion` combines the scores of the other methods and learns its weights from validation queries.",
        unmeasured_sentence(numbers, dataset),
    ]
    return " ".join(filter(None, sentences))


def with_results(text: str, parts: Sequence[str], page: str) -> str:
    """Return the text of a page with the parts, separated by empty lines, between the two markers.

    Raises GradrankError if a marker is missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise GradrankError(f"{page}: no {BEGIN if not begin else END!r}. Fix: put the two markers around the results")
    results = "\n\n".join(parts)
    return f"{before}{BEGIN}\n{results}\n{END}{after}"


def results_of(results: Results) -> tuple[Standings, dict[str, list[str]]]:
    """Return the methods of the contest, and by page the parts that stand between its two markers."""
    numbers = read_json(results.study("contest").numbers_path)
    ranked = contest_standings(numbers, DATASET)
    convention, measured = read_compact(results.dataset(DATASET).queries_path)
    values = DatasetValues(DATASET, convention, {model: {convention: of} for model, of in measured.items()})
    published = published_table(values, [row.model for row in ranked.rows])
    return ranked, parts_of_pages(numbers, ranked, published)


def parts_of_pages(
    numbers: Mapping[str, Sequence[Mapping[str, Any]]], ranked: Standings, published: str
) -> dict[str, list[str]]:
    """Return by page the parts that stand between its two markers. published: the table of published numbers."""
    answer = f"**{ranked.answer()}**"
    short = result_table(numbers, DATASET, [JUDGED], SHOWN)
    full = result_table(numbers, DATASET)
    return {
        README: [answer, short, short_note(numbers, DATASET)],
        PAGE: [answer, full, contest_note(numbers, DATASET), PUBLISHED, published],
    }


def main(folder: Path = Path(), results: Path = Path("results")) -> None:
    """Replace the results in README.md and docs/results.md of a folder, and write docs/contest.svg."""
    ranked, parts = results_of(Results(results))
    texts = {page: with_results((folder / page).read_text(encoding="utf-8"), parts[page], page) for page in parts}
    for page, content in (texts | {PICTURE: picture(ranked)}).items():
        with atomic(folder / page) as partial:
            partial.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
