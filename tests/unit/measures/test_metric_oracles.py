"""Metrics of incomplete judgements, thresholds, condensed lists and gains against other programs and enumerations."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from gradrank import evaluate
from gradrank.base.errors import GradrankError
from gradrank.measures.conventions import resolve
from gradrank.measures.metrics import compute, metric_name, metric_names
from gradrank.measures.ranking import Ranking

# key: a name of trec_eval, as pytrec_eval returns it; the name in gradrank is metric_name(key).
TREC = [
    "map_cut_5",
    "map_cut_100",
    "P_5",
    "recall_10",
    "recip_rank",
    "Rprec",
    "bpref",
    "infAP",
    "success_1",
    "success_5",
]
TREC += ["ndcg_cut_10", "set_P", "set_recall", "set_F", "set_map", "set_relative_P", "num_ret", "num_rel"]
TREC += ["num_rel_ret", "iprec_at_recall_0.10"]
IR = [
    "RR@3",
    "AP@5",
    "AP(rel=2)",
    "AP(rel=2)@5",
    "P(rel=2)@5",
    "P(rel=2,judged_only=True)@5",
    "nDCG(judged_only=True)@5",
]
IR += ["Success@3", "Success(rel=2)@3", "Bpref", "Bpref(rel=2)", "infAP", "Judged@5", "NumRet", "NumRel", "SetP"]
IR += ["SetR", "SetF", "RR(judged_only=True)", "AP(judged_only=True)", "R(rel=2)@5", "Rprec(rel=2)", "IPrec(rel=2)@0.1"]
IR += ["nDCG@5", "NumRelRet", "NumRet(rel=2)", "SetAP", "SetRelP", "SetAP(rel=2)", "IPrec(recall=0.3)"]
IR += ["nDCG(gains={0: 0, 1: 2, 2: 5})@5", "nDCG(gains={3: 1})"]
RANX = [
    "hits@5",
    "hit_rate@5",
    "precision@5",
    "recall",
    "f1",
    "mrr@3",
    "map@5",
    "precision@5-l2",
    "map-l2",
    "r-precision",
]
RANX += ["dcg@5", "dcg", "ndcg@5", "hits@5-l2", "hits", "hit_rate", "bpref"]


@pytest.fixture(scope="module", params=[False, True], ids=["distinct", "tied"])
def data(request):
    """Qrels with negative grades, and a run, also with ties, that leaves out judged documents and has unjudged ones."""
    rng = np.random.default_rng(5)
    qrels = {
        f"q{query}": {
            f"d{document}": int(rng.choice([-1, 0, 1, 2, 3], p=[0.15, 0.4, 0.2, 0.15, 0.1])) for document in range(25)
        }
        for query in range(15)
    }
    run = {}
    for query, documents in qrels.items():
        documents["d0"] = 2  # every query has a relevant document
        found = [document for document in documents if rng.random() < 0.6] + [f"u{number}" for number in range(6)]
        run[query] = {
            document: float(score // 3 if request.param else score)
            for document, score in zip(found, rng.permutation(len(found)), strict=True)
        }
    return qrels, run


def check(data, names, theirs, convention="trec"):
    """Compare the values per query of every name. theirs: values by query and name."""
    ours = evaluate(*data, metrics=names, convention=convention).per_query
    for name in names:
        want = [theirs[query][name] for query in ours["qid"]]
        np.testing.assert_allclose(ours[metric_name(name)], want, rtol=1e-12, atol=1e-12, err_msg=name)


def test_values_of_trec_eval(data):
    tool = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    check(data, TREC, tool.RelevanceEvaluator(data[0], tool.supported_measures).evaluate(data[1]))


def test_thresholds_of_trec_eval(data):
    tool = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    names = ["map", "map_cut_5", "P_5", "bpref", "infAP", "recip_rank", "success_5", "num_rel", "iprec_at_recall_0.10"]
    theirs = tool.RelevanceEvaluator(data[0], tool.supported_measures, relevance_level=2).evaluate(data[1])
    renamed = {query: {f"{name}(rel=2)": values[name] for name in names} for query, values in theirs.items()}
    check(data, [f"{name}(rel=2)" for name in names], renamed)


def test_values_of_ir_measures_by_name_and_by_object(data):
    tool = pytest.importorskip("ir_measures", reason="needs ir-measures")
    measures = {name: tool.parse_measure(name) for name in IR}
    theirs = {}
    for measure in (tool.RR @ 3, tool.Judged @ 5):  # the order of the run, in place of the ids, decides between ties
        if len({*data[1]["q0"].values()}) < len(data[1]["q0"]):
            measures.pop(str(measure))
    for name, measure in measures.items():
        for value in tool.iter_calc([measure], *data):
            theirs.setdefault(value.query_id, {})[name] = value.value
    check(data, list(measures), theirs)
    assert metric_name(tool.P(rel=2) @ 5) == metric_name("P(rel=2)@5") == "p@5(rel=2)"
    assert metric_name(tool.RBP) == metric_name("RBP") == "rbp@0.8"


def test_names_with_another_meaning_in_other_programs(data):
    """The parameter of trec_eval's set_F is the square of beta, and ir_measures has no measure called SetRelP."""
    tool = pytest.importorskip("ir_measures", reason="needs ir-measures")
    measures = [tool.SetF(beta=0.5), tool.SetF(beta=2.0, rel=2), tool.SetRelP, tool.SetRelP(rel=2)]
    ours = evaluate(*data, metrics=measures, convention="trec").per_query
    for measure, name in zip(measures, ours.columns[1:], strict=True):
        theirs = {found.query_id: found.value for found in tool.iter_calc([measure], *data)}
        assert dict(ours.select("qid", name).rows()) == pytest.approx(theirs, rel=1e-12), measure
    assert evaluate(*data, metrics="set_F.0.5,2.0").per_query.columns[1:] == [ours.columns[1], "f1.4142135623730951"]
    assert evaluate(*data, metrics="f0.5").per_query.columns[1:] == ["f0.5"]
    assert evaluate(*data, metrics='nDCG(dcg="exp-log2", cutoff=20)@10').means["metric"][0].startswith("ndcg@10")


def without_ties(run):
    """Return a run in the order of `trec` without equal scores, whose order in ranx is that of an unstable sort."""
    orders = {query: sorted(each, key=lambda document: (each[document], document)) for query, each in run.items()}
    return {query: {document: float(place) for place, document in enumerate(each)} for query, each in orders.items()}


def test_values_of_ranx(data):
    tool = pytest.importorskip("ranx", reason="needs ranx")
    qrels = {query: {key: max(grade, 0) for key, grade in documents.items()} for query, documents in data[0].items()}
    run = tool.Run(without_ties(data[1]))
    tool.evaluate(tool.Qrels(qrels), run, RANX)
    theirs = {query: {name: run.scores[name][query] for name in RANX} for query in qrels}
    check((qrels, data[1]), RANX, theirs)


@pytest.mark.parametrize("name", ["rbp.95", "rbp.50", "rbp.80-l2"])
def test_rank_biased_precision_of_ranx_has_the_grades_as_gains(data, name):
    tool = pytest.importorskip("ranx", reason="needs ranx")
    qrels = {query: {key: max(grade, 0) for key, grade in documents.items()} for query, documents in data[0].items()}
    run = tool.Run(without_ties(data[1]))
    tool.evaluate(tool.Qrels(qrels), run, name)
    ours = metric_name(name)
    ours = ours.replace("(rel=2)", "(rel=2,gain=linear)") if "rel" in ours else f"{ours}(gain=linear)"
    found = evaluate(qrels, data[1], metrics=ours, convention="trec").per_query
    np.testing.assert_allclose(found[ours], [run.scores[name][query] for query in found["qid"]], rtol=1e-12)
    binary = {query: {key: int(grade > 0) for key, grade in documents.items()} for query, documents in qrels.items()}
    tool.evaluate(tool.Qrels(binary), run, "rbp.95")
    found = evaluate(binary, data[1], metrics="rbp.95", convention="trec").per_query
    np.testing.assert_allclose(found["rbp@0.95"], [run.scores["rbp.95"][query] for query in found["qid"]], rtol=1e-12)


def test_rank_biased_precision_with_gains():
    ranking = [0, 3, 1, 0, 2], [5, 4, 3, 2, 1]
    names = ["rbp@0.5(gain=linear)", "RBP(p=0.5)@3(gain=linear)", "rbp@0.5(rel=2,gain=exponential)"]
    found = evaluate(*ranking, qid=[1] * 5, metrics=names).per_query.row(0)
    assert found[1:] == (0.5 * (3 / 2 + 1 / 4 + 2 / 16), 0.5 * (3 / 2 + 1 / 4), 0.5 * (7 / 2 + 3 / 16))


def test_recall_levels_of_trec_eval_10_are_rounded():
    """Version 10 takes lround(r R) documents, where version 9 takes floor(r R + .9): 1 and 2 for r = .3 and R = 4."""
    ranking = [1, 0, 1, 1, 1], [5, 4, 3, 2, 1]
    for level, value in (("rounded", 1.0), ("trec_eval", 0.8), ("exact", 0.8)):
        found = evaluate(*ranking, qid=[1] * 5, metrics="iprec@0.3", convention=resolve("trec", recall_level=level))
        assert found.per_query["iprec@0.3"].to_list() == [value]


NAMES = {
    "P_5": "p@5", "P.5": "p@5", "ndcg_cut_10": "ndcg@10", "ndcg_cut.10": "ndcg@10", "recip_rank": "mrr",
    "RECALL_100": "recall@100",
    "map_cut_100": "map@100", "RR@10": "mrr@10", "MRR@10": "mrr@10", "AP@100": "map@100", "AP(rel=2)": "map(rel=2)",
    "Success@1": "success@1", "hit_rate@5": "success@5", "Judged@10": "judged@10", "Bpref": "bpref", "infAP": "infap",
    "rbp": "rbp@0.8", "RBP(p=0.95,rel=1)": "rbp@0.95", "rbp.95": "rbp@0.95",
    "11pt_avg": "iprec_11pt",
    "iprec_at_recall_0.10": "iprec@0.1", "IPrec@0.1": "iprec@0.1", "set_P": "precision",
    "P": "precision", "R": "recall", "hits": "num_rel_ret", "hit_rate": "hit_rate", "SetAP": "set_map",
    "NumRet": "num_ret", "NumRet(rel=1)": "num_rel_ret", "NumRet(rel=2)": "num_rel_ret(rel=2)",
    "RBP@10": "rbp0.8@10", "RBP(p=0.5,rel=2)@10": "rbp0.5@10(rel=2)", "RBP(cutoff=10)": "rbp0.8@10",
    "IPrec(recall=0.1,rel=2)": "iprec@0.1(rel=2)", "set_F.0.5": "f0.5", "set_relative_P": "set_relative_p",
    "nDCG(gains={1: 2, 2: 5})@10": "ndcg@10(gain=1:2;2:5)", "infNDCG": "infndcg",
    "SetF(beta=2)": "f2", "F1@10": "f1@10", "nDCG(dcg='exp-log2')@10": "ndcg@10(gain=exponential,discount=log2)",
    "nDCG(cutoff=10)": "ndcg@10", "map@100-l2": "map@100(rel=2)",
    "P(judged_only=True, rel=2)@5": "p@5(rel=2,judged_only)",
    "NumRelRet": "num_rel_ret", "R-Precision": "r_precision", "rprec": "r_precision", "AP(rel=1)": "map", "ERR": "err",
}  # fmt: skip


@pytest.mark.parametrize("spelling", NAMES)
def test_the_names_of_other_programs(spelling):
    assert metric_name(spelling) == metric_name(NAMES[spelling]) == NAMES[spelling]


@pytest.mark.parametrize(
    "spelling",
    ["ndcg@10(rel=2)", "map(depth=3)", "map(rel=0)", "map(rel=two)", "judged@5(rel=2)", "rbp(p=2)", "p(x)@5"],
)
def test_unknown_options_are_refused(spelling):
    with pytest.raises(GradrankError, match="metric"):
        metric_name(spelling)


STATUS = np.array([0, 2, 0, 1, 0, 2])
GRADES = np.array([2, 0, 1, 0, 0, 0])
EXPECTED = [
    "bpref",
    "bpref(rel=2)",
    "judged@3",
    "map@3(rel=2)",
    "p@2(judged_only)",
    "mrr(judged_only)",
    "ndcg@3(judged_only)",
]
EXPECTED += ["success@2(rel=2)", "map(rel=2,judged_only)", "rbp@0.5(rel=2)", "ndcg@3(gain=linear)", "recall@2(rel=2)"]
EXPECTED += ["rbp@0.5(gain=linear)", "infndcg", "infndcg(gain=linear)", "rbp0.5@2(rel=2)", "hit_rate", "set_map"]


@pytest.mark.parametrize("scores", [[1, 1, 1, 1, 1, 1], [2, 2, 2, 1, 1, 1], [3, 2, 2, 2, 2, 1]])
def test_incomplete_judgements_over_all_orders_of_equal_scores(scores):
    """The value in expectation is the mean over all orders, in which the status of a document moves with it."""
    scores, convention = np.array(scores, dtype=float), resolve("standard")
    orders = np.array([order for order in permutations(range(6)) if np.array_equal(scores[[*order]], scores)])
    arrays = scores[orders].ravel(), GRADES[orders].ravel(), 6 * np.arange(len(orders) + 1), convention
    found = compute(EXPECTED, *arrays, status=STATUS[orders].ravel())
    expected = compute(EXPECTED, scores, GRADES, np.array([0, 6]), convention.in_expectation(), status=STATUS)
    for name in EXPECTED:
        assert expected[name][0] == pytest.approx(np.mean(found[name]), rel=1e-12), name


def inferred_ndcg(grades, run):
    """Return infNDCG by the formulas of Yilmaz et al. 2008 for one stratum. grades: -1 if pooled and not judged."""
    sample = [grade for grade in grades.values() if grade >= 0]
    start, ideal = 0.0, 0.0
    for grade in sorted({grade for grade in sample if grade > 0}, reverse=True):
        number = sample.count(grade) * len(grades) / len(sample)
        ideal += sum(grade / np.log2(start + place + 1) for place in range(1, int(number + 1e-9) + 1))
        start += number
    order = sorted(run, key=lambda document: -run[document])
    pooled = [document for document in order if document in grades]
    judged = [document for document in pooled if grades[document] >= 0]
    gains = (max(grades.get(document, 0), 0) / np.log2(rank + 1) for rank, document in enumerate(order, 1))
    return sum(gains) * len(pooled) / len(judged) / ideal


def test_inferred_ndcg_has_the_values_of_its_formula():
    rng = np.random.default_rng(4)
    qrels = {f"q{q}": {f"d{d}": int(rng.choice([-1, 0, 1, 2, 3])) for d in range(30)} for q in range(10)}
    run = {q: {f"d{d}": float(score) for d, score in enumerate(rng.permutation(50)) if d % 7} for q in qrels}
    found = evaluate(qrels, run, metrics=["infNDCG", "ndcg"], convention="trec").per_query
    expected = [inferred_ndcg(qrels[q], run[q]) for q in found["qid"]]
    np.testing.assert_allclose(found["infndcg"], expected, rtol=1e-12)
    assert not np.allclose(found["infndcg"], found["ndcg"])


def test_inferred_ndcg_of_a_pool_that_is_judged_completely_is_ndcg():
    rng = np.random.default_rng(4)
    y, scores, qid = rng.integers(0, 5, 300), rng.normal(size=300).round(), np.repeat(np.arange(10), 30)
    for convention in ("standard", "trec", "standard_expected"):
        found = evaluate(y, scores, qid=qid, metrics=["infndcg", "ndcg"], convention=convention).per_query
        assert found["infndcg"].equals(found["ndcg"])


def sampled_judgements(seed):
    """Return rows (query, iteration, document, stratum, grade) and a run. The strata are sampled at different rates."""
    rng = np.random.default_rng(seed)
    rows, run = [], []
    for query in ("1", "2", "3"):
        for document in range(60):
            stratum = int(rng.integers(1, 4))
            is_judged = rng.random() < (1.0, 0.5, 0.2)[stratum - 1]
            rows.append((query, 0, f"d{document}", stratum, int(rng.choice([0, 0, 1, 2, 3])) if is_judged else -1))
        ranked = enumerate(rng.permutation(100)[:80])
        run += [(query, "Q0", f"d{document}", 1, float(score), "tag") for score, document in ranked]
    return rows, run


def inferred_values(rows, run):
    """Return (xinfAP, infNDCG) of one query by the formulas of Yilmaz et al. 2008. rows: as in `sampled_judgements`."""
    grades, stratum = ({row[2]: row[place] for row in rows} for place in (4, 3))
    strata = {*stratum.values()}

    def scale(documents, which):
        """Return the number of pooled documents of a stratum that a judged one stands for, among these documents."""
        inside = [document for document in documents if stratum.get(document) == which]
        judged = [document for document in inside if grades[document] >= 0]
        return len(inside) / len(judged) if judged else 0.0

    order = [row[2] for row in sorted(run, key=lambda row: -row[4])]
    total = sum(scale(grades, stratum[document]) for document, grade in grades.items() if grade > 0)
    precisions, dcg, ideal, start = 0.0, 0.0, 0.0, 0.0
    for rank, document in enumerate(order, 1):
        if grades.get(document, 0) > 0:
            estimate = 0.0
            for which in strata:
                above = [other for other in order[: rank - 1] if stratum.get(other) == which]
                relevant, judged = (sum(grades[other] >= least for other in above) for least in (1, 0))
                estimate += len(above) * (relevant + 1e-5) / (judged + 3e-5)
            precisions += scale(grades, stratum[document]) * (1 + estimate) / rank
            dcg += scale(order, stratum[document]) * grades[document] / np.log2(rank + 1)
    for level in (3, 2, 1):
        number = sum(scale(grades, stratum[document]) for document, grade in grades.items() if grade == level)
        ideal += sum(level / np.log2(start + place + 1) for place in range(1, int(number + 1e-9) + 1))
        start += number
    return precisions / total, dcg / ideal


@pytest.mark.parametrize("seed", range(5))
def test_sampled_judgements_with_strata_have_the_values_of_their_formulas(seed, tmp_path):
    """The values are also those of TREC's sample_eval.pl, to the last digit that it prints."""
    rows, run = sampled_judgements(seed)
    paths = [tmp_path / "qrels", tmp_path / "run"]
    for path, table in zip(paths, (rows, run), strict=True):
        path.write_text("".join(" ".join(map(str, row)) + "\n" for row in table))
    found = evaluate(*paths, metrics=["infAP", "infNDCG"], convention="trec").per_query
    for query, *values in found.rows():
        of_query = [[row for row in table if row[0] == str(query)] for table in (rows, run)]
        assert values == pytest.approx(inferred_values(*of_query), rel=1e-12)
    frame = pl.DataFrame(rows, ["qid", "iteration", "docid", "stratum", "label"], orient="row")
    assert evaluate(frame, paths[1], metrics=["infAP", "infNDCG"], convention="trec").per_query.equals(found)
    one = evaluate(frame.with_columns(stratum=5), paths[1], metrics="infNDCG", convention="trec").per_query
    without = evaluate(frame.drop("stratum"), paths[1], metrics="infNDCG", convention="trec").per_query
    np.testing.assert_allclose(one["infndcg"], without["infndcg"], rtol=1e-12)


def test_a_run_in_place_of_judgements_is_no_judgements_with_strata(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 1 3\n1 Q0 b 2 2\n")
    with pytest.raises(GradrankError, match=r"as ranks of a run do.*Fix:"):
        evaluate(tmp_path / "run", {"1": {"a": 1.0}})


def test_inferred_ndcg_with_strata_over_all_orders_of_equal_scores():
    scores, convention = np.array([3.0, 2.0, 2.0, 2.0, 2.0, 1.0]), resolve("standard")
    status, grades, stratum = np.array([0, 1, 0, 0, 2, 0]), np.array([1, 0, 2, 0, 0, 1]), np.array([0, 0, 0, 1, -1, 1])
    orders = np.array([order for order in permutations(range(6)) if np.array_equal(scores[[*order]], scores)])
    arrays = scores[orders].ravel(), grades[orders].ravel(), 6 * np.arange(len(orders) + 1), convention
    strata = {"status": status[orders].ravel(), "stratum": stratum[orders].ravel()}
    found = compute(["infndcg"], *arrays, **strata)["infndcg"]
    in_expectation = scores, grades, np.array([0, 6]), convention.in_expectation()
    expected = compute(["infndcg"], *in_expectation, status=status, stratum=stratum)["infndcg"]
    assert expected[0] == pytest.approx(np.mean(found), rel=1e-12)


def test_the_cutoff_of_rank_biased_precision():
    ranking = [0, 1, 1, 0, 1], [5, 4, 3, 2, 1]
    found = evaluate(*ranking, qid=[1] * 5, metrics=["RBP(p=0.5)@3", "RBP(p=0.5)@9", "RBP(p=0.5)"]).per_query.row(0)
    assert found[1:] == (0.5 * (0.5 + 0.25), found[3], 0.5 * (0.5 + 0.25 + 0.0625))


def test_a_family_of_trec_eval_is_all_its_metrics():
    tool = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    qrels, run = {"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 1.0, "d2": 2.0}}
    names = ["ndcg_cut", "map_cut", "success", "iprec_at_recall", "P.5,10", "ndcg_cut.5,10", "ndcg_cut_20,4"]
    for name in [*names, "recall.7,9", "iprec_at_recall.0.10,0.25,0.50"]:
        (theirs,) = tool.RelevanceEvaluator(qrels, {name}).evaluate(run).values()
        ours = evaluate(qrels, run, metrics=name, convention="trec").per_query.row(0, named=True)
        assert {key: ours[metric_name(key)] for key in theirs} == pytest.approx(theirs, rel=1e-12)
        assert len(ours) == len(theirs) + 1
    assert metric_names("iprec_at_recall..10,.25") == ["iprec@0.1", "iprec@0.25"]  # as on trec_eval's command line


def test_a_list_or_function_of_gains_has_the_values_of_the_named_gain():
    rng = np.random.default_rng(2)
    y, scores, qid = rng.integers(0, 5, 300), rng.normal(size=300), np.repeat(np.arange(10), 30)
    names = ["ndcg@10", "dcg@5", "mean_ndcg", "err@5", "map", "ndcg_beta", "pairwise_accuracy"]

    def per_query(gain, grades=y):
        return evaluate(grades, scores, qid=qid, metrics=names, convention=resolve("standard", gain=gain)).per_query

    expected = per_query("exponential")
    assert per_query([0, 1, 3, 7, 15]).equals(expected)
    assert per_query(lambda grade: 2**grade - 1).equals(expected)
    assert per_query("linear").equals(per_query(lambda grade: grade, y.astype(float)))


def test_fractional_and_large_grades_have_the_values_of_scikit_learn():
    learn = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    rng = np.random.default_rng(3)
    scores, qid = rng.normal(size=60), np.repeat([1, 2, 3], 20)
    for y in (rng.uniform(0, 3, 60), rng.integers(0, 1000, 60)):
        ours = evaluate(y, scores, qid=qid, metrics=["ndcg@10", "dcg@10", "p@5(rel=2)"], convention="trec").per_query
        held = pl.DataFrame({"qid": qid, "docid": np.arange(60), "label": y})
        run = held.select("qid", "docid", score=pl.Series(scores))
        assert evaluate(held, run, metrics="ndcg@10", convention="trec").per_query["ndcg@10"].equals(ours["ndcg@10"])
        for query, ndcg, dcg, precision in ours.rows():
            own = [y[qid == query]], [scores[qid == query]]
            assert ndcg == pytest.approx(learn.ndcg_score(*own, k=10), rel=1e-12)
            assert dcg == pytest.approx(learn.dcg_score(*own, k=10), rel=1e-12)
            assert precision == np.mean(own[0][0][np.argsort(-own[1][0])][:5] >= 2)
        with pytest.raises(GradrankError, match="integer grades from 0 to 31"):
            evaluate(y, scores, qid=qid)


@pytest.mark.parametrize("gain", [[], [0, -1], ["a"], "square", 3, [0, np.inf], None])
def test_an_invalid_gain_is_refused(gain):
    with pytest.raises(GradrankError, match="gain"):
        resolve("standard", gain=gain)


def test_gains_that_do_not_fit_the_grades_are_refused():
    for gain in ([0, 1], lambda grade: -grade):
        with pytest.raises(GradrankError, match=r"gain: .*Fix:"):
            evaluate([0, 1, 2], [1, 2, 3], qid=[1, 1, 1], convention=resolve("standard", gain=gain))


def test_a_condensed_list_keeps_judged_documents_outside_the_ranking_in_the_ideal_order():
    ranked = np.array([True, True, False])
    ranking = Ranking([3.0, 2.0, 0.0], [0, 1, 2], [0, 3], resolve("trec"), ranked=ranked, status=np.array([2, 0, 0]))
    condensed = ranking.changed(judged_only=True)
    assert condensed.grades.tolist() == [1, 0, 0] and condensed.ideal_grades.tolist() == [2, 1, 0]
    assert condensed.length.tolist() == [1] and condensed.relevant.tolist() == [2]
