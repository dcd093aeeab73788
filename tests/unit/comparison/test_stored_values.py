"""Values per query of finished runs as rankings of a comparison."""

import numpy as np
import polars as pl
import pytest

import gradrank
from file_server import file_server
from gradrank.base.errors import GradrankError

Y, QID = np.tile([2, 1, 0], 6), np.repeat([11, 12, 13, 14, 15, 16], 3)
OWN = np.random.default_rng(0).normal(size=18)
OTHERS = {name: np.random.default_rng(seed).normal(size=18) for seed, name in enumerate(["ranksvm", "mart"], 1)}


@pytest.fixture
def stored() -> pl.DataFrame:
    """A frame as in queries.parquet. `mart` has two seeds, of which the second repeats the first plus .1."""
    parts = []
    for name, scores in OTHERS.items():
        values = gradrank.evaluate(Y, scores, qid=QID, metrics=["ndcg@10"], convention="letor4").per_query
        for seed in (1, 2) if name == "mart" else (None,):
            shifted = values.select("qid", pl.col("ndcg@10") + (0.1 if seed == 2 else 0.0))
            keys = {"dataset": "toy", "model": name, "convention": "letor4", "fold": 1, "seed": seed}
            parts.append(shifted.with_columns(**{key: pl.lit(value) for key, value in keys.items()}))
    return pl.concat(parts, how="vertical_relaxed")


def test_stored_methods_are_compared_like_their_rankings(stored):
    ours = {"convention": "letor4", "qid": QID, "baseline": "mine"}
    direct = gradrank.compare({"mine": OWN} | OTHERS, Y, **ours).table
    result = gradrank.compare({"mine": OWN}, Y, against=stored, **ours).table
    same = ["a", "b", "queries", "mean_b", "wins", "ties", "losses"]
    assert result.row(0, named=True) == pytest.approx(direct.row(0, named=True))
    assert result["mean_a"][1] == pytest.approx(direct["mean_a"][1] + 0.05)  # the mean over both seeds
    assert result.select(same[:4]).equals(direct.select(same[:4]))


def test_queries_without_a_stored_value_are_left_out(stored):
    some = stored.filter(pl.col("qid") != 13)
    result = gradrank.compare({"mine": OWN}, Y, qid=QID, convention="letor4", against=some, baseline="mine")
    assert result.table["queries"].to_list() == [5, 5]


def test_results_are_read_from_a_file_an_address_and_a_name(stored, tmp_path, monkeypatch):
    path = tmp_path / "results/toy/queries.parquet"
    path.parent.mkdir(parents=True)
    stored.write_parquet(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with file_server({"toy.parquet": path.read_bytes()}) as (address, _):
        sources = [path, str(path), f"{address}/toy.parquet", "toy"]
        assert all(gradrank.load_results(source).equals(stored) for source in sources)
        with pytest.raises(GradrankError, match="404"):
            gradrank.load_results(f"{address}/other.parquet")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame.drop("fold"), {}, "fold"),
        (lambda frame: frame.with_columns(qid=pl.col("qid") + 100), {}, "no query"),
        (lambda frame: pl.concat([frame, frame.with_columns(dataset=pl.lit("b"))]), {}, "toy, b"),
        (lambda frame: frame, {"metric": "map"}, "no values of map"),
        (lambda frame: frame, {"convention": "standard"}, "letor4"),
        (lambda frame: frame.with_columns(model=pl.lit("mine")), {}, "mine"),
    ],
)
def test_results_that_do_not_fit_are_refused(stored, change, options, message):
    with pytest.raises(GradrankError, match=message):
        gradrank.compare(
            {"mine": OWN}, Y, **({"qid": QID, "convention": "letor4", "against": change(stored)} | options)
        )


def test_files_that_are_not_results_are_refused(tmp_path):
    (tmp_path / "queries.parquet").write_text("text", encoding="utf-8")
    for source in (tmp_path / "queries.parquet", tmp_path / "none.parquet", "ftp://127.0.0.1/a"):
        with pytest.raises(GradrankError, match="Fix:"):
            gradrank.load_results(source)
