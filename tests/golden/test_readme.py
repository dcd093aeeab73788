"""README.md and docs/results.md show the numbers of the committed results."""

import re
from pathlib import Path

import pytest
from scipy.stats import norm

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.bench.folds.per_query import read_compact
from gradrank.bench.literature import lookup
from gradrank.bench.report.readme import (
    PAGE,
    PICTURE,
    README,
    contest_best,
    contest_differences,
    contest_standings,
    parts_of_pages,
    picture,
    published_table,
    result_table,
    with_results,
)
from gradrank.bench.report.tables.dataset_values import DatasetValues
from gradrank.training.registry import models

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "results/studies/contest/numbers.json"


@pytest.fixture
def text() -> str:
    return (ROOT / PAGE).read_text(encoding="utf-8")


def shown(page: str, text: str, numbers: dict) -> str:
    values = read_compact(ROOT / "results/mq2007/queries.parquet")
    ranked = contest_standings(numbers, "mq2007")
    of_all = DatasetValues("mq2007", values[0], {model: {values[0]: of} for model, of in values[1].items()})
    published = published_table(of_all, [row.model for row in ranked.rows])
    return with_results(text, parts_of_pages(numbers, ranked, published)[page], page)


@pytest.mark.parametrize("page", [README, PAGE])
def test_a_page_shows_the_committed_contest_and_notices_a_changed_number(page):
    text, numbers = (ROOT / page).read_text(encoding="utf-8"), read_json(NUMBERS)
    assert shown(page, text, numbers) == text, "run `make readme`"
    numbers["results_mq2007"][0]["ndcg@10"] += 0.0001
    assert shown(page, text, numbers) != text


def test_readme_is_read_in_minutes_and_its_rows_are_those_of_the_page(text):
    """The five rows have the values, the bold marks and the differences of the full table."""
    short = (ROOT / README).read_text(encoding="utf-8")
    assert len(short.splitlines()) <= 150
    few, full = (re.findall(r"^\| (`\w+` \| \**0\.\d+\** ± [^|]* \| [^|]*?) *\|", page, re.M) for page in (short, text))
    assert len(few) == 5 and set(few) < set(full) and len(full) == 20


def test_published_numbers_are_judged_by_the_narrowest_interval(text):
    """Every published NDCG@10 of the contest's methods has one row with its own name, and no wide interval but one."""
    others = len(read_json(ROOT / "results/mq2007/summary.json")) - 1
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.endswith(f" of {others} |")]
    methods = {row.model for row in contest_standings(read_json(NUMBERS), "mq2007").rows}
    wanted = {
        (f"`{model}`", published.method, f"{published.value:.4f}")
        for model in methods
        for published in lookup("mq2007", model, "ndcg@10")
    }
    assert {(model, name.partition(",")[0], value) for model, name, value, *_ in rows} == wanted
    intervals = {(model, name.partition(",")[0]): over for model, name, _, _, over, *_ in rows}
    assert [key for key, over in intervals.items() if over == "queries"] == [("`ranksvm`", "RankSVM")]
    assert intervals["`listnet`", "ListNet (RankLib)"] == "runs"
    kernel = next(row for row in rows if row[0] == "`ranknet_kernel`")
    assert kernel[1].startswith("RBF-Nystroem-RankSVM, a relative")


def test_the_picture_of_readme_shows_the_full_table(text):
    ranked = contest_standings(read_json(NUMBERS), "mq2007")
    drawn = (ROOT / PICTURE).read_text(encoding="utf-8")
    assert f"/{PICTURE})" in (ROOT / README).read_text(encoding="utf-8") and drawn == picture(ranked), (
        "run `make readme`"
    )
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    means = {name.strip("| `"): cells[0] for name, *cells in rows if " ± " in cells[0]}
    for row in ranked.rows:
        assert drawn.count(f">{row.model}</text>") == 1
        assert means[row.model].startswith(f"{row.mean:.4f}" if row.is_worse else f"**{row.mean:.4f}**")
    assert drawn.count('class="shaded"') == sum(not row.is_worse for row in ranked.rows)


def test_readme_counts_the_methods():
    assert f"**{len(models())} methods" in (ROOT / README).read_text(encoding="utf-8")


def tiny(halves, means):
    """Return the numbers of a contest with these means, and half widths of the intervals of the differences."""
    values = {f"{name}{end}": 0.01 for name in ("ndcg@10", "map", "mean_ndcg", "p@10") for end in ("", " half")}
    pairs = []
    for (a, b), half in halves.items():
        gap = means[a] - means[b]
        error = half / norm.isf(0.025)
        row = {"first": a, "second": b, "difference": gap, "low": gap - half, "high": gap + half, "error": error}
        pairs.append(row | {"p": float(2 * norm.sf(abs(gap) / error)), "freedom": None})
    return {"results_tiny": [{"method": name} | values | {"ndcg@10": mean} for name, mean in means.items()]} | {
        "pairs_tiny": pairs
    }


def test_bold_are_those_that_may_be_the_best_by_the_intervals_of_the_differences():
    """Three methods at .50, .49 and .48, of which the last has a narrow interval of its difference from the first."""
    means = {"one": 0.5, "near": 0.49, "ranksvm": 0.48, "constant score, file order": 0.1}
    halves = {("one", "near"): 0.012, ("one", "ranksvm"): 0.008, ("near", "ranksvm"): 0.012}
    lines = result_table(tiny(halves, means), "tiny").splitlines()[2:]
    cells = [line.split(" | ")[1] for line in lines]
    assert cells == ["**0.5000** ± 0.0100", "**0.4900** ± 0.0100", "0.4800 ± 0.0100", "0.1000 ± 0.0100"]
    best = contest_best(tiny(halves, means), "tiny")
    assert best["one"].p == 1 and best["near"].p > 0.05 > best["ranksvm"].p > 0


def test_differences_from_the_baseline_have_its_sign_and_one_correction():
    """The p values .02 and .03 are corrected for two comparisons with the baseline; the third pair does not count."""
    means = {"above": 0.53, "ranksvm": 0.5, "below": 0.47}
    halves = {("above", "ranksvm"): 0.03 * 1.96 / 3, ("ranksvm", "below"): 0.03 * 1.96 / 2, ("above", "below"): 0.01}
    above, below = contest_differences(tiny(halves, means), "tiny")
    assert (above["model"], above["decision"], below["model"], below["decision"]) == (
        "above",
        "better",
        "below",
        "worse",
    )
    assert below["difference"] == pytest.approx(-0.03) and below["low"] < below["difference"] < below["high"] < 0
    halves["ranksvm", "below"] *= 1.1  # p is .069
    assert [row["decision"] for row in contest_differences(tiny(halves, means), "tiny")] == ["better", "no evidence"]


def test_readme_without_markers_is_refused():
    with pytest.raises(GradrankError, match="markers"):
        with_results("# gradrank\n", [], README)
