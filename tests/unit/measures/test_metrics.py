"""Metrics against their definitions written naively, worked examples, other programs, and identities."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.measures import metrics
from gradrank.measures.conventions import PROGRAMS, resolve
from gradrank.measures.metrics import compute
from gradrank.measures.ranking import Ranking
from gradrank.training.selection import Criterion
from registered_metrics import metric_names

NAMES = metric_names()


@st.composite
def rankings(draw, queries=4, documents=12, grades=4):
    """Draw scores, labels and offsets with few score levels, so that ties are common."""
    sizes = draw(st.lists(st.integers(1, documents), min_size=1, max_size=queries))
    n = sum(sizes)
    highest = draw(st.integers(0, grades))
    labels = draw(st.lists(st.integers(0, highest), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-2.5, -0.0, 0.0, 1.0, 1 / 3, 7.0]), min_size=n, max_size=n))
    return np.array(scores), np.array(labels), np.cumsum([0, *sizes])


def naive(name, scores, labels, c, highest):
    """Return the metric of one query by its textbook definition, in loops."""
    scores = np.float32(scores) if c.ties == "docid" else scores
    tie = [-i if c.ties == "docid" else i for i in range(len(labels))]  # without ids the row number is the id
    order = sorted(range(len(labels)), key=lambda i: (-scores[i], tie[i]))
    grades = [int(labels[i]) for i in order]
    if name.startswith("pairwise"):
        return naive_pairs(name, scores, labels)
    if "dcg" in name:
        return naive_ndcg(name, grades, c)
    return naive_cascade(name, grades, c, highest) if name.startswith("err") else naive_hits(name, grades, c)


def naive_pairs(name, scores, labels):
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if labels[i] > labels[j]]
    right = sum(1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0 for i, j in pairs)
    accuracy = right / len(pairs) if pairs else math.nan
    return {"pairwise_accuracy": accuracy, "pairwise_error": 1 - accuracy}[name]


def naive_ndcg(name, grades, c):
    n, best = len(grades), sorted(grades, reverse=True)

    def dcg(ranked, k):
        total = 0.0
        for rank, grade in enumerate(ranked[:k], start=1):
            gain = 2**grade - 1 if c.gain == "exponential" else grade
            bits = math.log2(rank + 1) if c.discount == "log2" else (1.0 if rank == 1 else math.log2(rank))
            total += gain / bits
        return total

    def ndcg(k):
        ideal = dcg(best, k)
        return dcg(grades, k) / ideal if ideal > 0 else c.empty

    if name == "mean_ndcg":
        return sum(ndcg(i) for i in range(1, n + 1)) / n
    if name == "ndcg_beta":
        gain, ideal = (sum(g * (n - i) for i, g in enumerate(ranked, 1)) for ranked in (grades, best))
        return gain / ideal if ideal else math.nan
    kind, _, number = name.partition("@")
    k = int(number or n)
    if kind == "dcg":
        return dcg(grades, k)
    if kind == "infndcg":  # every document is judged
        return ndcg(n)
    assert kind == "ndcg"
    return 0.0 if k > n and c.short == "zero" else ndcg(k)


def naive_cascade(name, grades, c, highest):
    total, going = 0.0, 1.0
    for rank, grade in enumerate(grades[: int(name.removeprefix("err").removeprefix("@") or len(grades))], start=1):
        stop = (2**grade - 1) / 2 ** max(highest, c.max_grade or 0)
        total += going * stop / rank
        going *= 1 - stop
    return total


def naive_hits(name, grades, c):
    n, relevant = len(grades), sum(g > 0 for g in grades)
    kind, _, number = name.partition("@")
    hits = [sum(g > 0 for g in grades[: i + 1]) for i in range(n)]
    precision = [hits[i] / (i + 1) for i in range(n)]

    def interpolated(level):
        exact = -(-round(10 * level) * relevant // 10)  # in integers
        needed = exact if c.recall_level == "exact" else int(level * relevant + 0.9)
        reached = [precision[i] for i in range(n) if hits[i] >= needed]
        return max(reached) if relevant else c.empty

    if kind == "p":
        k = int(number)
        length = min(k, n) if c.short_precision == "truncate" else k
        return 0.0 if k > n and c.short_precision == "zero" else sum(g > 0 for g in grades[:k]) / length
    if kind == "recall":
        return sum(g > 0 for g in grades[: int(number or n)]) / relevant if relevant else c.empty
    if kind == "precision":
        return relevant / n
    if kind == "hits":
        return sum(g > 0 for g in grades[: int(number)])
    if kind == "success":
        return float(any(g > 0 for g in grades[: int(number)]))
    if kind[0] == "f":
        if not relevant:
            return c.empty
        k, b = int(number or n), float(kind[1:])
        found = sum(g > 0 for g in grades[:k])
        p, r = found / (min(k, n) if c.short_precision == "truncate" else k), found / relevant
        return (1 + b * b) * p * r / (b * b * p + r) if found else 0.0
    if kind == "map":
        k = min(int(number or n), n)
        return sum(precision[i] for i in range(k) if grades[i] > 0) / relevant if relevant else c.empty
    if kind == "bpref":
        other = [i + 1 - hits[i] for i in range(n)]
        most = max(min(relevant, n - relevant), 1)
        kept = [1 - min(other[i], most) / most for i in range(n) if grades[i] > 0]
        return sum(kept) / relevant if relevant else c.empty
    if kind in ("num_ret", "num_rel", "num_rel_ret"):
        return n if kind == "num_ret" else relevant
    if kind == "judged":
        return 1.0
    if kind == "r_precision":
        return sum(g > 0 for g in grades[:relevant]) / relevant if relevant else c.empty
    if kind == "iprec":
        return interpolated(float(number))
    if kind == "iprec_11pt":
        return sum(interpolated(level / 10) for level in range(11)) / 11
    if kind == "mrr":
        return next((1 / (i + 1) for i in range(min(int(number or n), n)) if grades[i] > 0), 0.0)
    if kind in ("set_map", "set_relative_p"):  # every document is in the ranking
        return (relevant / n if kind == "set_map" else 1.0) if relevant else c.empty
    if kind == "hit_rate":
        return float(relevant > 0)
    if kind.startswith("rbp") and kind != "rbp":
        p = float(kind.removeprefix("rbp"))
        return (1 - p) * sum(p**i for i in range(min(int(number), n)) if grades[i] > 0)
    if kind == "rbp":
        p = float(number)
        return (1 - p) * sum(p**i for i in range(n) if grades[i] > 0)
    return None  # a metric without a naive definition is compared with its mean over orders only (test_ties.py)


@pytest.mark.parametrize("preset", PROGRAMS)
@settings(max_examples=60, deadline=None)
@given(data=rankings())
def test_every_metric_is_its_definition(preset, data):
    scores, labels, offsets = data
    got = compute(NAMES, scores, labels, offsets, preset)
    for name in NAMES:
        want = [naive(name, scores[a:b], labels[a:b], resolve(preset), labels.max()) for a, b in pairwise(offsets)]
        if None not in want:
            np.testing.assert_allclose(got[name], want, rtol=1e-13, atol=1e-15, err_msg=name)


@settings(max_examples=50, deadline=None)
@given(data=rankings())
def test_dropping_queries_without_relevant_documents_leaves_the_other_values(data):
    scores, labels, offsets = data
    kept = compute(NAMES, scores, labels, offsets, "standard")
    dropped = compute(NAMES, scores, labels, offsets, resolve("standard", empty=math.nan))
    relevant = np.add.reduceat(labels > 0, offsets[:-1]) > 0
    for name in NAMES:
        np.testing.assert_array_equal(dropped[name][relevant], kept[name][relevant])
        assert np.isnan(dropped[name][~relevant]).all()


def ranked(grades):
    """Return scores, labels and offsets of one query whose documents are listed in rank order."""
    return -np.arange(len(grades), dtype=float), np.array(grades), np.array([0, len(grades)])


def test_ndcg_by_hand_under_each_gain_and_discount():
    data = ranked([2, 1, 2, 0, 1])
    log = math.log2
    linear = (2 + 1 / log(3) + 2 / log(4) + 1 / log(6)) / (2 + 2 / log(3) + 1 / log(4) + 1 / log(5))
    exponential = (3 + 1 / log(3) + 3 / log(4) + 1 / log(6)) / (3 + 3 / log(3) + 1 / log(4) + 1 / log(5))
    letor = (3 + 1 + 3 / log(3) + 1 / log(5)) / (3 + 3 + 1 / log(3) + 1 / log(4))
    assert metrics.ndcg(*data, convention="trec") == pytest.approx([linear], abs=1e-15)
    assert metrics.ndcg(*data, convention="standard") == pytest.approx([exponential], abs=1e-15)
    assert metrics.ndcg(*data, convention="letor4") == pytest.approx([letor], abs=1e-15)
    assert metrics.ndcg(*data, convention="letor4", gain="linear", discount="log2") == metrics.ndcg(
        *data, convention="trec"
    )


def test_err_by_hand():
    stop = {0: 0, 2: 3 / 16, 4: 15 / 16}
    value = stop[2] + (1 - stop[2]) * stop[0] / 2 + (1 - stop[2]) * stop[4] / 3
    assert metrics.err_at(*ranked([2, 0, 4]), k=10) == pytest.approx([value], abs=1e-15)
    assert metrics.err_at(*ranked([2, 0, 2]), k=1, max_grade=4) == [3 / 16]


def generated(queries=60, documents=30, seed=0, score_levels=None):
    """Return random queries; `score_levels` makes ties."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, documents, queries)
    n = sizes.sum()
    scores = rng.integers(0, score_levels, n) / 3 if score_levels else rng.normal(size=n)
    labels = rng.choice(5, n, p=[0.6, 0.2, 0.1, 0.05, 0.05])
    labels[: sizes[0]] = 0  # a query without relevant documents
    return scores, labels, np.r_[0, np.cumsum(sizes)]


@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_standard_ndcg_is_scikit_learns(k):
    ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score
    scores, labels, offsets = generated()
    got = compute([f"ndcg@{k}" if k else "ndcg"], scores, labels, offsets, "standard")
    gains = 2.0**labels - 1
    want = [ndcg_score([gains[a:b]], [scores[a:b]], k=k) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(next(iter(got.values())), want, rtol=1e-12)


def test_lightgbm_preset_is_lightgbms_own_ndcg_and_map():
    lightgbm = pytest.importorskip("lightgbm")
    scores, labels, offsets = generated(score_levels=8)
    data = lightgbm.Dataset(
        np.ones((len(scores), 1)), labels, group=np.diff(offsets), init_score=scores, free_raw_data=False
    )
    cuts = [1, 3, 10, 1000]
    params = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": cuts, "verbosity": -1, "num_threads": 1}
    seen = {}
    # One constant feature: no tree splits, so that what is evaluated is init_score.
    lightgbm.train(params, data, 1, valid_sets=[data], valid_names=["v"], callbacks=[lightgbm.record_evaluation(seen)])
    ours = compute([*(f"ndcg@{k}" for k in cuts), "map"], scores, labels, offsets, "lightgbm")
    for k in cuts:
        assert ours[f"ndcg@{k}"].mean() == pytest.approx(seen["v"][f"ndcg@{k}"][0], abs=1e-12)
    assert ours["map"].mean() == pytest.approx(seen["v"]["map@1000"][0], abs=1e-7)  # it divides in 32 bits


TREC = {
    "ndcg": "ndcg", "ndcg@5": "ndcg_cut_5", "ndcg@100": "ndcg_cut_100", "p@5": "P_5", "p@100": "P_100",
    "map": "map", "recall@10": "recall_10", "mrr": "recip_rank", "r_precision": "Rprec",
    "iprec_11pt": "11pt_avg",
    **{f"iprec@{level / 10}": f"iprec_at_recall_{level / 10:.2f}" for level in range(11)},
}  # fmt: skip


@pytest.mark.parametrize("score_levels", [None, 6], ids=["smooth", "tied"])
def test_trec_preset_is_trec_eval(score_levels):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    scores, labels, offsets = generated(score_levels=score_levels)
    rng = np.random.default_rng(1)
    ids = np.array([f"D{i}" for i in rng.permutation(len(scores))])
    slices = list(pairwise(offsets))
    qrels = {str(q): dict(zip(ids[a:b], labels[a:b].tolist(), strict=True)) for q, (a, b) in enumerate(slices)}
    run = {str(q): dict(zip(ids[a:b], scores[a:b].tolist(), strict=True)) for q, (a, b) in enumerate(slices)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures)
    theirs = evaluator.evaluate(run)
    ours = compute(list(TREC), scores, labels, offsets, "trec", ids=ids)
    for name, measure_name in TREC.items():
        want = [theirs[str(q)][measure_name] for q in range(len(slices))]
        np.testing.assert_allclose(ours[name], want, rtol=1e-12, atol=1e-15, err_msg=name)


def test_recall_levels_are_exact_under_standard_and_rounded_as_in_trec_eval_elsewhere():
    """.7 of three relevant documents are three of them; trec_eval computes int(.7 * 3 + .9), which is 2."""
    labels, offsets = np.array([1, 0, 1, 0, 0, 1]), np.array([0, 6])
    scores = -np.arange(6.0)
    found = {
        name: float(metrics.interpolated_precision(scores, labels, offsets, recall=0.7, convention=name)[0])
        for name in PROGRAMS
    }
    assert found.pop("standard") == pytest.approx(3 / 6)
    assert list(found.values()) == pytest.approx([2 / 3] * 5)
    own = resolve("letor4", recall_level="exact")
    assert metrics.interpolated_precision(scores, labels, offsets, recall=0.7, convention=own)[0] == pytest.approx(0.5)
    with pytest.raises(GradrankError, match="recall_level='floor' is not valid"):
        resolve("standard", recall_level="floor")


@pytest.mark.parametrize("tenths", range(11))
def test_exact_recall_levels_need_the_ceiling_for_every_number_of_documents(tenths):
    """The documents of query R are all relevant; the value is 1 if and only if the level is reached in the list."""
    for relevant in (1, 3, 7, 10, 23, 57, 207, 393):
        needed = max(-(-tenths * relevant // 10), 1)
        for missing in (relevant - needed, relevant - needed + 1):  # relevant documents outside the ranking
            labels, offsets = np.ones(relevant, int), np.array([0, relevant])
            ranked = np.arange(relevant) < relevant - missing
            ranking = Ranking(-np.arange(float(relevant)), labels, offsets, resolve("standard"), ranked=ranked)
            definition = metrics.METRICS["iprec@{recall}"].definition
            reached = definition(ranking, recall=tenths / 10)[0]
            assert reached == float(missing == relevant - needed)


def test_trec_ties_go_by_id_descending_and_by_32_bit_score():
    scores = np.array([1.0, 1.0 + 1e-12, 0.5])
    labels, offsets = np.array([1, 0, 0]), np.array([0, 3])
    for ids, rank in ((["b", "a", "c"], 1), (["a", "b", "c"], 2)):
        got = metrics.reciprocal_rank(scores, labels, offsets, convention="trec", ids=np.array(ids))
        assert got == [1 / rank]
    assert metrics.reciprocal_rank(scores, labels, offsets, convention="standard") == [1 / 2]


@settings(max_examples=100, deadline=None)
@given(data=rankings())
def test_training_maximises_letor4_with_truncated_short_lists(data):
    """The values per query rank equal scores in file order, unlike the mean that selects models."""
    scores, labels, offsets = data
    names = ["map", "ndcg@1", "ndcg@3", "ndcg@10"]
    for name, values in compute(names, scores, labels, offsets, resolve("letor4", short="truncate")).items():
        np.testing.assert_allclose(Criterion(name, labels, offsets).per_query(scores), values, atol=1e-15)


@pytest.mark.parametrize(
    ("scores", "labels", "offsets", "reason"),
    [
        ([1.0, math.nan], [0, 1], [0, 2], "score 1 "),
        ([1.0, math.inf], [0, 1], [0, 2], "score 1 "),
        ([1.0], [0, 1], [0, 2], "1 scores and 2 labels"),
        ([1.0, 2.0], [0, 1], [0, 2, 2], "offsets"),
        ([1.0, 2.0], [0, -1], [0, 2], "labels"),
        ([1.0, 2.0], [0, 0.5], [0, 2], "labels"),
    ],
)
def test_malformed_input_is_refused(scores, labels, offsets, reason):
    with pytest.raises(GradrankError, match=reason):
        metrics.ndcg(np.array(scores), np.array(labels), np.array(offsets))


@pytest.mark.parametrize("name", ["ndgc@10", "ndcg@0", "ndcg@", "p@1.5", "iprec@1.5", "NDCG@10", "f@3", "map(x)"])
def test_unknown_metric_is_refused(name):
    with pytest.raises(GradrankError, match=re.escape(f"unknown metric '{name}'")):
        compute([name], np.zeros(1), np.zeros(1), np.array([0, 1]), "letor4")


def test_a_rank_that_no_list_has_is_refused():
    with pytest.raises(GradrankError, match="999,999,999"):
        compute(["ndcg@99999999999999999999"], np.zeros(1), np.zeros(1), np.array([0, 1]), "letor4")


def test_unknown_convention_names_the_nearest():
    with pytest.raises(GradrankError, match=r"unknown convention 'letor' \(did you mean 'letor"):
        resolve("letor")
    with pytest.raises(GradrankError, match="discount='log'"):
        resolve("standard", discount="log")
