"""Import of score files from another system, in place of a training job."""

import json

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.score_exchange import import_scores
from gradrank.bench.folds.settings import fault, score_files
from gradrank.bench.results import MethodFolder
from gradrank.data.parse import parse
from made_collection import store

SPEC = {"model": "imported", "dataset": "toy", "seed": 3}
FOLDS = [{"train": [1], "vali": [2], "test": [3, 4]}, {"train": [3], "vali": [4], "test": [1]}]


@pytest.fixture
def data(tmp_path):
    """Four parts of one query of three documents each: query 10, 20, 30, 40; the first document is relevant."""
    rows = [(part, 10 * part, int(at == 0), f"D{part}{at}") for part in (1, 2, 3, 4) for at in range(3)]
    frame = pl.DataFrame(rows, schema=["part", "qid", "label", "docid"], orient="row")
    parts = {part: frame.filter(part=part).drop("part") for part in (1, 2, 3, 4)}
    return store(tmp_path / "data/toy", parts, folds=FOLDS, features=2, source_sha256="ab")


def measured(tmp_path, data, scores: str) -> pl.DataFrame:
    method = MethodFolder(tmp_path / "results/toy/methods/theirs")
    for fold in (1, 2):
        import_scores(scores, data, fold, 3, method.fold(fold).folder)
        for path in (method.fold(fold).scores_path, method.fold(fold).history_path):
            method.fold(fold).check(path)
    evaluate_folds(method.folder, data, SPEC | {"params": {"scores": scores}}, ["standard"], ["mrr", "map"])
    return pl.read_parquet(method.per_query_path)


def test_a_score_file_a_fold(tmp_path, data):
    (tmp_path / "1.txt").write_text("3\n2\n1\n1\n2\n3\n")
    (tmp_path / "2.txt").write_text("2\n3\n1\n")
    values = measured(tmp_path, data, f"{tmp_path}/{{fold}}.txt")
    assert values.select("fold", "split", "qid", "mrr").rows() == [
        (1, "test", 30, 1.0),
        (1, "test", 40, pytest.approx(1 / 3)),
        (2, "test", 10, 0.5),
    ]
    fold = MethodFolder(tmp_path / "results/toy/methods/theirs").fold(1)
    (origin,) = json.loads((fold.model_path / "origin.json").read_text())
    assert origin["path"] == f"{tmp_path}/1.txt" and fold.spec()["scores_sha256"] == [origin["sha256"]]
    assert fold.history().is_empty() and fold.timing()["fit_seconds"] == 0


def test_one_run_of_the_whole_collection_that_leaves_documents_out(tmp_path, data, capsys):
    lines = [f"{10 * part} Q0 D{part}{at} 0 {at} x" for part in (4, 3, 2, 1) for at in (0, 1, 2)]
    kept = [line for line in lines if "D30" not in line]
    (tmp_path / "run.txt").write_text("\n".join(kept))
    values = measured(tmp_path, data, f"{tmp_path}/run.txt")
    assert values["qid"].to_list() == [30, 40, 10]
    assert values["mrr"].to_list() == [0.0, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert "ranks 11 of 12 documents" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["lines", "run"])
def test_of_a_file_that_was_divided_the_ranking_has_the_file_s_own_order(tmp_path, form):
    text, scores, runs = [], [], []
    for query in (50, 20, 70, 10, 90, 30, 60):
        for at in range(3):
            text.append(f"{int(at == query % 3)} qid:{query} 1:{at}")
            scores.append(f"{int(at == query % 3)}")
            runs.append(f"{query} Q0 {len(text):010d} 0 {scores[-1]} x")  # as `gradrank predict` numbers rows
    (tmp_path / "mine.txt").write_text("\n".join(text) + "\n")
    (tmp_path / "scores.txt").write_text("\n".join(scores if form == "lines" else runs) + "\n")
    stored = tmp_path / "data/mine"
    assert sorted(parse(tmp_path / "mine.txt", stored, 3, "mine")["division"]) == list("1122345")
    method = MethodFolder(tmp_path / "results/mine/methods/theirs")
    for fold in range(1, 6):
        import_scores(f"{tmp_path}/scores.txt", stored, fold, 3, method.fold(fold).folder)
    spec = {"model": "imported", "dataset": "mine", "seed": 3, "params": {"scores": f"{tmp_path}/scores.txt"}}
    evaluate_folds(method.folder, stored, spec, ["standard"], ["mrr"])
    assert pl.read_parquet(method.per_query_path)["mrr"].to_list() == [1.0] * 7


def test_a_fault_leaves_no_finished_fold(tmp_path, data):
    method = MethodFolder(tmp_path / "results/toy/methods/theirs")
    (tmp_path / "1.txt").write_text("1\n" * 6)
    import_scores(f"{tmp_path}/{{fold}}.txt", data, 1, 3, method.fold(1).folder)
    (tmp_path / "1.txt").write_text("1\n2\n")
    with pytest.raises(GradrankError, match=r"1\.txt: 2 scores for 6 documents"):
        import_scores(f"{tmp_path}/{{fold}}.txt", data, 1, 3, method.fold(1).folder)
    with pytest.raises(GradrankError, match="fold 3 does not exist"):
        import_scores("x", data, 3, 3, method.fold(3).folder)


def test_the_pattern_s_fields(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert score_files("~/{dataset}/{fold}.txt", "toy", 2) == {"test": tmp_path / "toy/2.txt"}
    assert list(score_files("{split}", "toy", 2)) == ["train", "vali", "test"]
    assert fault("runs/{dataset}-{fold}-{split}.txt") is None
    for wrong in ("{model}", "{fold:3}", "{fold.x}", "{0}", "{", "", None, 3):
        assert fault(wrong), wrong
