"""Several seeds: each trained once, the first one's bytes those of a run with it alone, and read as one method."""

import json
import re
import shutil

import polars as pl
import pytest

from gradrank.files import read_json
from made_tracked import all_models

DATASET = "synthetic_net"
MODELS = {
    "lambdamart": {"min_data_in_leaf": 5},  # else no tree grows on so little, and seeds are alike
    "pair": {
        "model": "fusion",
        "models": ["lambdamart", "single_feature"],
    },  # chance plays a part in one of them
}
RUN = {"datasets": [DATASET], "models": ["lambdamart", "single_feature", "pair"]}


def trained(project) -> dict[str, int]:
    """How many training jobs a call would run, by method."""
    return {model: count for (rule, _, model), count in project.planned().items() if rule == "train"}


@pytest.fixture
def one(rerun):
    """The finished run with its one seed, and a fusion."""
    rerun.params(run=RUN, models=MODELS)
    rerun.snakemake("--cores", "2")
    return rerun


def test_a_further_seed_is_trained_alone_measured_recorded_and_taken_back(one):
    before, results = one.results(), one.root / "results" / DATASET
    shutil.copytree(one.root / "results", one.root / "before")
    one.params(run={"seeds": [2005, 2]})
    assert trained(one) == {"lambdamart": 5, "pair": 5}, "no chance in single_feature"
    one.snakemake("--cores", "2")
    assert "Nothing to be done" in one.snakemake("--cores", "2")

    first = {path: content for path, content in before.items() if f"{DATASET}/" in path and "/fold" in path}
    assert len(first) > 5 * 3 * 4 and {path: (one.root / path).read_bytes() for path in first} == first
    spec = read_json(results / "lambdamart/fold1/seed2/spec.json")
    alone = [f"--{name}={spec[name]}" for name in ("model", "seed", "fold")]
    one.gradrank(
        "train",
        *alone,
        f"--params={json.dumps(spec['params'])}",
        f"--data=data/parquet/{DATASET}",
        "--out=alone",
    )
    for name in ("spec.json", "scores.parquet", "model/trees0.txt"):
        assert (one.root / "alone" / name).read_bytes() == (
            results / "lambdamart/fold1/seed2" / name
        ).read_bytes()
    members = results / "pair/fold1/seed2/model/members"
    assert [read_json(members / f"{number}/spec.json")["seed"] for number in (1, 2)] == [2, 2005]

    main = pl.read_csv(results / "tables/main.csv").filter(convention="letor4", metric="ndcg@10")
    assert dict(main.select("model", "seeds").iter_rows()) == {
        "lambdamart": 2,
        "pair": 2,
        "single_feature": None,
    }
    per_query = pl.read_parquet(results / "lambdamart/per_query.parquet").filter(
        convention="letor4", split="test"
    )
    means = (
        per_query.group_by("seed", "fold")
        .agg(pl.col("ndcg@10").mean())
        .group_by("seed")
        .agg(pl.col("ndcg@10").mean())
    )
    row = main.row(by_predicate=pl.col("model") == "lambdamart", named=True)
    assert row["mean"] == pytest.approx(means["ndcg@10"].mean())
    assert row["seed_deviation"] == pytest.approx(means["ndcg@10"].std())
    assert "over 2 seeds" in (results / "summary.md").read_text()
    assert read_json(results / "provenance.json")["params"]["seeds"] == [2005, 2]
    assert f"DIFFERS  {DATASET}" not in one.gradrank("verify")
    names = {model.name for model in all_models(f"sqlite:///{one.root}/mlflow.db")}
    assert {f"{model}-fold1_seed{seed}" for model in ("lambdamart", "pair") for seed in (2005, 2)} <= names
    assert "single_feature-fold1" in names

    found = json.loads(one.gradrank("diff", "before", "results", "--json"))
    own = [row for row in found["rows"] if (row["dataset"], row["metric"]) == (DATASET, "ndcg@10")]
    rows = {row["model"]: row for row in own}
    assert (
        rows["single_feature"]["verdict"] == "unchanged" and rows["lambdamart"]["verdict"] == "within seeds"
    )
    assert rows["lambdamart"]["seed_noise"] > abs(rows["lambdamart"]["difference"]) > 0
    assert {"name": "seeds", "a": None, "b": [2005, 2], "datasets": [DATASET]} in found["changes"]["params"]

    one.params(run={"seeds": [2005, 2, 3]})
    assert trained(one) == {"lambdamart": 5, "pair": 5}
    shutil.rmtree(results / "lambdamart/fold2/seed2")
    one.params(run={"seeds": [2005, 2]})
    assert trained(one)["lambdamart"] == 1

    one.params(run={"seeds": [2005]})
    assert trained(one) == {}
    one.snakemake("--cores", "2")
    now = one.results()
    assert {path: now[path] for path in before} == before, "as if there had been no other seed"
    assert (results / "lambdamart/fold1/seed2/spec.json").exists(), "and it is not lost"
    assert f"DIFFERS  {DATASET}" not in one.gradrank("verify")
    assert "seeds" not in read_json(results / "provenance.json")["params"]


def test_each_seed_of_a_model_is_a_job_of_its_own_on_a_cluster(rerun):
    """A node need not hold the folds of all seeds at once; nor need one seed wait for the others' folds."""

    def groups() -> set[str]:
        output = rerun.snakemake(
            "-n", "--forceall", "--cores", "2", f"results/{DATASET}/lambdamart/per_query.parquet"
        )
        return set(re.findall(rf"Group job {DATASET}\.(\S+) ", output))

    assert groups() == {"lambdamart"}
    rerun.params(run={"seeds": [2005, 2]})
    assert groups() == {"lambdamart.seed2005", "lambdamart.seed2", "lambdamart.evaluation"}
