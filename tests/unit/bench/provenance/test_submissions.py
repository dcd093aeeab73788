"""Submissions: what `gradrank submit` writes and refuses, and what `gradrank verify` finds."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_stamp, write_stamp
from gradrank.bench.folds.per_query import read_compact
from gradrank.bench.provenance.submissions import STAMP, check_submissions, import_method, submit
from gradrank.bench.results import DatasetFolder
from made_run import DATASET, STORED, run, write_scores, write_table

ABOUT = {"authors": "A. Author", "selection": "default"}
PARAMS = {
    "seed": 3,
    "run": {"datasets": [DATASET], "models": ["single_feature", "theirs"]},
    "datasets": {
        DATASET: {"path": "mine.csv", "convention": "standard"},
        **{name: {"queries": 5, "documents": 5} for name in ("synthetic_net", "synthetic_poly")},
    },
    "models": {"theirs": {"scores": "imported_run.txt"}},
    "evaluation": {"conventions": ["standard", "letor4"], "metrics": ["ndcg@10", "map"]},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished run of one trained and one imported method."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_table()
        write_scores()
        run(PARAMS)
    return folder


@pytest.fixture
def dataset(finished, monkeypatch) -> DatasetFolder:
    monkeypatch.chdir(finished)
    return DatasetFolder(Path("results") / DATASET)


def submitted(dataset, out, method="single_feature", **more) -> Path:
    target = out / DATASET / method
    target.parent.mkdir(parents=True, exist_ok=True)
    submit(dataset.method(method), STORED, target, ABOUT | more, None)
    return target


def outcomes(folder) -> list[bool | None]:
    return [check.ok for check in check_submissions(folder, Path("results"), STORED.parent)]


def test_a_submission_has_the_values_the_code_and_the_description(dataset, tmp_path):
    folder = submitted(dataset, tmp_path, year=1999)
    convention, values = read_compact(folder / "queries.parquet")
    committed = read_compact(dataset.queries_path)[1]["single_feature"]
    assert convention == "standard" and values.keys() == {"single_feature"}
    for metric, expected in committed.values.items():
        np.testing.assert_array_equal(values["single_feature"].values[metric], expected)
    assert "class SingleFeature" in (folder / "model.py").read_text()
    stamp = read_stamp(folder / STAMP)
    assert stamp["authors"] == "A. Author" and stamp["year"] == 1999 and stamp["model"] == "single_feature"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert stamp["files"].keys() == files - {STAMP}
    assert {name for name in files if name.startswith("scores/")} == {f"scores/fold{k}.parquet" for k in range(1, 6)}
    assert pl.read_parquet(folder / "scores/fold1.parquet")["split"].unique().to_list() == ["test"]
    assert outcomes(tmp_path) == [True]


def test_imported_scores_have_no_code_and_are_checked_in_the_same_way(dataset, tmp_path):
    folder = submitted(dataset, tmp_path, "theirs")
    assert not (folder / "model.py").exists()
    assert outcomes(tmp_path) == [True]


def test_score_files_become_a_method_with_the_values_of_the_workflow(dataset, tmp_path):
    method = dataset.method("again")
    import_method(method, "imported_run.txt", STORED)
    folder = submitted(dataset, tmp_path, "again")
    _, values = read_compact(folder / "queries.parquet")
    expected = read_compact(dataset.queries_path)[1]["theirs"]
    np.testing.assert_array_equal(values["again"].values["ndcg@10"], expected.values["ndcg@10"])


def test_an_edited_file_is_found(dataset, tmp_path):
    folder = submitted(dataset, tmp_path)
    scores = folder / "scores/fold2.parquet"
    pl.read_parquet(scores).with_columns(pl.col("score") * -1).write_parquet(scores)
    (check,) = check_submissions(tmp_path, Path("results"), STORED.parent)
    assert check.ok is False and "fold2.parquet" in check.text


def test_values_that_the_scores_do_not_give_are_found_although_all_checksums_match(dataset, tmp_path):
    folder = submitted(dataset, tmp_path)
    queries = folder / "queries.parquet"
    raised = pl.col("ndcg@10").clip(0.01) * 0 + 1
    pl.read_parquet(queries).with_columns(raised.cast(pl.Float32)).write_parquet(queries)
    stamp = read_stamp(folder / STAMP)
    files = [folder / name for name in stamp["files"]]
    write_stamp(folder / STAMP, {key: value for key, value in stamp.items() if key not in ("files", "checksum")}, files)
    (check,) = check_submissions(tmp_path, Path("results"), STORED.parent)
    assert check.ok is False and "other values" in check.text


def test_without_the_data_the_scores_are_not_checked_and_a_note_says_so(dataset, tmp_path):
    submitted(dataset, tmp_path)
    (check,) = check_submissions(tmp_path, Path("results"), tmp_path / "nowhere")
    assert check.ok is None


def test_other_queries_than_those_of_the_leaderboard_are_refused(dataset, tmp_path):
    queries = pl.read_parquet(dataset.queries_path)
    other = tmp_path / "results" / DATASET
    other.mkdir(parents=True)
    queries.filter(pl.col("qid") != queries["qid"][0]).write_parquet(other / "queries.parquet")
    submitted(dataset, tmp_path / "submissions")
    (check,) = check_submissions(tmp_path / "submissions", tmp_path / "results", STORED.parent)
    assert check.ok is False and "queries" in check.text


def test_methods_that_cannot_be_submitted_are_refused(dataset, tmp_path):
    with pytest.raises(GradrankError, match=r"not evaluated.*Fix: "):
        submit(dataset.method("unknown"), STORED, tmp_path / "a", ABOUT, None)
    (tmp_path / "b").mkdir()
    with pytest.raises(GradrankError, match=r"exists.*Fix: "):
        submit(dataset.method("theirs"), STORED, tmp_path / "b", ABOUT, None)
    spec = dataset.method("single_feature").fold(1).spec_path
    before = spec.read_text()
    content = json.loads(before)
    write_stamp(spec, content | {"code": "0" * 16}, [spec.parent / name for name in content["files"]])
    with pytest.raises(GradrankError, match="has changed since"):
        submit(dataset.method("single_feature"), STORED, tmp_path / "c", ABOUT, None)
    spec.write_text(before)
    assert not (tmp_path / "c").exists()
