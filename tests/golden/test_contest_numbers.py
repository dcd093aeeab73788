"""The committed contest shows the frozen choices, and its claims follow from its numbers."""

import re
from pathlib import Path

import pytest

from gradrank.base.files import read_json
from gradrank.bench.config.params import load
from gradrank.bench.literature import lookup
from gradrank.bench.tuning.choices import by_validation
from gradrank.bench.tuning.folders import Contest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results/studies/contest"
SETTINGS = load(ROOT / "params.yaml").study_settings("contest")
DATASETS = SETTINGS["datasets"]


@pytest.fixture(scope="module")
def numbers():
    return read_json(ROOT / "results/studies/contest/numbers.json")


@pytest.fixture(scope="module")
def choices():
    return read_json(ROOT / "results/studies/contest/choices.json")


def means(numbers, dataset):
    """Return the rows of the methods by name, without those of the constant score."""
    rows = {row["method"]: row for row in numbers[f"results_{dataset}"]}
    return {method: rows[method] for method in SETTINGS["methods"]}


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_method_s_choices_on_the_page_are_the_frozen_ones(numbers, choices, dataset):
    shown = {(row["method"], row["fold"], row["tuner"]): row for row in numbers[f"chosen_{dataset}"]}
    assert len(shown) == len(numbers[f"chosen_{dataset}"])
    for key, frozen in choices.items():
        of, method, fold = key.split("/")
        for tuner in [name for name in frozen if of == dataset and name != "sha256"]:
            row = shown.pop((method, int(fold.removeprefix("fold")), int(tuner.removeprefix("tuner"))))
            assert row["trial"] == frozen[tuner]["trial"]
    assert not shown


def test_the_picture_by_year_shows_the_values_of_the_contest(numbers):
    drawn = (ROOT / "docs/timeline.svg").read_text()
    shown = {float(value) for value in re.findall(r'aria-label="\d{4}: (\S+) ±', drawn)}
    assert len(shown) > 10 and shown <= {round(row["ndcg@10"], 4) for row in numbers["results_mq2007"]}


@pytest.mark.parametrize("dataset", DATASETS)
def test_claims_about_pairs_follow_from_holm(numbers, dataset):
    pairs = sorted(numbers[f"pairs_{dataset}"], key=lambda row: row["p"])
    count = len(SETTINGS["methods"])
    assert len(pairs) == count * (count - 1) // 2
    corrected = 0.0
    for place, row in enumerate(pairs):
        corrected = min(1.0, max(corrected, row["p"] * (len(pairs) - place)))
        assert row["corrected"] == pytest.approx(corrected, abs=len(pairs) * 1e-6)
        assert (row["verdict"] == "better") == (row["corrected"] < 0.05)
    rows = means(numbers, dataset)
    for row in pairs:
        gap = rows[row["first"]]["ndcg@10"] - rows[row["second"]]["ndcg@10"]
        assert row["difference"] == pytest.approx(gap, abs=2e-6) and gap >= 0
        assert row["low"] <= row["difference"] <= row["high"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_shares_of_the_variance_are_shares(numbers, dataset):
    for row in numbers[f"variances_{dataset}"]:
        parts = [row.get(name) or 0.0 for name in ("queries", "seeds", "tuning", "training")]
        assert sum(parts) == pytest.approx(1, abs=1e-5) and min(parts) >= 0


@pytest.mark.parametrize("dataset", DATASETS)
def test_published_values_lie_in_the_intervals(numbers, dataset):
    outside = {
        (method, round(there.value, 4))
        for method, row in means(numbers, dataset).items()
        for there in lookup(dataset, method, "ndcg@10")
        if abs(there.value - row["ndcg@10"]) > row["ndcg@10 half"]
    }
    # The runs of RankLib's ListNet are lower than ours on every fold.
    assert outside == ({("listnet", 0.4187)} if dataset == "mq2007" else set())


def test_the_ten_methods_that_are_best_by_validation_have_five_tuners():
    """No test value influences the number of tuners."""
    ranks = by_validation(Contest(FOLDER), SETTINGS["datasets"], SETTINGS["methods"], 2)
    tuners = {method: len(Contest(FOLDER).trials.existing("mq2007", method)) for method in ranks}
    assert all(tuners[method] == 5 for method in list(ranks)[:10])
