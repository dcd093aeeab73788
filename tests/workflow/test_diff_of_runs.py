"""`gradrank diff` on what the real workflow leaves: a changed parameter, and MLflow's record of the same study."""

import json

import pytest


def diff(project, a, b) -> dict:
    done = project.ask("diff", str(a), str(b), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_changed_parameter_and_what_it_moved(finished, rerun):
    rerun.params(models={"lambdamart": {"min_data_in_leaf": 2}})  # with 50 these few rows make no tree
    rerun.snakemake("--cores", "2")
    found = diff(rerun, finished.root, "results")
    (change,) = found["changes"]["params"]
    assert (change["name"], change["a"], change["b"]) == ("models.lambdamart.min_data_in_leaf", 50, 2)
    assert change["datasets"] == ["synthetic_net", "synthetic_poly"]
    assert found["changes"]["code"] == found["changes"]["versions"] == []
    assert found["changes"]["data"] == []
    assert {row["model"] for row in found["rows"] if row["verdict"] != "unchanged"} == {"lambdamart"}
    for row in found["rows"]:
        means = [
            json.loads((root / f"results/{row['dataset']}/summary.json").read_text())
            for root in (finished.root, rerun.root)
        ]
        for side, summary in zip("ab", means, strict=True):
            if row["metric"] in summary[row["model"]]:
                assert row[side] == pytest.approx(summary[row["model"]][row["metric"]], abs=6e-5)
    assert {(pair["dataset"], pair["model"]) for pair in found["costs"]} == {
        (row["dataset"], row["model"]) for row in found["rows"]
    }
    assert found["notices"] == [] and found["refused"] == {}


def test_mlflow_holds_what_the_folder_does(finished, rerun):
    run = json.loads((rerun.root / "results/tracked.json").read_text())["synthetic_net/lambdamart"]
    found = diff(rerun, run, "results")
    assert found["a"]["kind"] == "MLflow run"
    assert {(row["dataset"], row["model"], row["verdict"]) for row in found["rows"]} == {
        ("synthetic_net", "lambdamart", "unchanged")
    }
    assert found["changes"]["params"] == found["changes"]["data"] == []
    assert ["synthetic_poly", "lambdamart"] in found["only_b"]
