"""Sweeps and seeds: each variant has the same bytes as in a run without the others."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.files import read_json
from gradrank.bench.config.params import load
from gradrank.bench.workflow_support.plan import Plan
from made_tracked import all_models
from project import MINE, SMALL_RUN, trained

MODELS = SMALL_RUN["run"]["models"]
RATES = (0.05, 0.1)
SWEPT = [f"lambdamart-learning_rate={rate}" for rate in RATES]
FUSED = "pair"  # a fusion of one randomised and one deterministic member


def test_a_sweep_trains_each_variant_with_each_seed(finished, rerun):
    rerun.params(
        run={"models": ["lambdamart", "single_feature", FUSED], "datasets": ["mine"], "seeds": [2005, 2]},
        models={
            "lambdamart": {"learning_rate": list(RATES)},
            FUSED: {"model": "fusion", "models": [SWEPT[0], "single_feature"]},
        },
    )
    again = {f"mine/{name}/fold1/seed2" for name in (*SWEPT, FUSED)}
    assert trained(rerun.plan("mine")) == again | {f"mine/{name}/fold1" for name in (*SWEPT, FUSED)}
    rerun.snakemake("--cores", "2", "mine")
    results = rerun.root / MINE / "methods"
    for path, content in finished.files(f"{MINE}/methods/lambdamart/fold1").items():
        assert (results / SWEPT[0] / path.removeprefix(f"{MINE}/methods/lambdamart/")).read_bytes() == content
    first, other = (read_json(results / name / "fold1/spec.json") for name in SWEPT)
    assert other["params"] == first["params"] | {"learning_rate": RATES[1]}
    members = results / FUSED / "fold1/seed2/model/members"
    assert [read_json(members / f"{number}/spec.json")["seed"] for number in (1, 2)] == [2, 2005]

    seeds = {"fold1/seed2": 2, "fold1": 2005}
    assert {place: read_json(results / SWEPT[1] / place / "spec.json")["seed"] for place in seeds} == seeds
    main = pl.read_csv(rerun.root / MINE / "tables/main.csv").filter(convention="letor4", metric="ndcg@10")
    counts = dict(main.select("model", "seeds").iter_rows())
    assert counts == dict.fromkeys((*SWEPT, FUSED), 2) | {"single_feature": None}
    values = pl.read_parquet(results / SWEPT[1] / "per_query.parquet")
    values = values.filter(convention="letor4", split="test").group_by("seed").agg(pl.col("ndcg@10").mean())
    row = main.row(by_predicate=pl.col("model") == SWEPT[1], named=True)
    assert row["mean"] == pytest.approx(values["ndcg@10"].mean(), abs=1e-4)
    assert row["seed_deviation"] == pytest.approx(values["ndcg@10"].std(), abs=1e-4)
    assert read_json(rerun.root / MINE / "provenance.json")["params"]["seeds"] == [2005, 2]
    logged = {model.name for model in all_models(f"sqlite:///{rerun.root}/mlflow.db")}
    assert {f"{FUSED}-fold1_seed{seed}" for seed in (2005, 2)} <= logged

    rerun.params(run={"seeds": [2005, 2, 3]}, models={"lambdamart": {"learning_rate": [0.05, 0.2]}})
    swept = "mine/lambdamart-learning_rate=0.2/fold1"
    seed3 = {f"mine/{name}/fold1/seed3" for name in (SWEPT[0], FUSED)}
    assert trained(rerun.plan("mine")) == seed3 | {swept, f"{swept}/seed2", f"{swept}/seed3"}
    rerun.params(run={"seeds": [2005]}, models={"lambdamart": {"learning_rate": list(RATES)}})
    assert trained(rerun.plan("mine")) == set()
    assert (results / SWEPT[1] / "fold1/seed2/spec.json").is_file(), "the results of a removed seed stay"


def test_on_a_cluster_each_seed_of_a_method_is_its_own_group(rerun, monkeypatch):
    monkeypatch.chdir(rerun.root)

    def groups() -> list[str]:
        plan = Plan(load(Path("params.yaml")))
        return [plan.group("mine", "lambdamart", fold) for fold in ("1", "1/seed2", None)]

    assert set(groups()) == {"mine.lambdamart"}
    rerun.params(run={"seeds": [2005, 2]})
    assert len(set(groups())) == 3
    rerun.params(run={"seeds": [2005]}, datasets={"mine": {"seeds": 2}})
    assert len(set(groups())) == 3 and trained(rerun.plan("mine")) == {"mine/lambdamart/fold1/seed2006"}


def test_diff_names_a_changed_parameter_and_the_method_whose_results_changed(finished, rerun):
    """Compare two finished runs, of which the second also has a method with imported scores."""
    rerun.gradrank("export", f"{MINE}/methods/lambdamart", "--data", "data/parquet/mine", "--out", "theirs/mine")
    rerun.params(
        run={"models": [*MODELS, "theirs"]},
        models={
            "lambdamart": {"min_data_in_leaf": 50},  # more than there are documents: no tree
            "theirs": {"scores": "theirs/{dataset}/fold{fold}.run.txt"},
        },
    )
    assert trained(rerun.plan("mine")) == {"mine/lambdamart/fold1", "mine/theirs/fold1"}
    rerun.snakemake("--cores", "2", "mine")
    before, after = (read_json(project.root / MINE / "summary.json") for project in (finished, rerun))
    assert after["theirs"] == before["lambdamart"] and after.keys() == {*MODELS, "theirs"}
    compared = json.loads(rerun.gradrank("diff", str(finished.root), "results", "--json"))
    (change,) = (
        param
        for param in compared["changes"]["params"]
        if param["datasets"] == ["mine"] and "lambdamart" in param["name"]
    )
    assert (change["name"], change["a"], change["b"]) == ("models.lambdamart.min_data_in_leaf", 2, 50)
    assert all(compared["changes"][kind] == [] for kind in ("code", "versions", "data"))
    rows = {(row["dataset"], row["model"]): row for row in compared["rows"] if row["metric"] == "map"}
    assert rows["mine", "single_feature"]["verdict"] == rows["synthetic_net", "lambdamart"]["verdict"] == "unchanged"
    moved = rows["mine", "lambdamart"]
    means = (before["lambdamart"]["map"], after["lambdamart"]["map"])
    assert moved["verdict"] != "unchanged" and (moved["a"], moved["b"]) == pytest.approx(means, abs=6e-5)

    file = rerun.root / "theirs/mine/fold1.run.txt"
    shutil.copy(file, file.with_suffix(".whole"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    assert trained(rerun.plan("mine")) == {"mine/theirs/fold1"}
