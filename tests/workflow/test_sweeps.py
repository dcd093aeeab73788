"""A list of values in params.yaml: variants side by side, each equal to a run with that value alone."""

import pytest

from gradrank.files import read_json
from made_tracked import all_runs, client

RATES = ("0.05", "0.1")


@pytest.fixture
def swept(rerun):
    """The finished study with its LambdaMART swept over the learning rate; 0.05 is the finished one's."""
    rerun.params(
        run={"datasets": ["synthetic_net"], "models": ["lambdamart", "single_feature"]},
        models={"lambdamart": {"learning_rate": [float(rate) for rate in RATES]}},
    )
    return rerun


def name(rate: str) -> str:
    return f"lambdamart-learning_rate={rate}"


def test_a_sweep_is_trained_reported_and_recorded(swept):
    swept.snakemake("--cores", "2")
    results = swept.root / "results/synthetic_net"
    for fold in range(1, 6):
        for file in ("scores.parquet", "model/trees0.txt", "spec.json"):
            alone = (results / f"lambdamart/fold{fold}/{file}").read_bytes()
            assert (results / f"{name('0.05')}/fold{fold}/{file}").read_bytes() == alone
        other = read_json(results / f"{name('0.1')}/fold{fold}/spec.json")
        assert other["params"] == read_json(results / f"lambdamart/fold{fold}/spec.json")["params"] | {
            "learning_rate": 0.1
        }
    assert all(f"`{name(rate)}`" in (results / "summary.md").read_text() for rate in RATES)
    assert "NDCG@10 of lambdamart against learning_rate" in (swept.root / "results/report.html").read_text()
    uri = f"sqlite:///{swept.root}/mlflow.db"
    for rate in RATES:
        (run,) = all_runs(uri)[name(rate)]
        parent = client(uri).get_run(run.data.tags["mlflow.parentRunId"])
        assert parent.info.run_name == "synthetic_net"

    swept.params(models={"lambdamart": {"learning_rate": [0.05, 0.2]}})
    trained = {model for rule, _, model in swept.planned() if rule == "train"}
    assert trained == {name("0.2")}


def test_a_bad_value_stops_the_run_before_any_job(swept):
    swept.params(models={"lambdamart": {"learning_rate": [0.05, -1]}})
    output = swept.snakemake("--cores", "2", ok=False)
    assert "models.lambdamart.learning_rate: Input should be greater than 0 (got -1)" in output
    assert not (swept.root / f"results/synthetic_net/{name('0.05')}").exists()
