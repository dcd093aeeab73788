"""Results have the same bytes for any number of cores and in any checkout, and stamps name their files."""

import shutil
import subprocess

import numpy as np
import polars as pl
import pytest

from gradrank.base.files import read_json, sha256
from project import MINE, NET, ROOT, SMALL_RUN, STUDY, Project, differing, trained

COMMITTED = {
    f"{folder}/{name}"
    for folder in (NET, MINE)
    for name in ("summary.json", "summary.md", "queries.parquet", "provenance.json")
}


@pytest.fixture
def clone(finished, tmp_path) -> Project:
    """A fresh clone: the sources of the finished checkout, and its results that .gitignore does not exclude."""
    repository = tmp_path / "repository"
    shutil.copytree(finished.root / "results", repository / "results")
    shutil.copy(ROOT / ".gitignore", repository)
    subprocess.run(["git", "init", "--quiet"], cwd=repository, check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard", "results"]
    listed = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.split()
    project = Project.small(tmp_path / "another clone")
    for place in listed:
        (project.root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository / place, project.root / place)
    assert set(listed) == COMMITTED | {"results/metrics.json"}
    return project


def test_a_fresh_clone_trains_everything_and_one_core_gives_the_bytes_of_two(finished, clone):
    """The run on one core has all outputs of one data set, and one fold of the other data set per method."""
    clone.gradrank("verify")
    plan = clone.plan()
    methods = {f"{scope}/fold{fold}" for scope in ("synthetic_net/lambdamart",) for fold in range(1, 6)}
    assert methods | {"mine/ranknet_linear/fold1"} <= trained(plan) and len(trained(plan)) == 3 * (5 + 1)
    assert "data/raw/synthetic_net/fetched.json" in plan and "results/report.html" in plan
    folds = [f"{NET}/methods/{method}/fold{fold}" for fold, method in enumerate(SMALL_RUN["run"]["models"], start=1)]
    clone.snakemake("--cores", "1", "mine", *(f"{fold}/spec.json" for fold in folds))
    assert differing(finished.files(MINE, *folds), clone.files(MINE, *folds)) == []
    stored = [f"data/{kind}/{name}" for kind in ("parquet", "pairs") for name in ("mine", "synthetic_net")]
    assert differing(finished.files(*stored), clone.files(*stored)) == []
    assert len(finished.files(MINE, *folds)) > 2 * 3 * 4  # methods, files per fold


def test_every_folder_has_a_stamp_that_names_its_files(finished):
    finished.gradrank("verify")
    for fold in finished.root.glob("results/*/methods/*/fold?"):
        named = read_json(fold / "spec.json")["files"]
        present = {path.relative_to(fold).as_posix(): path for path in fold.rglob("*") if path.is_file()}
        for name in ("spec.json", "timing.json", "model/.snakemake_timestamp"):
            present.pop(name, None)
        assert named == {name: sha256(path) for name, path in present.items()}
    record = (finished.root / NET / "provenance.json").read_text()
    assert str(finished.root) not in record and "seconds" not in record
    entries = read_json(finished.root / NET / "provenance.json")["methods"]
    assert entries.keys() == {"lambdamart", "ranknet_linear", "single_feature"}
    assert entries["lambdamart"]["params"] == {"rounds": 5, "min_data_in_leaf": 2}
    assert read_json(finished.root / STUDY / "numbers.json")["table1"][0]["size"] == 50
    for study_or_data in ("data-synthetic_net", "data-mine", "study-ranknet2005"):
        assert f'id="{study_or_data}"' in (finished.root / "results/report.html").read_text()


def test_pair_models_learn_from_the_users_own_pairs(finished):
    root, file = finished.root, finished.root / "own data/pairs.csv"
    stored = read_json(root / "data/pairs/mine/pairs.json")
    assert (stored["targets"], stored["given_sha256"]) == ("given", sha256(file))
    frames = [pl.read_parquet(path) for path in root.glob("data/pairs/mine/*.parquet")]
    assert set(pl.concat(frames)["target"]) == {0.9}
    grades = pl.read_parquet(root / "data/parquet/mine/part1.parquet")["label"].to_numpy()
    scores = pl.read_parquet(root / MINE / "methods/ranknet_linear/fold1/scores.parquet").filter(split="train")
    assert np.corrcoef(grades, scores["score"])[0, 1] < -0.3  # the pairs prefer low grades
