"""The stage that explains the best methods of a finished run, and the page of the report that shows its result."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed
from gradrank.bench.provenance.audit import audit, stamps
from gradrank.bench.report.document import report
from gradrank.bench.report.explanations import PAIRS, REPEATS, explanations
from gradrank.bench.results import Results
from gradrank.data.stored import StoredCollection
from gradrank.explanations.importance import importance
from gradrank.training.trained_fold import TrainedFold
from made_run import DATASET, FOLDS, STORED, run, write_scores, write_table
from rendered import Document

FOLDER, SEED = Results().dataset(DATASET), 7
PARAMS = {
    "seed": 5,
    "run": {
        "datasets": [DATASET],
        "models": ["prank", "regression", "fused", "imported_run"],
        "seeds": [5, 6],
        "explanations": True,
    },
    "datasets": {
        DATASET: {"path": "mine.csv"},
        "synthetic_net": {"queries": 10, "documents": 5},
        "synthetic_poly": {"queries": 10, "documents": 5},
    },
    "models": {
        "prank": {"epochs": 2},
        "fused": {"model": "combsum", "models": ["prank", "regression"]},
        "imported_run": {"scores": "imported_run.txt"},
    },
    "evaluation": {"metrics": ["ndcg@10", "map"]},
}


def explain(seed: int = SEED) -> dict:
    explanations(FOLDER.folder, STORED, "standard", seed, "0" * 16)
    return read_sealed(FOLDER.explanations_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A finished run with explanations; not to be changed."""
    root, before = tmp_path_factory.mktemp("explained"), Path.cwd()
    os.chdir(root)
    try:
        write_table()
        write_scores()
        run(PARAMS)
        explain()
    finally:
        os.chdir(before)
    return root


@pytest.fixture
def root(made, tmp_path, monkeypatch) -> Path:
    """A copy of the run as the working folder."""
    root = shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def found(root) -> dict:
    return read_sealed(FOLDER.explanations_path)


def test_trained_methods_are_explained_and_imported_scores_are_not(found):
    methods = [method["model"] for method in found["methods"]]
    assert {*methods} == {"prank", "regression", "fused"} and found["has_several_seeds"]
    means = FOLDER.summary()
    assert methods == sorted(methods, key=lambda name: -(means[name]["ndcg@10"] or 0))
    assert found["opponents"][0] == methods[0] and len(found["agreement"]) == 3


def test_importances_are_means_over_the_test_parts_of_all_folds(found):
    stored = StoredCollection.open(STORED)
    for method in found["methods"]:
        drops = dict.fromkeys(("f1", "f2", "f3"), 0.0)
        for number in range(1, FOLDS + 1):
            fold = TrainedFold.load(FOLDER.method(method["model"]).fold(number).folder)
            test = stored.read(stored.fold(number)["test"])
            own = importance(fold, test, "ndcg@10", convention="standard", repeats=REPEATS, seed=SEED)
            for row in own.frame().to_dicts():
                drops[row["feature"]] += row["drop"] / FOLDS
        assert {row["feature"]: row["drop"] for row in method["importance"]} == pytest.approx(drops)


def test_each_pair_is_ordered_right_by_the_better_method_alone_and_its_contributions_sum_to_the_difference(found):
    assert 0 < len(found["pairs"]) <= PAIRS
    gaps = [abs(np.diff([method["value"] for method in pair["methods"]])[0]) for pair in found["pairs"]]
    assert gaps == sorted(gaps, reverse=True)
    stored = StoredCollection.open(STORED)
    for pair in found["pairs"]:
        assert [method["model"] for method in pair["methods"]] == found["opponents"]
        better, worse = sorted(pair["methods"], key=lambda method: -method["value"])
        assert better["ranks"][0] < better["ranks"][1] and worse["ranks"][0] > worse["ranks"][1]
        assert pair["documents"][0]["grade"] > pair["documents"][1]["grade"]
        test = stored.read(stored.fold(pair["fold"])["test"])
        query = test.qids.tolist().index(int(pair["query"]))
        rows = np.arange(*test.offsets[query : query + 2])
        for place, document in enumerate(pair["documents"]):
            row = rows[document["number"] - 1]
            assert test.labels[row] == document["grade"]
            for method in pair["methods"]:
                fold = TrainedFold.load(FOLDER.method(method["model"]).fold(pair["fold"]).folder)
                scores = fold.score(test.features[rows], np.array([0, len(rows)]))
                assert scores[document["number"] - 1] == pytest.approx(method["scores"][place])
                values = {entry["feature"]: entry["ab"[place]] for entry in method["contributions"]}
                assert [values[f"f{k}"] for k in (1, 2, 3)] == pytest.approx(test.features[row].tolist())
        for method in pair["methods"]:
            total = sum(entry["contribution"] for entry in method["contributions"])
            assert total == pytest.approx(method["scores"][0] - method["scores"][1])


def test_the_file_has_equal_bytes_again_and_other_permutations_with_another_seed(root, found):
    before = FOLDER.explanations_path.read_bytes()
    assert explain() == found and FOLDER.explanations_path.read_bytes() == before
    assert explain(seed=8)["methods"] != found["methods"]


def test_a_damaged_model_and_other_data_are_errors(root):
    best = read_sealed(FOLDER.explanations_path)["methods"][0]["model"]
    fold = FOLDER.method(best).fold(2)
    file = next(path for path in sorted(fold.model_path.rglob("*")) if path.is_file())
    whole = file.read_bytes()
    file.write_bytes(whole + b" ")
    with pytest.raises(GradrankError, match="fold2"):
        explain()
    file.write_bytes(whole)
    FOLDER.summary_path.unlink()
    with pytest.raises(GradrankError, match=r"summary\.json"):
        explain()


def test_an_edited_file_is_a_mismatch(root):
    path = FOLDER.explanations_path
    assert path in stamps(Path("results"), Path("data"))
    assert [*audit(path)] == []
    path.write_text(path.read_text().replace('"tau": ', '"tau": 1', 1))
    assert [mismatch.path for mismatch in audit(path)] == [path]


def page(root: Path) -> str:
    report(Path("results"), Path("results/report.html"))
    return (root / "results/report.html").read_text(encoding="utf-8")


def test_the_page_exists_only_with_the_file_and_says_if_the_results_changed(root):
    text = page(root)
    assert f'id="explanations-{DATASET}"' in text and f'href="#explanations-{DATASET}"' in text
    assert "The results have changed" not in text
    assert (root / f"results/report/{DATASET}/importance.svg").is_file()
    FOLDER.summary_path.write_text(FOLDER.summary_path.read_text() + "\n")
    assert "The results have changed" in page(root)
    FOLDER.explanations_path.unlink()
    assert "explanations-" not in page(root)


def test_the_page_shows_every_importance(root, found):
    document = Document(page(root))
    head, *rows = document.table("importances")
    assert [cell["text"].strip() for cell in head[1:]] == [method["model"] for method in found["methods"]]
    for name, *cells in rows:
        for method, cell in zip(found["methods"], cells, strict=True):
            (row,) = (row for row in method["importance"] if row["feature"] == name["text"])
            mean, half = (text.replace("−", "-") for text in cell["text"].split("±"))
            assert float(mean) == pytest.approx(row["drop"], abs=5.001e-5)
            assert float(half) == pytest.approx((row["high"] - row["low"]) / 2, abs=5.001e-5)
    assert len(rows) == 3
