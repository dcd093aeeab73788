"""Detectable differences against the noncentral distribution, and by simulation with queries of MQ2007."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct, t

from gradrank.bench.folds.per_query import read_compact
from gradrank.comparison.significance import POWER, detectable_difference

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("queries", [3, 20, 61, 106, 1692])
@pytest.mark.parametrize("comparisons", [1, 19, 190])
def test_the_noncentral_t_distribution_gives_a_power_of_80_percent(queries, comparisons):
    shift = detectable_difference(1.0, queries, comparisons)
    critical = t.isf(0.025 / comparisons, queries - 1)
    assert nct.sf(critical, queries - 1, shift) == pytest.approx(POWER, abs=1e-4)


def test_it_is_proportional_to_the_error_and_grows_with_the_comparisons():
    assert detectable_difference(0.004, 300, 7) == pytest.approx(4 * detectable_difference(0.001, 300, 7))
    found = [detectable_difference(1.0, 300, comparisons) for comparisons in (1, 2, 20, 200)]
    assert found == sorted(found) and len(set(found)) == 4
    assert detectable_difference(1.0, math.inf) == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    assert math.isnan(detectable_difference(1.0, 1))


@pytest.mark.parametrize(("dataset", "pair"), [("mq2007", ("xendcg", "ranksvm")), ("ohsumed", ("mart", "ranksvm"))])
def test_eight_of_ten_samples_of_queries_detect_it(dataset, pair):
    """The differences of two methods are shifted to the detectable mean; samples are drawn with replacement."""
    _, values = read_compact(ROOT / f"results/{dataset}/queries.parquet")
    first, second = (values[name].values["ndcg@10"] for name in pair)
    gaps, comparisons = first - second, 19
    error = gaps.std(ddof=1) / math.sqrt(len(gaps))
    gaps += detectable_difference(error, len(gaps), comparisons) - gaps.mean()
    samples = gaps[np.random.default_rng(3).integers(len(gaps), size=(4000, len(gaps)))]
    statistic = samples.mean(axis=1) / samples.std(axis=1, ddof=1) * math.sqrt(len(gaps))
    found = np.mean(np.abs(statistic) > t.isf(0.025 / comparisons, len(gaps) - 1))
    assert found == pytest.approx(POWER, abs=0.05)


def test_the_first_estimates_for_mq2007_and_ohsumed():
    """For all pairs of the 20 methods of the contest, with one seed: about .015 and .047."""
    for dataset, estimate in {"mq2007": 0.015, "ohsumed": 0.047}.items():
        _, values = read_compact(ROOT / f"results/{dataset}/queries.parquet")
        columns = [values[name].runs("ndcg@10").values[0, 0] for name in METHODS]  # of the first seed
        errors = [
            np.std(one - other, ddof=1) / math.sqrt(len(one))
            for i, one in enumerate(columns)
            for other in columns[i + 1 :]
        ]
        found = detectable_difference(float(np.median(errors)), len(columns[0]), len(errors))
        assert found == pytest.approx(estimate, rel=0.12)


METHODS = (
    *("single_feature", "regression", "ranksvm", "ranknet_linear", "listnet", "coordinate_ascent", "prank"),
    *("adarank_ndcg", "rankboost", "ranknet_kernel", "ranknet_two_layer", "lambdarank", "softmax", "approx_ndcg"),
    *("lambdaloss", "attention_lambdaloss", "mart", "lambdamart", "xendcg", "fusion"),
)
