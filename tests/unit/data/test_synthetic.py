import json

import numpy as np
import pytest
from scipy.stats import kstest

from gradrank.base.errors import GradrankError
from gradrank.data.pairs import crucial_pairs
from gradrank.data.sources import synthetic

TARGETS = ("net", "poly")


def read(path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A slow reader of LETOR text that shares nothing with the package's: labels, qids, float64 features."""
    rows = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    for row in rows:
        assert [token.split(":")[0] for token in row[1:]] == ["qid", *map(str, range(1, 51))]
    values = np.array([[float(token.split(":")[-1]) for token in row] for row in rows])
    return values[:, 0].astype(int), values[:, 1].astype(int), values[:, 2:]


@pytest.mark.parametrize("target", TARGETS)
def test_written_text_gives_back_the_draw_and_the_grades_of_its_target(tmp_path, target):
    synthetic.generate(target, 11, 7, 3, tmp_path)
    parts = [read(tmp_path / f"S{part}.txt") for part in range(1, 6)]
    labels, qids, features = (np.concatenate(column) for column in zip(*parts, strict=True))
    drawn_features, drawn_labels = synthetic.draw(target, 11, 7, 3)
    assert np.array_equal(features.astype(np.float32), drawn_features)
    assert np.array_equal(labels, drawn_labels)
    assert np.array_equal(qids, np.repeat(np.arange(1, 12), 7))
    assert [len(np.unique(part[1])) for part in parts] == [3, 2, 2, 2, 2]
    stored = json.loads((tmp_path / "target.json").read_text())
    weights = {name: np.array(value) for name, value in stored.items()}
    assert np.array_equal(synthetic.grades(synthetic.outputs(weights, features)), labels)


def test_the_net_is_50_10_1_with_tanh():
    weights = synthetic.draw_weights("net", 5)
    features = synthetic.draw_features(4, 5)
    for x, value in zip(features, synthetic.outputs(weights, features), strict=True):
        hidden = [np.tanh(sum(x[i] * weights["w1"][i, j] for i in range(50)) + weights["b1"][j]) for j in range(10)]
        assert value == pytest.approx(sum(hidden * weights["w2"]) + weights["b2"], abs=1e-12)
    assert all(np.abs(value).max() <= 1.0 for value in weights.values())


def test_the_polynomial_is_the_mean_of_three_scaled_terms():
    weights = synthetic.draw_weights("poly", 5)
    features = synthetic.draw_features(500, 5)
    terms = synthetic.polynomial_terms(weights, features)
    np.testing.assert_allclose(terms.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(terms.var(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(synthetic.outputs(weights, features), terms.sum(axis=0) / 3, atol=1e-12)
    linear, second, (third, fourth) = weights["linear"], weights["quadratic"], weights["cubic"]
    assert all(sorted(permutation) == list(range(50)) for permutation in (second, third, fourth))
    raw = np.array([[sum(x * linear), sum(x * x[second]), sum(x * x[third] * x[fourth])] for x in features]).T
    expected = (raw - raw.mean(axis=1)[:, None]) / raw.std(axis=1)[:, None]
    np.testing.assert_allclose(terms, expected, atol=1e-10)


def test_terms_by_their_variance_leave_the_linear_one_less():
    """Standard deviation s: a term divided by s^2 keeps the deviation 1/s, and the widest counts the least."""
    weights, features = synthetic.draw_weights("poly", 5), synthetic.draw_features(20_000, 5)
    by_text, other = (synthetic.polynomial_terms(weights, features, scaling) for scaling in ("deviation", "variance"))
    np.testing.assert_allclose(other * other.std(axis=1, keepdims=True) ** -1, by_text, rtol=1e-9)
    share = other.var(axis=1) / other.var(axis=1).sum()
    linear = np.sum(weights["linear"] ** 2) / 3  # a uniform feature has variance 1/3
    assert 1 / other[0].var() == pytest.approx(linear, rel=0.1)
    assert share[0] < 0.3 and share[2] > 0.4
    assert not np.array_equal(synthetic.outputs(weights, features), synthetic.outputs(weights, features, "variance"))


@pytest.mark.parametrize("target", TARGETS)
def test_grades_are_equally_populated_and_leave_five_sixths_of_the_pairs(target):
    features, labels = synthetic.draw(target, 200, 50, 1)
    counts = np.bincount(labels, minlength=6)
    assert counts.sum() == 10_000 and counts.max() - counts.min() <= 1
    pairs = len(crucial_pairs(labels, np.arange(0, 10_001, 50)))
    # Two documents are in different ones of six equal bins with probability 5/6; four standard errors.
    assert pairs / (200 * 1225) == pytest.approx(5 / 6, abs=0.004)
    assert kstest(features.ravel()[:50_000], "uniform", (-1, 2)).pvalue > 1e-3


def test_a_thousand_vectors_give_about_the_papers_20382_pairs():
    pairs = [len(crucial_pairs(synthetic.draw("net", 20, 50, seed)[1], np.arange(0, 1001, 50))) for seed in range(20)]
    assert abs(np.mean(pairs) - 20_382) < 2 * np.std(pairs) < 0.01 * 20_382


def test_equal_seeds_give_equal_bytes_and_other_seeds_do_not(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        synthetic.generate("net", 6, 4, seed, tmp_path / name)
    files = {name: {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in "abc"}
    assert files["a"] == files["b"]
    assert sorted(files["a"]) == ["S1.txt", "S2.txt", "S3.txt", "S4.txt", "S5.txt", "fetched.json", "target.json"]
    assert all(files["a"][name] != files["c"][name] for name in files["a"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("nett", 10, 5), "did you mean 'net'"), (("net", 4, 5), "at least 5"), (("poly", 5, 1), "at least 2 documents")],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, arguments, message):
    with pytest.raises(GradrankError, match=message):
        synthetic.generate(*arguments, 0, tmp_path)


def test_an_interrupted_second_run_does_not_look_finished(tmp_path, monkeypatch):
    synthetic.generate("net", 6, 4, 1, tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic, "_letor", interrupted)
    with pytest.raises(KeyboardInterrupt):
        synthetic.generate("net", 6, 4, 2, tmp_path)
    assert not (tmp_path / "fetched.json").exists()
