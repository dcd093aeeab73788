"""Damaged files: a job refuses what it reads, `gradrank verify` finds all, `--repair` and a run restore them."""

import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.files import host_name, read_json, sha256
from gradrank.bench.config.params import load
from gradrank.bench.workflow_support.plan import Plan, as_json
from project import MINE, NET, STUDY

DATA = "data/parquet/synthetic_net"
FOLD = f"{NET}/lambdamart/fold2"


def commands(plan: Plan) -> dict[str, list[str]]:
    variant = plan.settings.models["lambdamart"]
    own = ["--model", variant.model, "--params", as_json(variant.params), "--data", DATA, "--metrics", "map"]
    mine = ["--data", "data/parquet/mine", "--pairs", "data/pairs/mine", "--fold", "1"]
    return {
        # On the user's own pairs; a model that learns from the pairs of the grades need not read their list.
        "train": ["--model", "ranknet_linear", *mine, "--seed", "2005", "--code", "0", "--out", "out"],
        "evaluate-folds": [f"{NET}/lambdamart", *own, "--seed", "2005", "--code", "0"],
        "summary": [NET, "--settings", plan.dataset_settings("synthetic_net"), "--data", DATA],
        "study": ["ranknet2005/reduced", "--settings", plan.study_settings("ranknet2005/reduced")],
        "collect": ["--datasets", "synthetic_net,mine"],
        "predict": ["--model", FOLD, "--input", "own data/test.txt", "--out", "scores.txt"],
    }


# Each kind of file, and a command that reads it.
READERS = {
    "data/parquet/mine/part1.parquet": "train",
    "data/parquet/mine/collection.json": "train",
    "data/pairs/mine/part1.parquet": "train",
    "data/pairs/mine/pairs.json": "train",
    f"{FOLD}/scores.parquet": "evaluate-folds",
    f"{FOLD}/spec.json": "evaluate-folds",
    f"{FOLD}/model/trees0.txt": "predict",
    f"{NET}/single_feature/per_query.parquet": "summary",
    f"{NET}/single_feature/evaluation.json": "summary",
    f"{MINE}/summary.json": "collect",
    f"{MINE}/provenance.json": "collect",
    f"{STUDY}/jobs/net-1.json": "study",
}
# Paths that verify must name: stamps, and files in the folders of other stamps.
DAMAGED = (
    f"{DATA}/collection.json",
    "data/pairs/synthetic_net/pairs.json",
    f"{NET}/lambdamart/fold4/spec.json",
    f"{NET}/ranknet_linear/evaluation.json",
    f"{NET}/provenance.json",
    f"{STUDY}/jobs/net-1.json",
    "data/raw/synthetic_net/S3.txt",
    "data/parquet/mine/part1.parquet",
    "data/pairs/mine/part1.parquet",
    f"{FOLD}/scores.parquet",
    f"{FOLD}/history.parquet",
    f"{FOLD}/model/trees0.txt",
    f"{NET}/single_feature/per_query.parquet",
    f"{MINE}/summary.json",
    f"{MINE}/queries.parquet",
    f"{MINE}/tables/main.csv",
    f"{STUDY}/numbers.json",
    "results/methods.csv",
    "results/per_query.parquet",
)
# Replaced by another file with an older time, as by `cp -p`.
OLDER = {
    "data/parquet/mine/part3.parquet": "data/parquet/mine/part2.parquet",
    "data/pairs/mine/part3.parquet": "data/pairs/mine/part2.parquet",
    f"{MINE}/single_feature/fold1/scores.parquet": f"{MINE}/ranknet_linear/fold1/scores.parquet",
}
MISSING = f"{NET}/ranknet_linear/fold3/model/net.safetensors"


def damage(path: Path) -> None:
    """Flip one bit; cut JSON, in which a flipped bit may be another valid value, and values per query."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    cut = path.suffix == ".json" or path.name == "per_query.parquet"
    path.write_bytes(content[: len(content) // 2] if cut else content)


@pytest.mark.parametrize("place", READERS)
def test_the_job_that_reads_a_damaged_file_refuses_it_by_path(rerun, place, monkeypatch):
    monkeypatch.chdir(rerun.root)
    arguments = commands(Plan(load(Path("params.yaml"))))[READERS[place]]
    damage(rerun.root / place)
    done = rerun.run("gradrank", READERS[place], *arguments)
    assert done.returncode == 1 and place in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_verify_finds_every_damaged_file_and_after_a_repair_a_run_restores_it(finished, rerun):
    root = rerun.root
    for place, other in OLDER.items():
        modified = (root / place).stat().st_mtime - 1000
        assert (root / place).read_bytes() != (root / other).read_bytes()
        shutil.copy(root / other, root / place)
        os.utime(root / place, (modified, modified))
    for place in DAMAGED:
        damage(root / place)
    (root / MISSING).unlink()
    ended = subprocess.Popen(["true"])
    ended.wait()
    (root / f"{NET}/.summary.json.{host_name()}.{ended.pid}-1.partial").touch()
    output = rerun.gradrank("verify", ok=False)
    unnamed = [place for place in (*DAMAGED, *OLDER, MISSING) if place not in output]
    assert unnamed == [f"{MINE}/tables/main.csv"] and f"{MINE}/tables" in output, "one digest for all tables"
    rerun.gradrank("verify", "--repair", "--yes")
    rerun.snakemake("--cores", "2")
    rerun.gradrank("verify")
    assert rerun.files() == finished.files()


def test_an_edited_score_that_agrees_with_itself_is_still_another_result(rerun):
    path = rerun.root / f"{NET}/ranknet_linear/fold2/scores.parquet"
    scores = pl.read_parquet(path)
    scores.with_columns(score=pl.col("score").reverse()).write_parquet(path)
    assert str(path.relative_to(rerun.root)) in rerun.gradrank("verify", ok=False)
    spec = path.with_name("spec.json")
    before = spec.read_text()
    spec.write_text(before.replace(read_json(spec)["files"]["scores.parquet"], sha256(path)))
    assert f"{NET}/ranknet_linear" in rerun.gradrank("verify", ok=False), "its record names other results"


def test_verify_finds_another_value_in_a_stamp(rerun):
    for place in (f"{FOLD}/spec.json", f"{MINE}/provenance.json"):
        rerun.edit(place, '"seed": 2005', '"seed": 2006')
    output = rerun.gradrank("verify", ok=False)
    assert f"{FOLD}/spec.json" in output and f"{MINE}/provenance.json" in output
