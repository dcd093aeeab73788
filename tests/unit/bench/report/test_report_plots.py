"""The report's plots, compared with the values that they show."""

import re
from itertools import combinations

import numpy as np
import pytest

from gradrank.bench.report.contents import ReportedDataset, read_contents
from gradrank.bench.report.plots import paired_tests as two_methods_module
from gradrank.bench.report.plots.line_plots import swept
from gradrank.bench.report.plots.paired_tests import MOST_VALUES, difference_plot, paired_tests, two_methods
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import Results
from gradrank.comparison.statistics import compare_all
from made_results import make_results

MODELS = ("lambdamart", "ranknet_linear", "ranksvm", "single_feature")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("plots")
    summary(make_results(root, models=MODELS), MODELS, "letor4")
    found = Results(root / "results")
    return read_contents(found, "letor4", root / "params.yaml", root / "data" / "parquet").datasets[0]


def dataset_of(queries, tables=None):
    """Return a data set with only (q,) values by model and tables."""
    summary = {model: {"ndcg@10": round(float(np.nanmean(v)), 4)} for model, v in queries.items()}
    return ReportedDataset("d", "d", "letor4", summary, tables or {}, queries, {}, None, [])


def polygons(drawing):
    """Return the points (x, y) of a difference plot's polygons by class."""
    found = re.findall(r'<polygon points="([^"]*)" class="(\w+)"', str(drawing))
    return {name: [tuple(map(float, xy.split(","))) for xy in points.split()] for points, name in found}


def test_difference_plot_draws_every_query_in_order():
    drawn = polygons(difference_plot("a", "b", [9000, 0, 5000, 2000], [1000, 0, 10_000, 2000]))
    across, middle, half = (350 - 34) / 3, (14 + 224) / 2, (224 - 14) / 2
    gaps = [1, 0, 0, -0.5 / 0.8]  # shares of the axis, which ends at the largest difference
    for name, sign in (("wins", 1), ("losses", -1)):
        want = [(34 + i * across, middle - sign * max(sign * gap, 0) * half) for i, gap in enumerate(gaps)]
        assert drawn[name] == pytest.approx(np.array([(34, middle), *want, (350, middle)]), abs=0.051)


def test_the_axis_of_a_difference_plot_ends_near_the_largest_difference():
    small = str(difference_plot("a", "b", [5100, 5000], [5000, 5320]))
    assert ">+0.050<" in small and ">+1" not in small
    assert max(abs(y - 119) for _, y in polygons(small)["losses"]) == pytest.approx(105 * 320 / 500, abs=0.06)


def test_embedded_values_are_those_of_the_test_queries(dataset):
    found = two_methods(dataset)
    assert found.chosen == tuple(dataset.ranked()[:2])
    assert found.every == 1
    for model, values in zip(found.models, found.data["values"], strict=True):
        np.testing.assert_allclose(np.array(values) / 1e4, dataset.queries[model], atol=5.001e-5)


def test_values_of_large_collections_are_thinned(monkeypatch):
    values = {"a": np.linspace(0, 1, 84_600), "b": np.zeros(84_600), "c": np.ones(84_600)}
    found = two_methods(dataset_of(values))
    assert found.every == 2
    assert sum(map(len, found.data["values"])) <= MOST_VALUES
    monkeypatch.setattr(two_methods_module, "MOST_VALUES", 10)
    assert sum(map(len, two_methods(dataset_of(values)).data["values"])) <= 10


def test_undefined_values_are_marked():
    found = two_methods(dataset_of({"a": np.array([0.5, np.nan]), "b": np.array([0.25, 1.0])}))
    assert dict(zip(found.models, found.data["values"], strict=True)) == {"a": [5000, -1], "b": [2500, 10_000]}


def test_stored_tests_have_the_sign_of_their_pair(dataset):
    models = dataset.ranked()
    stored = paired_tests(dataset.tables["pairwise"], models)
    assert set(stored) == {"ndcg@10", "map"}
    assert set(stored["ndcg@10"]) == {f"{i},{j}" for i, j in combinations(range(4), 2)}
    folds = np.repeat(np.arange(1, 6), [7, 8, 9, 10, 11])  # of made_results
    rows = compare_all({model: dataset.queries[model] for model in models}, folds)
    for row in rows:
        i, j = models.index(row["model_a"]), models.index(row["model_b"])
        got = stored["ndcg@10"][f"{i},{j}"]
        keys = ("difference", "low", "high", "wins", "ties", "losses", "wilcoxon_holm", "t_holm")
        assert got == pytest.approx([row[key] for key in keys], abs=1.01e-4)


def test_swept_parameters_have_the_names_of_the_variants_and_the_values_of_the_spec():
    params = {
        "lambdamart": {"learning_rate": 0.05},
        "lambdamart-learning_rate=1e-05": {"learning_rate": 1e-05},
        "lambdamart-learning_rate=0.1": {"learning_rate": 0.1},
        "net-hidden=64x32-l2=0.1": {"hidden": [64, 32], "l2": 0.1},
        "net-hidden=64x32-l2=none": {"hidden": [64, 32], "l2": None},
        "net-hidden=8-l2=0.1": {"hidden": [8], "l2": 0.1},
        "alone-depth=3": {"depth": 3},
    }
    found = swept(params)
    assert list(found) == [("lambdamart", "learning_rate"), ("net", "hidden"), ("net", "l2")]
    assert [point.value for point in found["lambdamart", "learning_rate"]] == [1e-05, 0.1]
    assert [(point.value, point.others) for point in found["net", "l2"]] == [
        (None, "hidden=64x32"),
        (0.1, "hidden=64x32"),
        (0.1, "hidden=8"),
    ]
