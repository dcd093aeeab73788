"""The comparison of two states: identities, a known shift, rejected data sets and regressions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from diff_states import FOLDS, QIDS, state, values
from gradrank.base.errors import GradrankError
from gradrank.bench.diff.compare import MOST_MOVED, compare
from gradrank.bench.diff.output import Limit, limit, regressions
from gradrank.bench.diff.state import MethodResults
from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds
from gradrank.comparison.statistics import holm

NOISE = np.random.default_rng(9).normal(0, 0.02, len(FOLDS))
KNOWN = {
    "params": {"d": {"": {"seed": 1}, "models.m": {"rate": 0.1}}},
    "data": {"d": {"source": "aa"}},
    "code": {"d": {"src/x.py": "11"}},
    "versions": {"d": {"numpy": "2.4"}},
}


def rows(comparison, metric="ndcg@10"):
    return {row.model: row for row in comparison.rows if row.metric == metric}


def pair(noise=NOISE, shift=0.05):
    """State A, and state B with one shifted method, one with noise only and one that is equal."""
    a = {"shifted": values(1), "noisy": values(2), "same": values(3)}
    b = {"shifted": values(1, ndcg=shift + noise), "noisy": values(2, ndcg=noise - noise.mean()), "same": values(3)}
    return state("a", {"d": a}), state("b", {"d": b})


def test_a_side_does_not_differ_from_itself():
    one = state("a", {"d": {"m": values(1), "n": values(2)}, "e": {"m": values(3)}}, **KNOWN)
    found = compare(one, one)
    assert len(found.rows) == 3 * 2
    for row in found.rows:
        assert (row.verdict, row.difference, row.low, row.high) == ("unchanged", 0.0, 0.0, 0.0)
        assert row.t == row.wilcoxon == row.t_holm == row.wilcoxon_holm == 1.0
        assert (row.wins, row.ties, row.losses) == (0, len(FOLDS), 0)
    assert found.changes == ([], [], [], [])
    assert not (found.moved or found.only_a or found.only_b or found.refused or found.notices)
    assert regressions(found, Limit("ndcg@10", 0.0)) == []


def test_swapping_the_states_flips_every_sign():
    a, b = pair()
    forth, back = compare(a, b), compare(b, a)
    opposite = {"better": "worse", "worse": "better"}
    for one, two in zip(forth.rows, back.rows, strict=True):
        assert two.difference == pytest.approx(-one.difference, abs=1e-15)
        assert (two.low, two.high) == pytest.approx((-one.high, -one.low), abs=1e-12)
        assert (two.a, two.b, two.wins, two.losses) == (one.b, one.a, one.losses, one.wins)
        assert (two.t_holm, two.wilcoxon_holm) == pytest.approx((one.t_holm, one.wilcoxon_holm))
        assert two.verdict == opposite.get(one.verdict, one.verdict)
    for one, two in zip(forth.moved, back.moved, strict=True):
        assert [q.qid for q in one.gained] == [q.qid for q in two.lost]
        assert [q.gap for q in one.lost] == [-q.gap for q in two.gained]


def test_a_known_shift_is_found_and_noise_is_not():
    found = rows(compare(*pair()))
    verdicts = {model: row.verdict for model, row in found.items()}
    assert verdicts == {"shifted": "better", "noisy": "no evidence", "same": "unchanged"}
    assert found["shifted"].low < 0.05 < found["shifted"].high
    assert found["shifted"].high - found["shifted"].low < 0.015
    assert rows(compare(*pair()), "map")["shifted"].verdict == "unchanged"


@pytest.mark.parametrize("ids", [QIDS, np.array([f"Q{qid}" for qid in QIDS], object)])
def test_queries_are_paired_by_their_id_in_whatever_order(ids):
    own = values(1)
    a = QueryValues(FOLDS, ids, own.values)
    order = np.lexsort((np.random.default_rng(0).random(len(FOLDS)), FOLDS))
    b = QueryValues(FOLDS[order], ids[order], {metric: each[order] for metric, each in own.values.items()})
    found = compare(state("a", {"d": {"m": a}}), state("b", {"d": {"m": b}}))
    assert [row.verdict for row in found.rows] == ["unchanged"] * 2


def test_difference_is_that_of_the_means_over_folds_though_folds_differ_in_size():
    gain = np.where(FOLDS == 1, 0.3, 0.0) + NOISE  # pooled over queries this would be less than over folds
    row = rows(compare(*pair(gain, 0.0)))["shifted"]
    assert row.difference == pytest.approx(row.b - row.a, abs=1e-12)
    assert abs(gain.mean() - row.difference) > 0.01
    assert row.low < row.difference < row.high


def test_queries_that_the_convention_leaves_out_are_left_out():
    kept = np.where(np.arange(len(FOLDS)) % 3 == 0, np.nan, 0.0)
    a, b = values(1, ndcg=kept), values(1, ndcg=kept + 0.05 + NOISE)
    row = rows(compare(state("a", {"d": {"m": a}}), state("b", {"d": {"m": b}})))["m"]
    assert row.queries == int(np.sum(~np.isnan(kept)))
    assert row.difference == pytest.approx(row.b - row.a, abs=1e-12)
    assert row.verdict == "better"


def test_holm_counts_the_methods_of_all_data_sets_that_moved():
    a, b = ({d: {m: values(i, ndcg=s * NOISE) for i, m in enumerate("xyz")} for d in "de"} for s in (0, 1))
    b["e"]["z"] = values(2)  # did not move: no test
    found = [row for row in compare(state("a", a), state("b", b)).rows if row.metric == "ndcg@10"]
    moved = [row for row in found if row.verdict != "unchanged"]
    assert len(moved) == 5
    for test in ("t", "wilcoxon"):
        expected = holm([getattr(row, test) for row in moved])
        assert [getattr(row, f"{test}_holm") for row in moved] == pytest.approx(list(expected))


def test_queries_that_moved_most_in_order():
    gaps = np.zeros(len(FOLDS))
    gaps[:30] = np.linspace(0.3, 0.01, 30)
    gaps[40:44] = (-0.1, -0.4, -0.2, -0.3)
    a, b = (state(name, {"d": {"m": values(1, ndcg=g)}}) for name, g in (("a", 0 * gaps), ("b", gaps)))
    (moved,) = compare(a, b).moved
    assert moved.metric == "ndcg@10"
    assert [query.qid for query in moved.gained] == list(QIDS[:MOST_MOVED])
    assert [query.qid for query in moved.lost] == [410, 430, 420, 400]
    assert moved.lost[0].gap == pytest.approx(-0.4) and moved.lost[0].fold == FOLDS[41]
    np.testing.assert_allclose(moved.gaps, np.sort(gaps)[::-1], atol=1e-9)


def test_methods_of_one_state_are_listed():
    a = state("a", {"d": {"m": values(1), "old": values(2)}, "e": {"m": values(3)}})
    b = state("b", {"d": {"m": values(1), "new": values(2)}})
    found = compare(a, b)
    assert found.only_a == [("d", "old"), ("e", "m")]
    assert found.only_b == [("d", "new")]
    assert {row.model for row in found.rows} == {"m"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"qids": QIDS + 1}, "different test queries: 95 in A, 95 in B, 0 in both"),
        ({"folds": np.sort(FOLDS)[::-1]}, "95 in both, in different folds"),
        ({"values": values(1, map=np.where(QIDS == 30, np.nan, 0)).values}, "drops different queries"),
    ],
)
def test_other_query_sets_are_refused_and_the_rest_compared(changed, reason):
    a = state("a", {"d": {"m": values(1)}, "e": {"m": values(2)}})
    b = state("b", {"d": {"m": replace(values(1), **changed)}, "e": {"m": values(2)}})
    found = compare(a, b)
    assert reason in found.refused["d"]
    assert {row.dataset for row in found.rows} == {"e"}
    with pytest.raises(GradrankError, match="d: "):
        regressions(found, Limit("map", 0.1))
    with pytest.raises(GradrankError, match=reason.split(":")[0]):
        compare(state("a", {"d": a.methods["d"]}), state("b", {"d": b.methods["d"]}))


def test_other_conventions_are_refused():
    a = state("a", {"d": {"m": values(1)}})
    with pytest.raises(GradrankError, match="'letor4' in A and 'standard' in B"):
        compare(a, replace(a, conventions={"d": "standard"}))


def test_artificial_data_drawn_anew_are_refused_and_changed_real_data_noted():
    def drawn(dataset, digest):
        return state(digest, {dataset: {"m": values(1)}}, data={dataset: {"source": digest}})

    with pytest.raises(GradrankError, match="generated again"):
        compare(drawn("synthetic_net", "aa"), drawn("synthetic_net", "bb"))
    found = compare(drawn("mq2007", "aa"), drawn("mq2007", "bb"))
    assert [change[:3] for change in found.changes.data] == [("source", "aa", "bb")]
    assert "the data changed" in found.notices[0]
    assert not compare(drawn("synthetic_net", "aa"), drawn("synthetic_net", "aa")).refused


def test_nothing_in_common_is_an_error_that_lists_both():
    a, b = state("one", {"d": {"m": values(1)}}), state("two", {"e": {"n": values(1)}})
    with pytest.raises(GradrankError, match=r"(?s)one has d/m.*two has e/n"):
        compare(a, b)


def test_means_alone_are_shown_and_not_tested():
    a = state("a", {"d": {"m": MethodResults({"map": 0.5, "ndcg@10": None})}})
    found = compare(a, state("b", {"d": {"m": values(1)}}))
    row = rows(found, "map")["m"]
    assert (row.verdict, row.queries) == ("untested", 0)
    assert row.difference == round(row.b - 0.5, 4) and np.isnan([row.low, row.wilcoxon_holm]).all()
    assert np.isnan(rows(found)["m"].difference)
    assert found.moved == []


def test_changes_are_those_that_both_states_record():
    methods = {"d": {"m": values(1)}, "e": {"m": values(1)}}
    a = {"": {"seed": 1}, "models.m": {"rate": 0.1, "gone": 2}, "models.x-rate=0.1": {"k": 1}}
    b = {"": {"seed": 1}, "models.m": {"rate": 0.2, "new": [1, 2]}, "models.x-rate=0.2": {"k": 3}}
    found = compare(
        state("a", methods, params={"d": a, "e": a}, data={"d": {"source": "1", "parquet": "2"}}),
        state("b", methods, params={"d": b, "e": a}, data={"d": {"source": "9"}}, code={"d": {"x.py": "1"}}),
    ).changes
    assert found.params == [
        ("models.m.gone", 2, None, ("d",)),
        ("models.m.new", None, [1, 2], ("d",)),
        ("models.m.rate", 0.1, 0.2, ("d",)),
    ]
    assert found.data == [("source", "1", "9", ("d",))]
    assert found.code is None and found.versions is None


def fallen(before: float, after: float):
    a, b = (state(str(mean), {"d": {"m": MethodResults({"map": mean})}}) for mean in (before, after))
    return compare(a, b)


def test_a_regression_is_a_fall_of_more_than_delta():
    assert [row.model for row in regressions(fallen(0.45, 0.44), Limit("map", 0.009))] == ["m"]
    assert regressions(fallen(0.45, 0.44), Limit("map", 0.01)) == []  # .45 - .44 > .01 in floating point
    assert regressions(fallen(0.45, 0.46), Limit("map", 0.0)) == []
    assert len(regressions(fallen(0.45, 0.4499), Limit("map", 0.0))) == 1
    with pytest.raises(GradrankError, match=r"'mapp' was not measured \(did you mean 'map'"):
        regressions(fallen(0.45, 0.44), Limit("mapp", 0.0))


def test_a_regression_need_not_be_significant():
    found = compare(*pair(-NOISE - 0.001, 0.0))
    row = rows(found)["shifted"]
    assert row.verdict == "no evidence" and row.difference < 0
    assert row in regressions(found, Limit("ndcg@10", -row.difference / 2))


@pytest.mark.parametrize("text", ["map", "map:", ":0.1", "map:-0.1", "map:nan", "map:inf", "map:much", ""])
def test_a_malformed_limit_is_refused(text):
    with pytest.raises(GradrankError, match="expected METRIC:DELTA"):
        limit(text)


def seeds_of(found: QueryValues, *shifts: float) -> QueryValues:
    """Return `found` as the mean of seeds with these distances to it on every query."""
    each = [{metric: own + shift for metric, own in found.values.items()} for shift in shifts]
    return mean_over_seeds(found.folds, found.qids, each)


def test_a_change_within_the_seeds_noise_is_said_to_be_whatever_the_queries_say():
    gain = 0.01 + 0.1 * NOISE  # on nearly every query, and less than what seeds differ by
    a, b = values(1), values(1, ndcg=gain, map=gain)
    alone = rows(compare(state("a", {"d": {"m": a}}), state("b", {"d": {"m": b}})))["m"]
    assert alone.verdict == "better" and np.isnan(alone.seed_noise)

    # A fold's mean has the variance .0002 over two seeds .02 apart, that over three folds a third; two means, 2 seeds.
    apart = (-0.01, 0.01)
    noise = t.ppf(0.975, 6) * np.sqrt(2 * (0.0002 / 3 / 2))
    states = (state(name, {"d": {"m": seeds_of(own, *apart)}}) for name, own in (("a", a), ("b", b)))
    found = rows(compare(*states))["m"]
    assert found.seed_noise == pytest.approx(noise) and abs(found.difference) < noise
    assert found.difference == pytest.approx(alone.difference) and found.wilcoxon == pytest.approx(alone.wilcoxon)
    assert found.verdict == "within seeds"
    down, up = found.difference - found.low, found.high - found.difference
    assert down == pytest.approx(np.hypot(alone.difference - alone.low, noise))
    assert up == pytest.approx(np.hypot(alone.high - alone.difference, noise))

    narrow = (-0.0001, 0.0001)
    steady = compare(state("a", {"d": {"m": seeds_of(a, *narrow)}}), state("b", {"d": {"m": seeds_of(b, *narrow)}}))
    assert rows(steady)["m"].verdict == "better"


def test_a_side_of_one_seed_is_taken_to_vary_as_the_other():
    a, b = values(1), seeds_of(values(1, ndcg=0.01 + 0.1 * NOISE), -0.01, 0.01)
    one, other = state("a", {"d": {"m": a}}), state("b", {"d": {"m": b}})
    forth, back = rows(compare(one, other))["m"], rows(compare(other, one))["m"]
    seed = 0.0002 / 3
    freedom = (seed + seed / 2) ** 2 / (seed**2 / 3 + (seed / 2) ** 2 / 3)
    assert forth.seed_noise == back.seed_noise == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(1.5 * seed))
    assert forth.verdict == back.verdict == "within seeds"


def test_seeds_as_git_keeps_them_are_those_of_the_run():
    """Values are float32 with six decimals per seed; the mean of three seeds has more decimals."""
    rng = np.random.default_rng(3)
    seeds = [{"ndcg@10": rng.random(len(FOLDS))} for _ in range(3)]
    kept = [{"ndcg@10": np.round(each["ndcg@10"], 6).astype(np.float32)} for each in seeds]
    a, b = (mean_over_seeds(FOLDS, QIDS, each) for each in (seeds, kept))
    (row,) = compare(state("a", {"d": {"m": a}}), state("b", {"d": {"m": b}})).rows
    assert row.verdict == "unchanged"
