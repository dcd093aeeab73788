"""`importance`: the drops equal a direct loop, and permutations stay within queries."""

from itertools import pairwise

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.explanations import importance as module
from gradrank.explanations.importance import importance
from gradrank.measures.metrics import compute
from made_folds import fold

WEIGHTS = np.array([1.0, -0.5, 0.0, 0.3])


def made(queries: int = 12, seed: int = 0, noise: float = 1.0) -> Collection:
    """Return queries of 1 to 9 documents. The third feature has no weight, and the fourth is constant per query."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 10, size=queries)
    offsets = np.r_[0, np.cumsum(sizes)]
    x = random.normal(size=(offsets[-1], 4)).astype(np.float32)
    x[:, 3] = np.repeat(random.normal(size=queries), sizes)
    labels = np.clip(np.round(x @ WEIGHTS + noise * random.normal(size=len(x))), 0, 2).astype(np.int32)
    return Collection(x, labels, offsets, np.arange(queries))


def linear(x, offsets):
    return x @ WEIGHTS


def against_the_best(x, offsets):
    """Return scores that depend on the best document of the query."""
    best = np.repeat(np.maximum.reduceat(linear(x, None), offsets[:-1]), np.diff(offsets))
    return np.abs(linear(x, None) - 0.4 * best)


@pytest.mark.parametrize("convention", ["letor4", "standard", "trec", "lightgbm", "standard_expected"])
@pytest.mark.parametrize("metric", ["ndcg@3", "map", "err@5"])
@pytest.mark.parametrize("batch", [1, 200, 1 << 22])
def test_the_drops_equal_a_loop_over_features_queries_and_permutations(metric, convention, batch, monkeypatch):
    monkeypatch.setattr(module, "BATCH_VALUES", batch)
    data, trained = made(), fold(against_the_best, 4, by_query=True)
    groups = {"a": [0], "b": [1], "both": [1, 0], "none": [2]}
    found = importance(trained, data, metric, convention=convention, groups=groups, repeats=3, seed=5)

    def value(features):
        scores = trained.score(features, data.offsets)
        return compute([metric], scores, data.labels, data.offsets, convention)[metric]

    for name, columns in groups.items():
        drops = []
        for repeat in range(3):
            keys = np.random.default_rng([5, repeat]).random(data.rows)
            features = data.features.copy()
            for start, end in pairwise(data.offsets):
                rows = start + np.argsort(keys[start:end])
                features[start:end, columns] = data.features[rows][:, columns]
            drops.append(value(data.features) - value(features))
        (row,) = found.frame().filter(feature=name).to_dicts()
        assert row["drop"] == pytest.approx(np.nanmean(np.mean(drops, axis=0)), abs=1e-12)


def test_a_feature_that_only_tells_queries_apart_has_exactly_0():
    found = importance(fold(linear, 4), made(), convention="standard")
    table = {row["feature"]: row for row in found.frame().to_dicts()}
    for name in ("f3", "f4"):  # without weight, and constant within each query
        assert (table[name]["drop"], table[name]["low"], table[name]["high"]) == (0.0, 0.0, 0.0)
    assert table["f1"]["drop"] > table["f2"]["drop"] > 0


@pytest.mark.parametrize("by_query", [False, True])
def test_the_model_only_sees_values_of_the_same_query(by_query):
    data = made()
    seen = []

    def spy(x, offsets):
        for start, end in pairwise(offsets):
            seen.append(x[start:end])
        return linear(x, offsets)

    importance(fold(spy, 4, by_query=by_query), data, convention="standard")
    known = {
        tuple(sorted(column)) for a, b in pairwise(data.offsets) for column in data.features[a:b].astype(np.float64).T
    }
    assert len(seen) > data.queries
    assert all(tuple(sorted(column)) in known for query in seen for column in query.T)


def test_features_of_a_group_are_permuted_together():
    data = made(40)
    data.features[:, 1] = -data.features[:, 0]
    trained = fold(lambda x, o: x[:, 0] + x[:, 1], 4)  # 0 as long as the two features stay together
    found = importance(trained, data, convention="standard", groups={"both": [0, 1], "first": [0]})
    drops = dict(found.frame().select("feature", "drop").rows())
    assert drops["both"] == 0.0
    assert drops["first"] != 0.0


def test_missing_values_are_permuted_as_values_are():
    data = made()
    data.features[:, 0] = np.nan
    trained = fold(lambda x, o: np.nan_to_num(linear(x, o)), 4)
    assert importance(trained, data, convention="standard", groups={"missing": [0]}).drops[0].mean == 0.0


def test_the_result_depends_on_the_seed_alone():
    data, trained = made(), fold(linear, 4)
    first, again, other = (importance(trained, data, convention="standard", seed=seed) for seed in (1, 1, 2))
    assert first.frame().equals(again.frame())
    assert not first.frame().equals(other.frame())
    alone = importance(trained, data, convention="standard", seed=1, groups={"f2": [1]})
    assert alone.drops[0] == first.drops[1]


def test_queries_without_a_value_do_not_count():
    data = made(30)
    trained = fold(linear, 4)
    found = importance(trained, data, "pairwise_accuracy", convention="standard")
    values = compute(["pairwise_accuracy"], linear(data.features, None), data.labels, data.offsets, "standard")
    assert found.queries == np.isfinite(values["pairwise_accuracy"]).sum() < data.queries
    assert found.mean == pytest.approx(np.nanmean(values["pairwise_accuracy"]))


def test_intervals_contain_the_drop_of_the_population_in_95_of_100_samples():
    trained = fold(linear, 4)
    chosen = {"groups": {"f1": [0]}, "repeats": 2}
    truth = importance(trained, made(20_000, seed=99), convention="standard", **chosen).drops[0].mean
    covered = 0
    for seed in range(300):
        drop = importance(trained, made(60, seed=seed), convention="standard", seed=seed, **chosen).drops[0]
        covered += drop.low <= truth <= drop.high
    assert 0.91 <= covered / 300 <= 0.98


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "ndgc@10"}, "did you mean"),
        ({"convention": "letor5"}, "did you mean"),
        ({"groups": {}}, "groups"),
        ({"groups": {"empty": []}}, "'empty'"),
        ({"groups": {"wide": [4]}}, "'wide'"),
        ({"repeats": 0}, "repeats"),
        ({"seed": -1}, "seed"),
    ],
)
def test_invalid_arguments_are_errors(arguments, message):
    arguments = {"metric": "ndcg@10", "convention": "letor4"} | arguments
    with pytest.raises(GradrankError, match=message):
        importance(fold(linear, 4), made(), **arguments)


def test_a_metric_without_any_value_is_an_error():
    data = made()
    data.labels[:] = 0
    with pytest.raises(GradrankError, match=r"undefined.*Fix"):
        importance(fold(linear, 4), data, "pairwise_accuracy", convention="letor4")


def test_data_of_another_width_are_an_error():
    with pytest.raises(GradrankError, match=r"4 features.*trained on 5"):
        importance(fold(lambda x, o: x[:, 0], 5), made(), convention="letor4")
