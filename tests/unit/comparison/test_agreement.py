"""Agreement of two rankings against SciPy, published values and enumerations, with ties, and by the command line."""

from itertools import pairwise, permutations, product

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr
from typer.testing import CliRunner

from gradrank import agreement
from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.comparison.rank_correlation import kendall_tau, rank_biased_overlap, spearman_rho, tau_ap

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


def orders(scores):
    """Return all lists of documents in descending order of score, best first."""
    found = permutations(sorted(scores, key=scores.get))
    return [order for order in found if all(scores[x] >= scores[y] for x, y in pairwise(order))]


def tau_ap_of(a, b):
    """Return tau_AP of two lists without ties, as Yilmaz et al. 2008 define it."""
    right = [sum(b.index(above) < b.index(a[i]) for above in a[:i]) / i for i in range(1, len(a))]
    return 2.0 * sum(right) / (len(a) - 1) - 1.0


def rbo_of(a, b, p):
    """Return equation 32 of Webber et al. 2010 for two lists without ties."""
    shortest, longest = sorted((len(a), len(b)))
    x = [len({*a[:d]} & {*b[:d]}) for d in range(longest + 1)]
    total = sum(x[d] / d * p**d for d in range(1, longest + 1))
    total += sum(x[shortest] * (d - shortest) / (shortest * d) * p**d for d in range(shortest + 1, longest + 1))
    return (1 - p) / p * total + ((x[longest] - x[shortest]) / longest + x[shortest] / shortest) * p**longest


@pytest.mark.parametrize("seed", range(12))
def test_the_mean_over_all_orders_of_equal_scores(seed):
    rng = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(6)]
    kept = (
        [rng.permutation(documents)[: rng.integers(2, 7)].tolist() for _ in range(2)] if seed % 2 else [documents] * 2
    )
    a, b = ({document: float(rng.integers(0, 3)) for document in each} for each in kept)
    found = agreement({"q": a}, {"q": b}, persistence=0.8).per_query.row(0, named=True)
    pairs = [*product(orders(a), orders(b))]
    assert found["rbo@0.8"] == pytest.approx(np.mean([rbo_of(one, two, 0.8) for one, two in pairs]), rel=1e-12)
    if not seed % 2:
        assert found["tau_ap"] == pytest.approx(np.mean([tau_ap_of(one, two) for one, two in pairs]), abs=1e-12)


# Values that other implementations print in their documentation
@pytest.mark.parametrize(("a", "b", "value"), [("abcdefg", "bacdefg", 0.9), ("12345", "23415", 0.828), ("ab", "ab", 1)])
def test_published_values_of_rank_biased_overlap(a, b, value):
    assert agreement({1: [*a]}, {1: [*b]}).per_query["rbo@0.9"][0] == pytest.approx(value, abs=1e-12)


def test_the_overlaps_of_the_example_of_webber_et_al():
    """Figure 5 of the paper has the overlaps 0, 0, 2, 2, 2, 2, 2 of these lists at the depths 1 to 7."""
    overlaps, p = [0, 0, 2, 2, 2, 2, 2], 0.7
    expected = (1 - p) / p * sum(x / d * p**d for d, x in enumerate(overlaps, 1)) + 2 / 7 * p**7
    found = agreement({1: [*"abcdefg"]}, {1: [*"zcavwxy"]}, persistence=p)
    assert found.per_query["rbo@0.7"][0] == pytest.approx(expected, rel=1e-12)


def test_errors_at_the_top_count_more_in_tau_ap():
    """Two adjacent documents are swapped at the top or at the bottom: C(i)/(i - 1) is 0 at rank 2, or 6/7 at rank 8."""
    reference = np.arange(8.0)
    for i, value in ((7, 2 * 6 / 7 - 1), (1, 2 * (6 + 6 / 7) / 7 - 1)):
        swapped = reference.copy()
        swapped[[i, i - 1]] = swapped[[i - 1, i]]
        assert tau_ap(swapped, reference, np.array([0, 8]))[0] == pytest.approx(value, rel=1e-12)
        assert kendall_tau(swapped, reference, np.array([0, 8]))[0] == pytest.approx(1 - 4 / 56)


def test_all_values_of_the_same_and_of_the_reversed_ranking():
    scores, offsets = np.arange(9.0), np.array([0, 4, 9])
    for measure in (kendall_tau, spearman_rho, tau_ap):
        assert measure(scores, scores, offsets).tolist() == [1.0, 1.0]
        assert measure(scores, -scores, offsets).tolist() == [-1.0, -1.0]
    assert rank_biased_overlap(scores, scores, offsets, 0.9) == pytest.approx([1.0, 1.0], rel=1e-12)


RUN = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}, "q2": {"x": 1.0}, "q3": {"u": 1.0, "v": 2.0}}
OTHER = {"q1": {"y": 3.0, "x": 2.0, "w": 1.0}, "q2": {"y": 1.0}}


def test_every_form_has_the_same_values(tmp_path):
    frames = [
        pl.DataFrame(
            [(q, d, s) for q, each in run.items() for d, s in each.items()], ["qid", "docno", "score"], orient="row"
        )
        for run in (RUN, OTHER)
    ]
    for name, frame in zip(("a.run", "b.run"), frames, strict=True):
        (tmp_path / name).write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in frame.rows()))
    words = frames[1].with_columns(query=pl.lit("some words"), docid=7)  # a frame of PyTerrier
    expected = agreement(RUN, OTHER).per_query
    assert expected["qid"].to_list() == ["q1", "q2", "q3"]
    assert expected["tau_ap"].to_list() == [-1.0, None, None] and expected["rbo@0.9"].to_list()[1:] == [0.0, None]
    for a, b in (
        (frames[0], frames[1].lazy()),
        (tmp_path / "a.run", words),
        (str(tmp_path / "a.run"), frames[1].rows()),
    ):
        assert agreement(a, b).per_query.equals(expected)
    judged = agreement(RUN, OTHER, {"q1": {"x": 1}, "q2": {"y": 0}})
    assert judged.per_query.equals(expected[:2])
    assert "2.0 in the first ranking" in judged.note and judged.means["queries"].to_list() == [1, 1, 1, 2]


def test_arrays_have_query_ids():
    found = agreement([3, 2, 1, 1], [1, 2, 3, 1], qid=[1, 1, 1, 2])
    assert found.per_query["tau_ap"].to_list() == [-1.0, None] and found.per_query["rbo@0.9"][1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"persistence": 1}, "persistence"),
        ({"confidence": 2}, "confidence"),
        ({"a": {"q": {"x": float("nan")}}}, "a, row 1: 'NaN' is not a finite number"),
        ({"a": [1.0, 2.0]}, "a: the ranking has no ids"),
        ({"a": {"other": {"x": 1.0}}}, "no query in common"),
        ({"b": [("q1", "x", 1.0), ("q1", "x", 2.0)]}, "b, row 2: document 'x' of query q1 has a second score"),
    ],
)
def test_malformed_rankings_are_named(arguments, message):
    with pytest.raises(GradrankError, match=rf"{message}.*Fix:"):
        agreement(**{"a": RUN, "b": OTHER} | arguments)


def test_score_files_without_ids_need_the_data(files):
    table = agreement(files / "a.txt", files / "b.txt", files / "data.txt").per_query
    assert table["qid"].to_list() == [1, 2]
    assert table["kendall_tau"].to_list() == [pytest.approx(4.0 / 6.0), None]
    assert table["spearman_rho"].to_list() == [pytest.approx(0.8), None]
    with pytest.raises(GradrankError, match=r"a.txt: the run has no ids.*Fix:"):
        agreement(files / "a.txt", files / "b.txt")


def test_the_command_prints_the_table_and_writes_the_values(tmp_path):
    for name, run in (("a.run", RUN), ("b.run", OTHER)):
        rows = ((query, document, score) for query, each in run.items() for document, score in each.items())
        (tmp_path / name).write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in rows))
    paths = [str(tmp_path / name) for name in ("a.run", "b.run")]
    done = CliRunner().invoke(
        app, ["agreement", *paths, "--persistence", "0.5", "--out", str(tmp_path / "out.parquet")]
    )
    assert done.exit_code == 0 and "RBO(p=0.5)" in done.stdout
    assert pl.read_parquet(tmp_path / "out.parquet").equals(agreement(RUN, OTHER, persistence=0.5).per_query)


def test_evaluate_prints_the_agreement_after_the_metrics(files):
    arguments = ["evaluate", "--scores", "a.txt", "--data", "data.txt", "--against", "b.txt"]
    arguments = [str(files / each) if each.endswith(".txt") else each for each in arguments]
    done = CliRunner().invoke(app, [*arguments, "--metrics", "map", "--out", str(files / "out.parquet")])
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines][1:3] == [["kendall_tau", "0.6667"], ["spearman_rho", "0.8000"]]
    assert lines[0][0] == "map" and lines[1][2] == f"against {files / 'b.txt'}"
    names = ["qid", "map", "kendall_tau", "spearman_rho", "tau_ap", "rbo@0.9"]
    assert pl.read_parquet(files / "out.parquet").columns == names
