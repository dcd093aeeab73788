"""A job forked off a process that has imported what others of its kind have is what a process of its own would be."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from gradrank.files import read_json
from gradrank.pipeline import forked_jobs
from gradrank.pipeline.forked_call import own
from made_trainings import make_collection

pytestmark = pytest.mark.skipif(not forked_jobs.THREADS.is_dir(), reason="jobs are forked under Linux alone")

PACKAGES = ["numba", "torch"]
# A model that leaves in $TOLD what it finds as it is fitted.
TELLER = f"""
import json, os, sys, time
from pathlib import Path
import numpy as np
from gradrank.learning.model import Model, ModelParams, param, register


class TellerParams(ModelParams):
    uses: str = param("", "here")
    seconds: float = param(0.0, "here")


@register("teller")
class Teller(Model):
    Params = TellerParams
    summary = "Tells what it finds"

    @classmethod
    def fit(cls, train, vali, params, seed, callback):
        imported = [name for name in {PACKAGES} if name in sys.modules]
        found = dict(process=os.getpid(), parent=os.getppid(), imported=imported, set=os.environ["MKL_CBWR"])
        threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
        found["polars"] = sorted(name.strip() for name in threads if name.startswith("polars"))
        partial = Path(os.environ["TOLD"] + ".partial")
        partial.write_text(json.dumps(found))
        partial.rename(os.environ["TOLD"])
        print("fitting in", os.environ["MINE"])
        time.sleep(params.seconds)
        if params.uses:
            __import__(params.uses)
        return cls()

    def score(self, features, offsets):
        return np.zeros(len(features))

    def save(self, folder):
        (folder / "teller").touch()

    @classmethod
    def load(cls, folder):
        return cls()
"""


@dataclass
class Run:
    """A run's jobs in a folder with that model, forked where `function` says so."""

    folder: Path
    function: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    forking: subprocess.Popen | None = None

    def command(self, **params) -> dict:
        """As subprocess takes it."""
        job = ["train", "--model", "teller", "--params", json.dumps(params), "--data", "data/set"]
        job += ["--fold", "1", "--seed", "7", "--out", str(self.out)]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"TOLD": str(self.folder / "told"), "MINE": "this", "PATH": path} | self.environment
        command = ["bash", "-c", f'{self.function}gradrank "$@"', "bash", *job]
        return {"args": command, "cwd": self.folder, "env": os.environ | own}

    def job(self, **params) -> dict:
        """What a job finds, and the versions that it writes down."""
        shutil.rmtree(self.out, ignore_errors=True)
        done = subprocess.run(**self.command(**params), capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "fitting in this\n"), done.stderr
        return read_json(self.folder / "told") | {"versions": read_json(self.out / "spec.json")["versions"]}

    def running(self) -> tuple[subprocess.Popen, psutil.Process]:
        """The call of a job that takes very long, and that job."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        call = subprocess.Popen(**self.command(seconds=600.0), stdout=subprocess.DEVNULL)
        while not told.exists():
            assert call.poll() is None
            time.sleep(0.01)
        return call, psutil.Process(read_json(told)["process"])

    @property
    def out(self) -> Path:
        return self.folder / "fold1"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("my run")
    make_collection(folder / "data/set")
    (folder / "models").mkdir()
    (folder / "models/teller.py").write_text(TELLER)
    return folder


def forked(folder: Path, **environment: str) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        function = forked_jobs.start(sys.executable)
    return Run(folder, function, environment, forked_jobs._started[-1])


@pytest.fixture(scope="module")
def run(made) -> Run:
    return forked(made)


@pytest.fixture(scope="module")
def alone(made) -> Run:
    return Run(made)


@pytest.mark.parametrize("package", PACKAGES)
def test_of_a_kind_only_the_first_imports_what_it_uses_and_all_write_down_the_same(package, run, alone):
    expected = alone.job(uses=package)
    first, second, other = run.job(uses=package), run.job(uses=package), run.job(seconds=0.0)
    assert first["parent"] == run.forking.pid == psutil.Process(second["parent"]).ppid()
    assert [each["imported"] for each in (expected, first, second, other)] == [[], [], [package], []]
    assert expected["versions"] == first["versions"] == second["versions"]
    assert package in expected["versions"] and package not in other["versions"]
    assert expected["set"] == first["set"] == second["set"]  # the instruction set


def test_polars_is_imported_beforehand_without_the_threads_that_it_has_in_jobs(run, alone):
    assert run.job()["polars"] == alone.job()["polars"] == ["polars-0", "polars-ooc-clea"]
    forking = psutil.Process(run.forking.pid)
    assert any("polars_runtime" in mapped.path for mapped in forking.memory_maps())
    assert forking.num_threads() == 1


@pytest.mark.parametrize(
    ("name", "other"), [("POLARS", "compiled.to_something"), ("START_POLARS", "renamed")]
)
def test_polars_of_another_make_is_left_to_the_jobs(name, other):
    script = "import sys; from gradrank.pipeline import forked_jobs as own; "
    script += f"own.{name} = {other!r}; own.import_polars(); print('polars' in sys.modules); "
    script += "import polars; print(polars.Series([1, 2]).sum())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3"]


def test_what_is_wrong_is_said_as_by_a_process_of_its_own(run, alone, made):
    wrong = made / "models/wrong.py"
    wrong.write_text(TELLER.replace('"teller"', '"wrong"').replace("return cls()", "return 1 / 0", 1))

    def said(of: Run, model: str) -> tuple[int, str]:
        command = of.command()
        command["args"][command["args"].index("teller")] = model
        done = subprocess.run(**command, capture_output=True, text=True)
        return done.returncode, re.sub(r'  File ".*/bin/gradrank", .*\n.*\n *\^*\n', "", done.stderr)

    try:
        for model, text in (("wrong", "ZeroDivisionError"), ("nothing", "unknown model 'nothing'")):
            expected, found = said(alone, model), said(run, model)
            assert expected == found and expected[0] == 1 and text in expected[1].splitlines()[-1]
    finally:
        wrong.unlink()


def test_a_job_ends_with_its_call_and_with_its_run(made):
    run = forked(made)
    call, job = run.running()
    psutil.Process(call.pid).children()[0].kill()
    job.wait(timeout=20)
    assert call.wait() == 128 + signal.SIGKILL

    call, job = run.running()
    run.forking.stdin.close()  # as the end of Snakemake does
    job.wait(timeout=20)
    run.forking.wait()
    assert call.wait() == 1
    assert run.job()["parent"] != run.forking.pid  # nobody listens any more: processes of their own


def test_a_killed_template_is_made_anew(run):
    for _ in range(2):
        run.job(uses="numba")
    template = psutil.Process(run.job(uses="numba")["parent"])
    template.kill()
    while psutil.pid_exists(template.pid):
        time.sleep(0.01)
    assert run.job(uses="numba")["parent"] == run.forking.pid
    assert psutil.Process(run.job(uses="numba")["parent"]).ppid() == run.forking.pid


def test_a_process_with_threads_forks_nobody_that_would_share_them(made, tmp_path):
    started = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    (tmp_path / "sitecustomize.py").write_text(started)
    run = forked(made, PYTHONPATH=os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split()]))
    assert [run.job(uses="numba")["imported"] for _ in range(3)] == [[], [], []]


def test_other_users_are_refused(monkeypatch):
    here, there = socket.socketpair()
    with here, there:
        assert own(here)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not own(here)


def test_no_forks_where_they_are_not_wanted(monkeypatch):
    monkeypatch.setenv("GRADRANK_FORK", "no")
    assert forked_jobs.start(sys.executable) == ""
