"""The files that a study writes, and the study's page in the report."""

import csv
import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_stamp
from gradrank.bench.config.studies import get_study, study_names
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.literature import QUERIES, Band, judge
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column
from gradrank.bench.studies import writing as study_files
from gradrank.bench.studies.study import Figure, Inputs, PageSection, Table
from gradrank.bench.studies.tables import unpublished_row, verdict_columns, verdict_row
from gradrank.bench.studies.writing import write_study
from made_study import make_collection

ALT = "One line that rises"


def made_study(seconds=1.5):
    """Return a study with rows of each verdict, one row without a published number, a curve, and a table of times."""
    exact, near, far = (judge(0.5, ours, Band(0.02, QUERIES)) for ours in (0.5, 0.51, 0.6))
    rows = [
        {"what": "a | b"} | verdict_row(0.5, near, [exact, far]),
        {"what": "<b>"} | verdict_row(0.5, far, [exact, near]),
        {"what": "same"} | verdict_row(0.5, exact, [near, far]),
        {"what": "own"} | unpublished_row(0.25, math.nan, QUERIES),
    ]
    numbers = Table("numbers", "Numbers", (Column("what", "what"), *verdict_columns()), rows, "Of `three` rows.")
    times = Table("times", "Times", [Column("s", "seconds", ".2f")], [{"s": seconds}], timed=True)
    points = Table("curve", "Points", [Column("x", "x", "d"), Column("y", "y", ".2f")], [{"x": 1, "y": 0.5}])
    drawing = line_chart([Series("rising", [1, 2, 3], [0.1, 0.2, 0.4])], "x", "y", ALT)
    sections = [
        PageSection("first", "First", ["Some `code`."], [numbers, Figure("curve", "Curve", drawing, ALT, points)]),
        PageSection("second", "Second", [], [times]),
    ]
    return SimpleNamespace(TITLE="A & B", PUBLICATION="Somebody 2005.", build=lambda inputs: sections)


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(seconds=1.5, folder="made"):
        monkeypatch.setattr(study_files, "get_study", lambda name, part="": made_study(seconds))
        inputs = Inputs(tmp_path / "results", tmp_path / "data", tmp_path / "results" / "studies" / folder, {})
        write_study("made", inputs)
        return inputs.folder

    return write


def test_files_of_a_study(written):
    folder = written()
    numbers = json.loads((folder / "numbers.json").read_text())
    assert list(numbers) == ["numbers"], "neither times nor what figures draw"
    assert [row["verdict"] for row in numbers["numbers"]] == ["consistent", "not reproduced", "reproduced", ""]
    assert [row["alike"] for row in numbers["numbers"]] == [1, 0, 0, None]
    assert numbers["numbers"][3] == {
        "what": "own", "published": None, "ours": 0.25, "difference": None, "half_width": None, "of": "queries",
        "verdict": "", "alike": None, "others": None,
    }  # fmt: skip
    tables = {path.name: list(csv.DictReader(path.open())) for path in (folder / "tables").glob("*.csv")}
    assert set(tables) == {"numbers.csv", "times.csv", "curve.csv"}
    assert tables["times.csv"] == [{"s": "1.5"}] and tables["numbers.csv"][3]["half_width"] == ""


def test_times_change_neither_numbers_nor_markdown(written):
    kept = ("numbers.json", "page.md")
    before = [(written(1.5) / name).read_bytes() for name in kept]
    assert [(written(2.5) / name).read_bytes() for name in kept] == before
    assert "2.5" in (written(2.5) / "page.json").read_text()


def test_measure_gives_what_evaluation_writes(tmp_path):
    """`Inputs.measure` gives the values that `gradrank evaluate-folds` writes to per_query.parquet."""
    folds = [{"train": [1, 2], "vali": [3], "test": [4]}, {"train": [5, 1], "vali": [2], "test": [3]}]
    collection = tmp_path / "data" / "parquet" / "made"
    rows = make_collection(collection, folds=folds, source_sha256="ab").shape[1]
    spec = {"model": "m", "dataset": "made", "params": {}, "seed": 1}
    rng = np.random.default_rng(0)
    for number in (1, 2):
        folder = tmp_path / "results/made/methods/m" / f"fold{number}"
        folder.mkdir(parents=True)
        splits = ["train"] * 2 * rows + ["vali"] * rows + ["test"] * rows
        pl.DataFrame({"split": splits, "score": rng.random(4 * rows)}).write_parquet(folder / "scores.parquet")
        own = spec | {"fold": number, "data_sha256": "ab"}
        write_stamp(folder / "spec.json", own, [folder / "scores.parquet"])
    metrics = ["ndcg@15", "map"]
    evaluate_folds(tmp_path / "results/made/methods/m", collection, spec, ["letor4", "standard"], metrics)
    stored = pl.read_parquet(tmp_path / "results/made/methods/m" / "per_query.parquet")
    inputs = Inputs(tmp_path / "results", tmp_path / "data" / "parquet", tmp_path, {})
    for convention in ("letor4", "standard"):
        for split in ("train", "vali", "test"):
            found = inputs.measure("made", "m", metrics, convention, split)
            expected = stored.filter(convention=convention, split=split)
            assert np.array_equal(found.folds, expected["fold"]) and np.array_equal(found.qids, expected["qid"])
            for metric in metrics:
                np.testing.assert_allclose(found.values[metric], expected[metric].to_numpy())
    with pytest.raises(GradrankError, match=r"spec\.json"):
        inputs.measure("made", "other", metrics, "letor4")


def test_studies_are_found_by_their_files():
    assert {"ranknet2005", "arsm", "term_report"} <= set(study_names())
    for name in study_names():
        study = get_study(name)
        assert study.TITLE and study.PUBLICATION and callable(get_study(name, "page").build)
    with pytest.raises(GradrankError, match="did you mean 'ranknet2005'"):
        get_study("ranknet_2005")
