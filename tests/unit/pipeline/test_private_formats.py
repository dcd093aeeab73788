"""What pipeline/ knows of other programs' private formats still holds in the versions that are installed.

A failure here names the format and the file of gradrank/pipeline/ to mend.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradrank.pipeline import forked_jobs, snapshot
from gradrank.pipeline.committed import EXPERIMENT, EXPERIMENTS
from gradrank.pipeline.folder_lock import clear_stale_locks

LONG = "results/" + "a_long_name=0.25-" * 14 + ".txt"  # its record's name is cut into folders
RULES = f"""
rule long:
    input: "made.txt"
    output: "{LONG}"
    shell: "cp made.txt '{{output}}'"

rule made:
    output: "made.txt"
    shell: "for wait in $(seq 100); do find .snakemake/incomplete -type f | grep -q . && break; sleep .1; done; "
        "cp -r .snakemake seen; echo 1 >{{output}}"
"""  # a job may begin before Snakemake has marked its file


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A folder where Snakemake has made two files; `seen` is its .snakemake while the first was being made."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "Snakefile").write_text(RULES)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", LONG]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_snakemakes_record_of_an_output(project, monkeypatch):
    monkeypatch.chdir(project)
    for path, made_of in ((Path("made.txt"), []), (Path(LONG), ["made.txt"])):
        record = snapshot.record(path)
        what = (
            f"Snakemake's record of an output: its place or keys changed, see pipeline/snapshot.py ({record})"
        )
        assert record.is_file(), what
        assert json.loads(record.read_text()).get("input") == made_of, what


def test_snakemake_takes_a_record_that_was_put_back(project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "copy")
    monkeypatch.chdir(copy)
    kept = {path: snapshot.record(path).read_bytes() for path in (Path("made.txt"), Path(LONG))}
    shutil.rmtree(".snakemake")
    snapshot.METADATA.with_name("incomplete").mkdir(parents=True)
    for path, record in kept.items():
        snapshot.record(path).parent.mkdir(parents=True, exist_ok=True)
        snapshot.record(path).write_bytes(record)

    def planned() -> str:
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", LONG]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    what = "Snakemake no longer takes records by their files alone, see restore() in pipeline/snapshot.py"
    assert "Nothing to be done" in planned(), what
    Path("Snakefile").write_text(RULES.replace("echo 1", "echo 2"))
    assert "made.txt" in planned(), what


def test_snakemakes_locks_and_marks_of_unfinished_outputs(project, tmp_path):
    state = shutil.copytree(project / "seen", tmp_path / "state")
    what = "Snakemake's lock files moved, see pipeline/folder_lock.py"
    assert list(state.glob("locks/*.lock")), what
    assert clear_stale_locks(state) and not list(state.glob("locks/*.lock")), what


def test_dvcs_lock_and_its_names_of_experiments():
    refs = pytest.importorskip("dvc.repo.experiments.refs", reason="needs DVC")
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    ref = str(refs.ExpRefInfo("0123456789" * 4, "faster"))
    found = EXPERIMENT.fullmatch(ref)
    what = f"DVC's refs of experiments changed ({ref}), see EXPERIMENT in pipeline/committed.py"
    assert ref.startswith(f"{EXPERIMENTS}/") and found and found["name"] == "faster", what
    out = {"path": "results/per_query.parquet", "md5": "ab" * 16, "size": 1}
    try:
        COMPILED_LOCKFILE_SCHEMA({"schema": "2.0", "stages": {"run": {"cmd": "x", "outs": [out]}}})
    except Invalid as error:
        pytest.fail(f"DVC's lock changed ({error}), see Committed in pipeline/committed.py")


def test_mlflows_own_tags():
    pytest.importorskip("mlflow")
    from mlflow.entities import RunStatus
    from mlflow.utils import mlflow_tags

    from gradrank.pipeline import mlflow_import, mlflow_parents

    own = "".join(Path(module.__file__).read_text() for module in (mlflow_import, mlflow_parents))
    for tag in ("PARENT_RUN_ID", "SOURCE_NAME", "GIT_COMMIT"):
        name = getattr(mlflow_tags, f"MLFLOW_{tag}")
        assert f'"{name}"' in own, (
            f"MLflow's tag is now {name}, see pipeline/mlflow_parents.py, mlflow_import.py and mlflow_runs.py"
        )
    finished = RunStatus.to_string(RunStatus.FINISHED)
    assert finished == mlflow_import.FINISHED, "see FINISHED in pipeline/mlflow_import.py"


@pytest.mark.skipif(not forked_jobs.THREADS.is_dir(), reason="jobs are forked under Linux alone")
def test_polars_without_the_threads_it_starts():
    """In a process of its own: this one has long imported it."""
    script = "from gradrank.pipeline.forked_jobs import THREADS, import_polars; import_polars(); "
    script += "print(len([*THREADS.iterdir()])); import polars; print(len([*THREADS.iterdir()]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    what = "what Polars starts as it is imported changed, see import_polars() in pipeline/forked_jobs.py"
    assert done.stdout.split() == ["1", "2"], f"{what}\n{done.stderr}"
