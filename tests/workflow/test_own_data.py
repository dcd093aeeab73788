"""A user's own data: three lines in params.yaml, whatever the layout."""

import json
from pathlib import Path

import pytest

from gradrank.data.layout import ROTATION
from gradrank.data.synthetic import generate


def five_folds(parts: list[str], folder: Path) -> Path:
    for number, rotation in enumerate(ROTATION, 1):
        fold = folder / f"Fold{number}"
        fold.mkdir(parents=True)
        for split, members in rotation.items():
            (fold / f"{split}.txt").write_text("".join(parts[part - 1] for part in members))
    return folder


def one_fold(parts: list[str], folder: Path) -> Path:
    folder.mkdir()
    for split, text in zip(("train", "vali", "test"), parts, strict=False):
        (folder / f"{split}.txt").write_text(text)
    return folder


def svmlight_file(parts: list[str], folder: Path) -> Path:
    folder.mkdir()
    lines = [line.split(" #")[0] for part in parts for line in part.splitlines()]
    (folder / "all.svm").write_text("\n".join(lines) + "\n")
    return folder / "all.svm"


@pytest.mark.parametrize(("layout", "folds"), [(five_folds, 5), (one_fold, 1), (svmlight_file, 5)])
def test_own_data_run_through_the_whole_chain(project, tmp_path, layout, folds):
    generate("net", 10, 8, 3, tmp_path / "text")
    parts = [(tmp_path / f"text/S{part}.txt").read_text() for part in range(1, 6)]
    path = layout(parts, tmp_path / "my own data")
    project.params(datasets={"my_data": {"path": str(path)}}, run={"models": ["single_feature"]})
    project.snakemake("--cores", "2", "my_data")
    meta = json.loads((project.root / "data/parquet/my_data/collection.json").read_text())
    assert len(meta["folds"]) == folds
    assert meta["queries"] == (6 if layout is one_fold else 10)
    summary = json.loads((project.root / "results/my_data/summary.json").read_text())
    assert 0 < summary["single_feature"]["map"] <= 1
    assert "my_data" in (project.root / "results/report.html").read_text()
    assert "Nothing to be done" in project.snakemake("--cores", "2", "my_data")


def test_damaged_line_is_named_and_nothing_is_trained(project, tmp_path):
    generate("net", 10, 8, 3, tmp_path / "text")
    parts = [(tmp_path / f"text/S{part}.txt").read_text() for part in range(1, 6)]
    parts[1] = parts[1].replace(" 7:", " seven:", 1)
    path = five_folds(parts, tmp_path / "damaged")
    project.params(datasets={"my_data": {"path": str(path)}}, run={"models": ["single_feature"]})
    output = project.snakemake("--cores", "2", "my_data", ok=False)
    assert "Fold1/test.txt" in output or "Fold2/test.txt" in output
    assert "line 1" in output or ":1:" in output
    assert not (project.root / "data/parquet/my_data").exists()
    assert not (project.root / "results/my_data").exists()


def test_fault_in_params_stops_before_any_job(project):
    project.params(models={"lambdamart": {"learning_rat": 0.1}})
    output = project.snakemake("--cores", "2", ok=False)
    assert "models.lambdamart.learning_rat: unknown key (did you mean 'learning_rate'?)" in output
    assert not (project.root / "data").exists()
