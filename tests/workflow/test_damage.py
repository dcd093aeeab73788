"""Damaged files: a job refuses what it reads, and `gradrank verify` finds all."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from damaged_files import DATA, FOLD, damage, damage_every_kind
from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256
from gradrank.bench.cli import app
from gradrank.bench.config.params import load
from gradrank.bench.workflow_support.plan import Plan, as_json
from project import MINE, NET, STUDY


def commands(plan: Plan) -> dict[str, list[str]]:
    variant = plan.settings.models["lambdamart"]
    own = ["--model", variant.model, "--params", as_json(variant.params), "--data", DATA, "--metrics", "map"]
    mine = ["--data", "data/parquet/mine", "--pairs", "data/pairs/mine", "--fold", "1"]
    return {
        # On the user's own pairs; a model that learns from the pairs of the grades need not read their list.
        "train": ["--model", "ranknet_linear", *mine, "--seed", "2005", "--code", "0", "--out", "out"],
        "evaluate-folds": [f"{NET}/methods/lambdamart", *own, "--seed", "2005", "--code", "0"],
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
    f"{NET}/methods/single_feature/per_query.parquet": "summary",
    f"{NET}/methods/single_feature/evaluation.json": "summary",
    f"{MINE}/summary.json": "collect",
    f"{MINE}/provenance.json": "collect",
    f"{STUDY}/jobs/net-1.json": "study",
}


@pytest.mark.parametrize("place", READERS)
def test_the_job_that_reads_a_damaged_file_refuses_it_by_path(rerun, place, monkeypatch):
    monkeypatch.chdir(rerun.root)
    arguments = commands(Plan(load(Path("params.yaml"))))[READERS[place]]
    damage(rerun.root / place)
    done = CliRunner().invoke(app, [READERS[place], *arguments])
    assert isinstance(done.exception, GradrankError) and place in str(done.exception), done.output


def test_verify_finds_every_damaged_file(rerun):
    places = damage_every_kind(rerun.root)
    output = rerun.gradrank("verify", ok=False)
    unnamed = [place for place in places if place not in output]
    assert unnamed == [f"{MINE}/tables/main.csv"] and f"{MINE}/tables" in output, "one digest for all tables"


def test_an_edited_score_that_agrees_with_itself_is_still_another_result(rerun):
    path = rerun.root / f"{NET}/methods/ranknet_linear/fold2/scores.parquet"
    scores = pl.read_parquet(path)
    scores.with_columns(score=pl.col("score").reverse()).write_parquet(path)
    assert str(path.relative_to(rerun.root)) in rerun.gradrank("verify", ok=False)
    spec = path.with_name("spec.json")
    before = spec.read_text()
    spec.write_text(before.replace(read_json(spec)["files"]["scores.parquet"], sha256(path)))
    assert f"{NET}/methods/ranknet_linear" in rerun.gradrank("verify", ok=False), "its record names other results"


def test_verify_finds_another_value_in_a_stamp(rerun):
    for place in (f"{FOLD}/spec.json", f"{MINE}/provenance.json"):
        rerun.edit(place, '"seed": 2005', '"seed": 2006')
    output = rerun.gradrank("verify", ok=False)
    assert f"{FOLD}/spec.json" in output and f"{MINE}/provenance.json" in output
