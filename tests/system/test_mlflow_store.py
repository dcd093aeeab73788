"""MLflow stores: a SQLite file created by two processes or killed at its creation, a server, and no server."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.tracking.runs import track
from gradrank.bench.tracking.store import SETTINGS
from made_tracked import FOLDS, MODELS, PARAMS, all_models, client, make_results, tree

pytest.importorskip("mlflow")
TRACK = (
    "import sys; from pathlib import Path; from gradrank.bench.tracking.runs import track; "
    f"track(Path(sys.argv[1]), {{sys.argv[2]: {MODELS}}}, {PARAMS})"
)


def importing(folder: Path, results: Path, dataset: str) -> subprocess.Popen:
    command = [sys.executable, "-c", TRACK, str(results), dataset]
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def test_two_imports_at_once_into_a_fresh_store(tmp_path):
    for dataset in ("toy", "other"):
        make_results(tmp_path / dataset, dataset=dataset)
    imports = [importing(tmp_path, tmp_path / dataset, dataset) for dataset in ("toy", "other")]
    errors = [process.communicate()[1] for process in imports]
    assert [process.returncode for process in imports] == [0, 0], errors
    assert len(all_models(f"sqlite:///{tmp_path}/mlflow.db")) == 2 * len(MODELS) * FOLDS


@pytest.mark.parametrize("place", [".mlflow.db.*.partial", "mlartifacts"])
def test_a_killed_import_is_completed_by_the_same_command(tmp_path, place):
    results = make_results(tmp_path / "results")
    process = importing(tmp_path, results, "toy")
    while process.poll() is None and not list(tmp_path.glob(place)):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, process.communicate()[1]
    again = importing(tmp_path, results, "toy")
    assert again.wait() == 0, again.communicate()[1]
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    assert tree(uri) == {"toy": None} | dict.fromkeys(MODELS, "toy")
    assert len(all_models(uri)) == len(MODELS) * FOLDS
    assert not list(tmp_path.glob("*partial*"))


def test_after_a_move_the_next_import_logs_the_models_again(tmp_path, monkeypatch):
    import mlflow

    old, new = tmp_path / "old", tmp_path / "new folder"
    make_results(old / "results")
    track(old / "results", {"toy": MODELS[:1]}, PARAMS, uri=f"sqlite:///{old}/mlflow.db")
    old.rename(new)
    uri = f"sqlite:///{new}/mlflow.db"
    for is_new in (True, False):
        (imported,) = track(new / "results", {"toy": MODELS[:1]}, PARAMS, uri=uri)
        assert imported.new == is_new
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    models = all_models(uri)
    assert len(models) == FOLDS and mlflow.pyfunc.load_model(models[0].model_uri).input_example is not None
    names = [each.name for each in client(uri).search_experiments()]
    assert sum(name.startswith("gradrank") for name in names) == 2
    assert not old.exists()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The address of an `mlflow server` on the loopback interface."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{tmp_path}/server.db"]
    command += ["--artifacts-destination", str(tmp_path / "kept")]
    environment = os.environ | SETTINGS | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                if process.poll() is not None:
                    pytest.skip(f"mlflow server stopped: {(tmp_path / 'server.log').read_text()[-300:]}")
                time.sleep(0.1)
        else:
            pytest.skip("mlflow server did not answer within 3 min")
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_is_used_like_a_file(server, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    results = make_results(tmp_path / "results")
    first = track(results, {"toy": MODELS}, PARAMS)
    assert track(results, {"toy": MODELS}, PARAMS) == [each._replace(new=False) for each in first]
    assert tree(server) == {"toy": None} | dict.fromkeys(MODELS, "toy")
    assert mlflow.pyfunc.load_model(f"models:/{all_models(server)[0].model_id}").input_example is not None
    assert not (tmp_path / "mlflow.db").exists()


def test_stores_that_cannot_be_used_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.chdir(tmp_path)
    results, port = make_results(tmp_path / "results", MODELS[:1]), free_port()
    Path("broken.db").write_text("not a database, and long enough to be taken for one " * 40)
    for uri in ("sqlite:///broken.db", f"http://user:secret@127.0.0.1:{port}"):
        with pytest.raises(GradrankError) as caught:
            track(results, {"toy": MODELS[:1]}, PARAMS, uri=uri)
        message = str(caught.value)
        assert uri.rpartition("@")[2] in message and "Fix:" in message and "secret" not in message
