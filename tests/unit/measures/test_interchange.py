"""Runs and qrels of other systems: unranked documents, unjudged documents, and documents without ids."""

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_scores

MEASURES = {
    "map": "map",
    "mrr": "recip_rank",
    "r_precision": "Rprec",
    "ndcg": "ndcg",
    "ndcg@10": "ndcg_cut_10",
    "p@5": "P_5",
    "recall@10": "recall_10",
    **{f"iprec@{level / 10}": f"iprec_at_recall_{level / 10:.2f}" for level in range(11)},
}


@pytest.fixture
def qrels(tmp_path):
    """Qrels of twelve queries in random order, some without relevant documents, with grades from -1 to 3."""
    rng = np.random.default_rng(0)
    rows = [
        f"{qid} 0 D{doc} {rng.integers(-1, 1 if qid == 3 else 4)}"
        for qid in range(12)
        for doc in range(rng.integers(3, 30))
    ]
    path = tmp_path / "qrels.txt"
    path.write_text("\n".join(rng.permutation(rows)) + "\n")
    return path


@pytest.fixture
def run(qrels, tmp_path):
    """A run of about half of the judged documents, some unjudged ones, and one query without judgements."""
    rng = np.random.default_rng(1)
    judged = [line.split() for line in qrels.read_text().splitlines()]
    found = [(qid, doc) for qid, _, doc, _ in judged if qid != "7" and rng.random() < 0.5]
    found += [(str(qid), f"U{doc}") for qid in range(12) if qid != 7 for doc in range(4)] + [("99", "D1")]
    path = tmp_path / "run.txt"
    path.write_text("".join(f"{q} Q0 {d} 0 {rng.normal():.1f} x\n" for q, d in found))
    return path


def test_a_run_that_leaves_documents_out_is_measured_as_trec_eval_does(qrels, run, capsys):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")
    ours = evaluate(qrels, run, convention="trec", metrics=list(MEASURES)).per_query
    with run.open() as ranked, qrels.open() as judged:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), pytrec_eval.supported_measures)
        theirs = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    assert sorted(ours["qid"]) == list(range(12))
    for name, measure in MEASURES.items():
        want = [theirs[str(qid)][measure] if qid != 7 else 0.0 for qid in ours["qid"]]
        np.testing.assert_allclose(ours[name].to_numpy(), want, rtol=1e-9, atol=1e-12, err_msg=name)
    told = capsys.readouterr().err
    assert "44 documents of the ranking are not judged" in told
    assert "1 queries of the ranking have no judgements" in told
    assert "the relevant ones among them count in recall" in told
    assert "1 of 12 queries are not in the ranking" in told


def test_a_run_that_leaves_out_documents_of_letor_data(tmp_path, capsys):
    data, run = tmp_path / "test.txt", tmp_path / "run.txt"
    data.write_text("1 qid:1 1:0 #docid = A\n0 qid:1 1:0 #docid = B\n1 qid:1 1:0 #docid = C\n")
    run.write_text("1 Q0 B 1 3 x\n1 Q0 C 2 2 x\n")
    values = evaluate(data, run, convention="standard", metrics=["map", "p@2", "recall@10", "mrr", "ndcg@2"]).per_query
    ideal = 1 + 1 / np.log2(3)
    assert values.row(0) == (1, 0.25, 0.5, 0.5, 0.5, pytest.approx(1 / np.log2(3) / ideal))
    assert "ranks 2 of 3 documents" in capsys.readouterr().err
    with pytest.raises(GradrankError, match="1 documents have no score; the first is document 'A' of query 1"):
        read_scores(run, read_judgements(data))
    run.write_text("1 Q0 X 1 3 x\n")
    with pytest.raises(GradrankError, match="line 1: document 'X' of query 1 is not in the data"):
        evaluate(data, run, metrics=["map"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 A 1\n1 0 B x\n", "line 2: .*'1 0 B x'"),
        ("1 0 A 1\n1 0 B 99\n", "line 2: .* 31, found 99"),
        ("1 0 A ١\n", "line 1: .*'1 0 A ١'"),
        ("1 0 A 1\n1 0 A 0\n", "line 2: document 'A' of query 1 is judged twice"),
    ],
)
def test_a_fault_in_qrels_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(GradrankError, match=message):
        read_judgements(tmp_path / "qrels")


def test_qrels_need_a_run_with_names(tmp_path, qrels):
    pl.DataFrame({"score": [1.0]}).write_parquet(tmp_path / "scores.parquet")
    with pytest.raises(GradrankError, match="no document ids"):
        evaluate(qrels, tmp_path / "scores.parquet", convention="trec", metrics=["map"])
