"""PostgreSQL as MLflow's store, with two imports at once."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from made_tracked import FOLDS, MODELS, all_models, all_runs, make_results

pytest.importorskip("psycopg2", reason="needs psycopg2, MLflow's driver for PostgreSQL")
pytest.importorskip("mlflow")

PROGRAMS = (shutil.which("initdb"), shutil.which("postgres"), shutil.which("setpriv"))
pytestmark = pytest.mark.skipif(None in PROGRAMS, reason="needs PostgreSQL (initdb, postgres) and setpriv in PATH")
UNIT = Path(__file__).resolve().parents[1] / "unit"
TRACK = """
import sys
from pathlib import Path
from gradrank.bench.tracking.runs import track
from made_tracked import MODELS, PARAMS
imported = track(Path(sys.argv[1]), {sys.argv[2]: MODELS}, PARAMS)
assert all(run.new for run in imported)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Iterator[str]:
    """The address of an empty database on the loopback interface. As root, the user `nobody` runs its server."""
    folder = tmp_path_factory.mktemp("postgresql")
    initdb, postgres, setpriv = map(str, PROGRAMS)
    user = [setpriv, "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        for parent in (folder, folder.parent, folder.parent.parent):  # pytest's folders are closed to other users
            parent.chmod(parent.stat().st_mode | 0o711)
        user += ["--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups"]
    data, port = folder / "data", free_port()
    made = [*user, initdb, "-D", str(data), "--auth=trust", "--username=gradrank", "--no-sync", "--encoding=UTF8"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder)
    serve = [*user, postgres, "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-c", "fsync=off"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(serve, cwd=folder, stdout=log, stderr=log)
    try:
        wait_for_server(port, server)
        yield f"postgresql+psycopg2://gradrank@127.0.0.1:{port}/postgres"
    finally:
        server.kill()
        server.wait()


def wait_for_server(port: int, server: subprocess.Popen) -> None:
    import psycopg2

    for _ in range(600):
        try:
            psycopg2.connect(host="127.0.0.1", port=port, user="gradrank", dbname="postgres").close()
            return
        except psycopg2.OperationalError:
            assert server.poll() is None, "the server stopped"
            time.sleep(0.1)
    raise AssertionError("the server did not answer within 60 s")


def importing(folder: Path, results: Path, dataset: str, uri: str) -> subprocess.Popen:
    paths = os.pathsep.join(filter(None, (str(UNIT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"MLFLOW_TRACKING_URI": uri, "PYTHONPATH": paths}
    command = [sys.executable, "-c", TRACK, str(results), dataset]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def test_two_imports_at_once_into_a_database_keep_all_runs_and_models(database, tmp_path):
    for number, dataset in enumerate(("toy", "other", "third")):
        make_results(tmp_path / str(number), dataset=dataset)
    first = importing(tmp_path, tmp_path / "0", "toy", database)  # MLflow makes its tables
    assert first.wait() == 0, first.communicate()[1]
    imports = [importing(tmp_path, tmp_path / str(n), name, database) for n, name in ((1, "other"), (2, "third"))]
    errors = [process.communicate()[1] for process in imports]
    assert [process.returncode for process in imports] == [0, 0], errors
    runs = [run for same in all_runs(database).values() for run in same]
    assert {run.info.status for run in runs} == {"FINISHED"} and len(runs) == 3 * (1 + len(MODELS))
    assert len(all_models(database)) == 3 * len(MODELS) * FOLDS
