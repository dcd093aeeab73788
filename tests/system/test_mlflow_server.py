"""MLflow on a server: one that is down fails the track job alone, one that is up holds the runs."""

import socket

from project import MINE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_down_fails_the_track_job_alone(rerun):
    uri = f"http://127.0.0.1:{free_port()}"
    before = (rerun.root / MINE / "summary.json").read_bytes()
    rerun.params(evaluation={"convention": "standard"})
    rerun.environment = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "NO_PROXY": "127.0.0.1"}
    assert uri in rerun.snakemake("--cores", "2", ok=False)
    rerun.environment = {}
    assert (rerun.root / MINE / "summary.json").read_bytes() != before
    rerun.gradrank("verify")
    assert rerun.plan() == {"results/tracked.json": "track"}
