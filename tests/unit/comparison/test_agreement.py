"""Kendall's tau and Spearman's rho of two rankings against SciPy, with ties, and by the command line."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr
from typer.testing import CliRunner

from gradrank.bench.cli import app
from gradrank.comparison.agreement import agreement, kendall_tau, spearman_rho

OFFSETS = np.array([0, 6, 30, 31, 31, 40])


def drawn(seed, tied):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, OFFSETS[-1]))
    return (a.round(), (a + b).round()) if tied else (a, a + b)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_as_scipy_has_them(seed, tied):
    a, b = drawn(seed, tied)
    tau, rho = kendall_tau(a, b, OFFSETS), spearman_rho(a, b, OFFSETS)
    for q in (0, 1, 4):
        part = slice(OFFSETS[q], OFFSETS[q + 1])
        assert tau[q] == pytest.approx(kendalltau(a[part], b[part]).statistic, abs=1e-12)
        assert rho[q] == pytest.approx(spearmanr(a[part], b[part]).statistic, abs=1e-12)
    assert np.isnan(tau[2:4]).all() and np.isnan(rho[2:4]).all()  # one document, none


@pytest.fixture
def files(tmp_path):
    (tmp_path / "data.txt").write_text("".join(f"{i % 3} qid:{1 + i // 4} 1:{i}\n" for i in range(8)))
    for name, scores in {"a": [1, 2, 3, 4, 1, 2, 3, 4], "b": [1, 2, 4, 3, 5, 5, 5, 5]}.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{score}\n" for score in scores))
    return tmp_path


def test_of_files_a_row_a_query(files):
    table = agreement(files / "a.txt", files / "b.txt", files / "data.txt")
    assert table["qid"].to_list() == [1, 2]
    assert table["kendall_tau"].to_list() == [pytest.approx(4.0 / 6.0), None]
    assert table["spearman_rho"].to_list() == [pytest.approx(0.8), None]


def test_the_command_line_says_it_beside_the_measures(files):
    arguments = ["evaluate", "--scores", "a.txt", "--data", "data.txt", "--against", "b.txt"]
    arguments = [str(files / each) if each.endswith(".txt") else each for each in arguments]
    done = CliRunner().invoke(app, [*arguments, "--metrics", "map", "--out", str(files / "out.parquet")])
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines][1:] == [["kendall_tau", "0.6667"], ["spearman_rho", "0.8000"]]
    assert lines[0][0] == "map" and lines[1][2] == f"against {files / 'b.txt'}"
    assert pl.read_parquet(files / "out.parquet").columns == ["qid", "map", "kendall_tau", "spearman_rho"]
