"""Damaged files: the job that reads one refuses it, `verify` finds each, `--repair` and a run restore it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from gradrank.pipeline.params import load
from gradrank.workflow_support.plan import Plan
from project import MINE, NET, STUDY

DATA = "data/parquet/synthetic_net"
FOLD = f"{NET}/lambdamart/fold2"
OUT = ("--code", "0", "--out", "out")


def train(plan: Plan, model: str) -> list[str]:
    pairs = ["--pairs", "data/pairs/synthetic_net"] if model == "ranknet_linear" else []
    return ["train", "--model", model, "--data", DATA, "--fold", "1", "--seed", "2005", *pairs, *OUT]


def evaluate(plan: Plan) -> list[str]:
    variant = plan.params.models["lambdamart"]
    options = ["--model", variant.model, "--params", str(variant.params).replace("'", '"')]
    metrics = ["--metrics", "map", "--seed", "2005", "--code", "0"]
    return ["evaluate-folds", f"{NET}/lambdamart", *options, "--data", DATA, *metrics]


def summarise(plan: Plan) -> list[str]:
    return ["summary", NET, "--settings", plan.dataset_settings("synthetic_net"), "--data", DATA]


def study(plan: Plan) -> list[str]:
    return ["study", "ranknet2005/reduced", "--settings", plan.study_settings("ranknet2005/reduced")]


def collect(plan: Plan) -> list[str]:
    return ["collect", "--datasets", "synthetic_net,mine"]


def predict(plan: Plan) -> list[str]:
    return ["predict", "--model", FOLD, "--input", "own data/test.txt", "--out", "scores.txt"]


# Each kind of file, and a command that reads it.
READERS: dict[str, Callable[[Plan], list[str]]] = {
    f"{DATA}/part1.parquet": lambda plan: train(plan, "single_feature"),
    f"{DATA}/collection.json": lambda plan: train(plan, "single_feature"),
    "data/pairs/synthetic_net/part1.parquet": lambda plan: train(plan, "ranknet_linear"),
    "data/pairs/synthetic_net/pairs.json": lambda plan: train(plan, "ranknet_linear"),
    f"{FOLD}/scores.parquet": evaluate,
    f"{FOLD}/spec.json": evaluate,
    f"{FOLD}/model/trees0.txt": predict,
    f"{NET}/single_feature/per_query.parquet": summarise,
    f"{NET}/single_feature/evaluation.json": summarise,
    f"{MINE}/summary.json": collect,
    f"{MINE}/provenance.json": collect,
    f"{STUDY}/jobs/net-1.json": study,
}
# Files that verify judges, but that no later job reads.
UNREAD = (
    "data/raw/synthetic_net/S3.txt",
    f"{FOLD}/history.parquet",
    f"{MINE}/queries.parquet",
    f"{MINE}/tables/main.csv",
    f"{STUDY}/numbers.json",
    "results/methods.csv",
    "results/per_query.parquet",
)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("place", READERS)
def test_the_job_that_reads_a_damaged_file_refuses_it_by_path(rerun, place, monkeypatch):
    monkeypatch.chdir(rerun.root)
    arguments = READERS[place](Plan(load(Path("params.yaml"))))
    damage(rerun.root / place)
    done = rerun.run("gradrank", *arguments)
    assert done.returncode == 1 and place in done.stderr and "Traceback" not in done.stderr, done.stderr


def replace_by_an_older_file(path: Path, other: Path) -> None:
    """As `cp -p` of a file that is older than the one that it replaces."""
    before = path.stat().st_mtime
    assert other.read_bytes() != path.read_bytes()
    shutil.copy(other, path)
    os.utime(path, (before - 1000, before - 1000))


def test_verify_finds_every_damaged_file_and_after_a_repair_a_run_restores_it(finished, rerun):
    root, damaged = rerun.root, [*READERS, *UNREAD]
    damaged = [
        place for place in damaged if not place.endswith(("collection.json", "pairs.json", "net-1.json"))
    ]
    for place in damaged:
        damage(root / place)
    older = {
        "data/parquet/mine/part3.parquet": "data/parquet/mine/part2.parquet",
        "data/pairs/mine/part3.parquet": "data/pairs/mine/part2.parquet",
        f"{MINE}/single_feature/fold1/scores.parquet": f"{MINE}/ranknet_linear/fold1/scores.parquet",
    }
    for place, other in older.items():
        replace_by_an_older_file(root / place, root / other)
    (root / f"{NET}/ranknet_linear/fold3/model/net.safetensors").unlink()
    (root / f"{NET}/.summary.json.1.partial").touch()
    output = rerun.gradrank("verify", ok=False)
    missed = [
        place
        for place in (*damaged, *older, f"{NET}/ranknet_linear/fold3/model/net.safetensors")
        if not names(output, place)
    ]
    assert missed == []
    rerun.run("gradrank", "verify", "--repair")
    rerun.snakemake("--cores", "2")
    rerun.gradrank("verify")
    assert rerun.files() == finished.files()


def names(output: str, place: str) -> bool:
    """Return whether verify names a file, or the raw text as a whole."""
    return place in output or (place.startswith("data/raw") and str(Path(place).parent) in output)


def test_an_edited_score_that_agrees_with_itself_is_still_another_result(rerun):
    path = rerun.root / f"{NET}/ranknet_linear/fold2/scores.parquet"
    scores = pl.read_parquet(path)
    scores.with_columns(score=pl.col("score").reverse()).write_parquet(path)
    assert str(path.relative_to(rerun.root)) in rerun.gradrank("verify", ok=False)
    spec = path.with_name("spec.json")
    before = spec.read_text()
    from gradrank.files import read_json, sha256

    spec.write_text(before.replace(read_json(spec)["files"]["scores.parquet"], sha256(path)))
    assert f"{NET}/ranknet_linear" in rerun.gradrank("verify", ok=False), "its record names other results"
