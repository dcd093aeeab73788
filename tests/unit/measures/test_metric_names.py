"""Spellings of metric names, compared with ir_measures where it can compute the same quantity."""

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.measures.metrics import METRICS, find, metric_label, metric_name

SPELLINGS = ["nDCG@10", "nDCG", "AP", "MAP", "RR", "P@5", "Precision@5", "R@10", "Recall@10", "Rprec", "IPrec@0.1"]


@pytest.mark.parametrize("spelling", [*SPELLINGS, "AP(rel=1)", "P(rel=1)@5", "P(judged_only=False)@5"])
def test_a_spelling_of_ir_measures_has_the_value_of_ir_measures(spelling):
    tool = pytest.importorskip("ir_measures", reason="needs ir-measures")
    draw = np.random.default_rng(0)
    y, qid = draw.choice(4, 200, p=[0.6, 0.2, 0.1, 0.1]), np.repeat(range(10), 20)
    scores, docid = draw.normal(size=200).astype(np.float32), [f"d{i}" for i in range(200)]
    qrels, run = {}, {}
    for q, d, grade, score in zip(qid, docid, y, scores, strict=True):
        qrels.setdefault(str(q), {})[d] = int(grade)
        run.setdefault(str(q), {})[d] = float(score)
    measure = tool.parse_measure(spelling)
    ours = evaluate(y, scores, qid=qid, metrics=[spelling], convention="trec", docid=docid)
    assert ours.means["mean"][0] == pytest.approx(tool.calc_aggregate([measure], qrels, run)[measure], rel=1e-12)


def test_every_metric_has_a_spelling_for_its_pattern_and_its_label():
    parameters = {"k": "7", "beta": "2", "recall": "0.3", "persistence": "0.8"}
    for pattern in METRICS:
        name = pattern.format(**parameters)
        assert metric_name(name) == metric_name(name.upper()) == metric_name(f" {name} ") == name
        assert metric_name(metric_label(name)) == name
        find(name)


def test_the_persistence_of_rbp():
    assert metric_name("RBP(p=0.8)") == metric_name("RBP(rel=1,p=0.8)") == "rbp@0.8"


@pytest.mark.parametrize(
    "spelling",
    [
        *("AP(depth=2)", "P(rel=0)@5", "nDCG(dcg='log3')@10", "Judged(rel=2)@5", "ERR(rel=2)@5"),
        *("Bpref@10", "", "ndcg@0", "ndcg@-1", "ndcg@ten", "(rel=1)", 3, None),
    ],
)
def test_other_names_are_refused(spelling):
    with pytest.raises(GradrankError, match="metric"):
        metric_name(spelling)


def test_the_nearest_name_is_suggested():
    with pytest.raises(GradrankError, match="did you mean 'ndcg@5'"):
        metric_name("ngcd@5")


@pytest.mark.parametrize("cutoff", ["0", "00", "010", "-1"])
def test_no_suggestion_is_the_refused_name(cutoff):
    for pattern in METRICS:
        if "@{k}" in pattern:
            name = pattern.replace("{k}", cutoff)
            with pytest.raises(GradrankError) as refused:
                metric_name(name)
            assert f"did you mean {name!r}" not in str(refused.value)
