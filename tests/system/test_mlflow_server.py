"""MLflow on a server: if the server is down, only the track job fails."""

import socket

from project import MINE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_if_the_server_is_down_only_the_track_job_fails(rerun):
    uri = f"http://127.0.0.1:{free_port()}"
    before = (rerun.root / MINE / "summary.json").read_bytes()
    rerun.params(evaluation={"convention": "standard"})
    rerun.environment = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "NO_PROXY": "127.0.0.1"}
    assert uri in rerun.snakemake("--cores", "2", ok=False)
    rerun.environment = {}
    assert (rerun.root / MINE / "summary.json").read_bytes() != before
    rerun.gradrank("verify")
    assert rerun.plan() == {"results/tracked.json": "track"}
