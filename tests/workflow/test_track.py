"""The track job on a finished study: a server that is down fails this job alone."""

import socket


def test_server_down_fails_the_track_job_alone(rerun):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = (rerun.root / "results/synthetic_net/summary.json").read_bytes()
    rerun.params(evaluation={"convention": "standard"})
    rerun.environment = {
        "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "NO_PROXY": "127.0.0.1",
    }
    output = rerun.snakemake("--cores", "2", ok=False)
    assert f"MLflow at http://127.0.0.1:{port}" in output and "repeat the same command" in output
    rerun.environment = {}
    # Everything else is finished, kept and consistent.
    assert (rerun.root / "results/synthetic_net/summary.json").read_bytes() != before
    checked = rerun.ask("verify")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert rerun.planned() == {("track", None, None): 1, ("all", None, None): 1}
