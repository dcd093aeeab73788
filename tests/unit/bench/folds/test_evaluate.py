"""Reading judgements and scores, evaluating files and folds, and export to outside evaluators."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_sealed, write_stamp
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.per_query import read_test_queries
from gradrank.bench.folds.score_exchange import export_model
from gradrank.comparison.rankings.evaluation import evaluate, letor_report
from gradrank.export.rankings import export_trec
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.metrics import compute
from gradrank.measures.score_files import read_scores
from made_collection import store

LETOR = """\
2 qid:10 1:0.1 2:0.2 #docid = A inc = 1 prob = 0.2
0 qid:10 1:0.3 2:0.1 #docid = B
# a comment line

1 qid:7 1:0.5 2:0.4 #docid = A
0.0 qid:7 1:0.2 #docid = C
0 qid:7 1:0.9 #docid = D
"""
SCORES = [0.5, 1.5, 2.0, -1.0, 3.0]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text(LETOR)
    return path


def write(path, content):
    path.write_text(content) if isinstance(content, str) else content.write_parquet(path)
    return path


def test_judgements_of_letor_text(data):
    got = read_judgements(data)
    assert got.labels.tolist() == [2, 0, 1, 0, 0]
    assert got.offsets.tolist() == [0, 2, 5]
    assert got.qids.tolist() == [10, 7]
    assert got.docids.to_list() == ["A", "B", "A", "C", "D"]


def test_text_with_byte_order_mark_carriage_returns_and_no_last_newline(tmp_path):
    path = tmp_path / "test.txt"
    path.write_bytes(("\ufeff" + LETOR.rstrip().replace("\n", "\r\n")).encode())
    assert read_judgements(path).labels.tolist() == [2, 0, 1, 0, 0]
    scores = tmp_path / "scores.txt"
    scores.write_bytes(b"\xef\xbb\xbf0.5\r\n1.5\r\n2e0\r\n-1\r\n+3.\r\n\r\n")
    assert read_scores(scores, read_judgements(path)).tolist() == SCORES


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("0.5\n1.5\n2.0\n-1.0\n", "4 scores for 5 documents"),
        ("0.5\n1.5\n2.0\n-1.0\n3.0\n4.0\n", "6 scores for 5 documents"),
        ("0.5\n1.5\nnan\n-1.0\n3.0\n", "line 3: 'nan' is not a finite number"),
        ("0.5\n1.5\n2\n-inf\n3.0\n", "line 4: '-inf' is not a finite number"),
        ("0.5\n1.5\n1e999\n-1.0\n3.0\n", "line 3: '1e999' is not a finite number"),
        ("0.5\nhigh\n2.0\n-1.0\n3.0\n", "line 2: 'high' is not a finite number"),
        ("0.5\n\n2.0\n-1.0\n3.0\n", "line 2: '' is not a finite number"),
        ("0.5 1.5\n2.0 -1.0\n3.0\n", "line 1: '0.5 1.5' is not a finite number"),
        ("", "no scores"),
        ("\n\n", "no scores"),
        ("10 Q0 A 1 2.0 me\n10 Q0 A 2 1.0 me\n", "line 2: document 'A' of query 10 has a second score"),
        ("10 Q0 A 1 2.0 me\n10 Q0 X 2 1.0 me\n", "line 2: document 'X' of query 10 is not in the data"),
        ("10 Q0 A 1 2.0 me\n7 Q0 A 2 1.0 me\n", "3 documents have no score; the first is document 'B' of query 10"),
        ("10 Q0 A 1 2.0 me\n7 Q0 A 1.0 me\n", "line 2: "),
        ("10 Q0 A 1 much me\n", "line 1: 'much' is not a finite number"),
        (pl.DataFrame({"score": [1.0, 2.0]}), "2 scores for 5 documents"),
        (pl.DataFrame({"score": [1.0, 2.0, 3.0, None, 5.0]}), "row 4: None is not a finite number"),
        (pl.DataFrame({"score": [1.0, float("nan"), 3.0, 4.0, 5.0]}), "row 2: 'NaN' is not a finite number"),
        (pl.DataFrame({"rank": SCORES}), "no column of scores"),
        (pl.DataFrame({"score": ["a"] * 5}), "column 'score' is String, not numeric"),
        (pl.DataFrame({"score": SCORES, "docid": list("ABACD")}), "`qid` and `docid`"),
        (pl.DataFrame({"score": SCORES, "split": ["train"] * 5}), "no scores"),
    ],
)
def test_malformed_scores_are_refused(tmp_path, data, content, reason):
    path = write(tmp_path / ("scores.txt" if isinstance(content, str) else "scores.parquet"), content)
    with pytest.raises(GradrankError, match=reason) as error:
        read_scores(path, read_judgements(data))
    assert str(path) in str(error.value)


IDS = pl.DataFrame({"qid": [10, 10, 7, 7, 7], "docid": list("ABACD"), "score": SCORES})


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (IDS.with_columns(qid=pl.Series([10.0, 10.0, 7.0, 7.0, 7.5])), "row 5, column 'qid': the id 7.5 is a fraction"),
        (IDS.with_columns(ranked=pl.lit(1)), "column `ranked`.* Int"),
        (IDS.with_columns(ranked=pl.lit(None, pl.Boolean)), "column `ranked`.* 5 missing values"),
        (IDS.with_columns(docid=pl.Series([None, *"BACD"])), "row 1, column .docid.: the id is missing"),
        (IDS.with_columns(docid=pl.Series([[1]] * 5)), "column 'docid' is List"),
        (pl.concat([IDS, IDS.head(1)]), "row 6: document 'A' of query 10 has a second score"),
    ],
)
def test_ids_and_ranked_are_what_they_should_be(tmp_path, data, table, reason):
    with pytest.raises(GradrankError, match=reason):
        read_scores(write(tmp_path / "scores.parquet", table), read_judgements(data))


def test_a_document_that_is_not_ranked_is_left_out_by_ids_as_by_rows(tmp_path, data):
    for table in (IDS, IDS.select("score")):
        ranked = table.with_columns(ranked=pl.Series([False, True, False, True, True]))
        values = evaluate(
            data, write(tmp_path / "ranked.parquet", ranked), convention="standard", metrics=["map"]
        ).per_query
        assert values["map"].to_list() == [0.0, 0.0]


def test_a_document_that_the_data_hold_twice_has_no_score_of_its_own(tmp_path):
    data = write(tmp_path / "twice.txt", "1 qid:1 1:1 #docid = A\n0 qid:1 1:2 #docid = A\n")
    run = write(tmp_path / "run.txt", "1 Q0 A 1 2 x\n")
    with pytest.raises(GradrankError, match="document 'A' of query 1 is in the data twice"):
        evaluate(data, run, metrics=["map"])


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_ids_are_whole_and_text_in_every_form_of_data(tmp_path, packed):
    ids = ["x" * 70 + "1", "x" * 70 + "2", "01", "1"]
    text = "".join(f"{k} qid:{each} 1:{k} #docid = D{k}\n" for each in ids for k in range(2))
    csv = "qid,label,docid,title\n" + "".join(f"{each},{k},D{k},a title\n" for each in ids for k in range(2))
    qrels = "".join(f"{each} 0 D{k} {k}\n" for each in ids for k in range(2))
    run = "".join(f"{each} Q0 D{k} 0 {k if n else -k} x\n" for n, each in enumerate(ids) for k in range(2))
    suffix = ".gz" if packed is gzip.compress else ""
    (tmp_path / f"run.txt{suffix}").write_bytes(packed(run.encode()))
    for name, content in (("a.txt", text), ("a.csv", csv), ("qrels", qrels)):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(packed(content.encode()))
        values = evaluate(path, tmp_path / f"run.txt{suffix}", convention="standard", metrics=["map"]).per_query
        assert values["qid"].to_list() == ids and values["map"].to_list() == [0.5, 1, 1, 1]


def test_other_files_than_expected_are_refused(tmp_path, data):
    with pytest.raises(GradrankError, match="no such file"):
        read_judgements(tmp_path / "absent.parquet")
    with pytest.raises(GradrankError, match=r"data\.txt: line 2: expected a grade"):
        read_judgements(write(tmp_path / "data.txt", "1 qid:1 1:2\nx qid:1 1:2\n"))
    with pytest.raises(GradrankError, match="not a Parquet file: "):
        read_scores(write(tmp_path / "scores.parquet", "0.5\n"), read_judgements(data))
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    with pytest.raises(GradrankError, match="not a text file"):
        read_scores(tmp_path / "binary.txt", read_judgements(data))


def test_values_and_report_by_hand(tmp_path, data):
    path = write(tmp_path / "scores.txt", "\n".join(map(str, SCORES)) + "\n")
    table = evaluate(data, path, convention="standard", metrics=["map", "p@1", "ndcg_beta"]).per_query
    assert table.to_dict(as_series=False) == {
        "qid": [10, 7], "map": [1 / 2, 1 / 2], "p@1": [0, 0], "ndcg_beta": [0, 1 / 2]
    }  # fmt: skip
    averages = [line.split("\t") for line in letor_report(data, path).splitlines() if line]
    assert averages[0] == ["qid", *(f"P@{k}" for k in range(1, 11)), "MAP"]
    assert averages[1][:4] == ["Average", "0.0000", "0.5000", "0.3333"]
    assert averages[2] == ["qid", *(f"NDCG@{k}" for k in range(1, 11)), "MeanNDCG"]
    # Query 10 has two documents and so 0 at 3; in query 7 rank 2 is not discounted.
    assert averages[3][3:5] == ["0.5000", "0.0000"]


def test_undefined_values_are_null_and_left_out_of_means(tmp_path):
    data = write(tmp_path / "data.txt", "0 qid:1 1:1\n0 qid:1 1:1\n1 qid:2 1:1\n0 qid:2 1:1\n")
    table = evaluate(
        data, write(tmp_path / "s.txt", "1\n2\n3\n4\n"), convention="letor4", metrics=["pairwise_accuracy"]
    ).per_query
    assert table["pairwise_accuracy"].to_list() == [None, 0.0]
    assert table["pairwise_accuracy"].mean() == 0.0


SPEC = {"model": "toy", "dataset": "small", "params": {"learning_rate": 0.1, "hidden": [10, 2]}, "seed": 3}


@pytest.fixture
def study(tmp_path):
    """A collection of three parts of six queries, and the folds of a model that scored it at random."""
    rng = np.random.default_rng(0)
    rows = [(part, 10 * part + q, i) for part in (1, 2, 3) for q in range(6) for i in range(rng.integers(2, 14))]
    part, qid, docid = (np.array(column) for column in zip(*rows, strict=True))
    frame = pl.DataFrame(
        {"part": part, "qid": qid, "docid": [f"D{i}" for i in docid], "label": rng.integers(0, 3, len(part))},
        schema={"part": pl.Int8, "qid": pl.Int64, "docid": pl.String, "label": pl.Int16},
    )
    folds = [{"train": [1], "vali": [2], "test": [3]}, {"train": [3, 1], "vali": [2], "test": [2]}]
    parts = {number: frame.filter(part=number).drop("part") for number in (1, 2, 3)}
    data = store(tmp_path / "small", parts, source_sha256="abc", folds=folds)
    for number, parts in enumerate(folds, start=1):
        folder = tmp_path / "toy" / f"fold{number}"
        folder.mkdir(parents=True)
        splits = [s for s, chosen in parts.items() for p in chosen for _ in range((part == p).sum())]
        pl.DataFrame({"split": splits, "score": rng.integers(0, 9, len(splits)) / 4}).write_parquet(
            folder / "scores.parquet"
        )
        spec = SPEC | {"fold": number, "data_sha256": "abc", "job_seed": 5, "versions": {"numpy": "2"}}
        write_stamp(folder / "spec.json", spec, [folder / "scores.parquet"])
    return tmp_path / "toy", data


def test_folds_are_evaluated_split_by_split(study):
    folder, data = study
    metrics = ["ndcg@5", "map", "err@3", "pairwise_accuracy"]
    evaluate_folds(folder, data, SPEC, ["letor4", "trec"], metrics)
    got = pl.read_parquet(folder / "per_query.parquet")
    assert got.columns == ["convention", "fold", "split", "qid", *metrics]
    assert got.schema["fold"] == pl.Int8
    assert got["convention"].to_list() == ["letor4"] * 42 + ["trec"] * 42
    scores = pl.read_parquet(folder / "fold2" / "scores.parquet").filter(pl.col("split") == "train")["score"]
    judgements = read_judgements(data, [3, 1])
    assert judgements.qids.tolist() == [*range(30, 36), *range(10, 16)]
    for convention in ("letor4", "trec"):
        rows = got.filter(convention=convention, fold=2, split="train")
        want = compute(
            metrics, scores.to_numpy(), judgements.labels, judgements.offsets, convention, ids=judgements.docids
        )
        assert rows["qid"].to_list() == judgements.qids.tolist()
        for metric in metrics:
            np.testing.assert_array_equal(rows[metric].to_numpy(), want[metric])


def test_every_seed_is_evaluated_as_it_would_be_alone(study):
    folder, data = study
    evaluate_folds(folder, data, SPEC, ["letor4", "trec"], ["map"])
    alone = pl.read_parquet(folder / "per_query.parquet")
    for fold in ("fold1", "fold2"):  # another seed, whose scores are the opposite
        (folder / fold / "seed8").mkdir()
        table = pl.read_parquet(folder / fold / "scores.parquet").with_columns(-pl.col("score"))
        table.write_parquet(folder / fold / "seed8/scores.parquet")
        spec = json.loads((folder / fold / "spec.json").read_text())
        further = folder / fold / "seed8"
        write_stamp(further / "spec.json", spec | {"seed": 8}, [further / "scores.parquet"])
    evaluate_folds(folder, data, SPEC, ["letor4", "trec"], ["map"], [8])
    got = pl.read_parquet(folder / "per_query.parquet")
    assert got.columns == ["convention", "fold", "seed", "split", "qid", "map"]
    assert got.filter(seed=SPEC["seed"]).drop("seed").equals(alone)
    assert len(got.filter(seed=8)) == len(alone) and not got.filter(seed=8).drop("seed").equals(alone)

    values = read_test_queries(folder / "per_query.parquet")["letor4"]
    one, other = (got.filter(seed=seed, convention="letor4", split="test")["map"] for seed in (3, 8))
    np.testing.assert_allclose(values.values["map"], (one + other).to_numpy() / 2, rtol=1e-15)
    tested = got.filter(seed=8, convention="letor4", split="test")
    assert values.seeds == 2 and list(values.qids) == tested["qid"].to_list()
    with pytest.raises(GradrankError, match="seed is 8 in the file but 9 now"):
        (folder / "fold1/seed8").rename(folder / "fold1/seed9")
        evaluate_folds(folder, data, SPEC, ["letor4"], ["map"], [9])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"params": {"learning_rate": 0.2, "hidden": [10, 2]}}, "params.learning_rate is 0.1 in the file but 0.2 now"),
        ({"params": {"learning_rate": 0.1}}, r"params.hidden is \[10, 2\] in the file but None now"),
        ({"params": SPEC["params"] | {"l2": 1.0}}, "params.l2 is None in the file but 1.0 now"),
        ({"seed": 4, "model": "tin"}, "model is 'toy' in the file but 'tin' now; seed is 3 in the file but 4 now"),
        ({"dataset": "large"}, "dataset is 'small' in the file but 'large' now"),
    ],
)
def test_scores_of_other_settings_are_refused(study, change, reason):
    folder, data = study
    with pytest.raises(GradrankError, match=reason) as error:
        evaluate_folds(folder, data, SPEC | change, ["letor4"], ["map"])
    assert "fold1/spec.json" in str(error.value)
    assert not (folder / "per_query.parquet").exists()


def test_scores_of_other_data_or_a_missing_fold_are_refused(study):
    folder, data = study
    meta = json.loads((data / "collection.json").read_text())
    write_sealed(data / "collection.json", meta | {"source_sha256": "def"})
    with pytest.raises(GradrankError, match="data_sha256 is 'abc' in the file but 'def' now"):
        evaluate_folds(folder, data, SPEC, ["letor4"], ["map"])
    write_sealed(data / "collection.json", meta)
    (folder / "fold2" / "spec.json").unlink()
    with pytest.raises(GradrankError, match=r"fold2/spec\.json: "):
        evaluate_folds(folder, data, SPEC, ["letor4"], ["map"])


def test_ir_measures_on_the_exported_folds_gives_the_values_of_per_query_parquet(tmp_path, study):
    ir_measures = pytest.importorskip("ir_measures")
    folder, data = study
    named = {
        "map": ir_measures.AP,
        "mrr": ir_measures.RR,
        "p@5": ir_measures.P @ 5,
        "recall@3": ir_measures.R @ 3,
        "ndcg@10": ir_measures.nDCG @ 10,
        "r_precision": ir_measures.Rprec,
        "iprec@0.4": ir_measures.IPrec @ 0.4,
    }
    evaluate_folds(folder, data, SPEC, ["trec"], list(named))
    ours = pl.read_parquet(folder / "per_query.parquet").filter(split="test")
    paths = export_model(folder, data, tmp_path / "out")
    for fold, (run, qrels) in enumerate(zip(paths[::3], paths[1::3], strict=True), start=1):
        rows = ours.filter(fold=fold)
        theirs = ir_measures.iter_calc(
            named.values(), ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
        )
        found = {(int(each.query_id), each.measure): each.value for each in theirs}
        assert len(found) == len(named) * 6
        for name, measure in named.items():
            want = [found[qid, measure] for qid in rows["qid"]]
            np.testing.assert_allclose(rows[name].to_numpy(), want, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("ids", [["A", "A"], ["A", "B C"], ["A", ""]])
def test_ids_that_a_trec_file_cannot_hold_are_refused(tmp_path, ids):
    judgements = Judgements(np.array([1, 0]), np.array([0, 2]), np.array([5]), pl.Series(ids))
    with pytest.raises(GradrankError, match=f"query 5: document id '{ids[1]}'"):
        export_trec(np.zeros(2), judgements, tmp_path / "run", tmp_path / "qrels")
    assert not list(tmp_path.iterdir())
