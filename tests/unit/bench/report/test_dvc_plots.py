"""The CSV files that `dvc plots` draws have the values of the trainings and of the results."""

import polars as pl
import pytest

from gradrank.bench.report.dvc_plots import write_plots
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import Results
from made_results import make_results


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    root = tmp_path_factory.mktemp("plots")
    summary(make_results(root), ["lambdamart", "ranksvm"], "letor4")
    results = Results(root / "results")
    write_plots(results, ["mq2007"])
    return results


def test_a_curve_is_the_mean_of_the_folds_at_the_steps_of_all(results):
    histories = [fold.history() for fold in results.dataset("mq2007").method("lambdamart").folds()]
    steps = min(len(history) for history in histories)
    expected = sum(history["vali_ndcg@10"][:steps] for history in histories) / len(histories)
    curve = pl.read_csv(results.curves_path / "mq2007/lambdamart.csv")
    assert curve["step"].to_list() == histories[0]["step"][:steps].to_list()
    assert curve["value"].to_list() == pytest.approx(expected.to_list())


def test_the_values_per_query_are_those_of_the_primary_convention(results):
    table = pl.read_csv(results.query_values_path / "mq2007/ranksvm.csv")
    values = pl.read_parquet(results.dataset("mq2007").method("ranksvm").per_query_path)
    values = values.filter(split="test", convention="letor4")["ndcg@10"]
    assert table["query"].to_list() == list(range(1, len(values) + 1))
    assert table["ndcg@10"].to_list() == pytest.approx(values.to_list(), abs=1e-6)


def test_a_method_without_steps_has_no_curve(results, tmp_path):
    folder = make_results(tmp_path)
    for path in folder.glob("methods/ranksvm/fold*/history.parquet"):
        pl.read_parquet(path).head(1).write_parquet(path)
    summary(folder, ["lambdamart", "ranksvm"], "letor4")
    root = Results(tmp_path / "results")
    write_plots(root, ["mq2007"])
    assert [path.name for path in (root.curves_path / "mq2007").iterdir()] == ["lambdamart.csv"]
    assert len(list((root.query_values_path / "mq2007").iterdir())) == 2
