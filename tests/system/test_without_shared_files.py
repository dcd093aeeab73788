"""The workflow without a shared file system: jobs start in empty folders, and the results are those of a local run.

Jobs get the files of the project that git tracks and the copies of the storage provider `fs`. The data of the user
are only on the host that runs Snakemake.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from project import SMALL_RUN, Project, write_own_data

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="needs snakemake-executor-plugin-cluster-generic"
)

RUN = {"run": {"datasets": ["synthetic_net", "mine"], "models": ["single_feature", "ranksvm", "both"]}}
FUSION = {"both": {"model": "combsum", "models": ["single_feature", "ranksvm"]}}
IGNORED = (".snakemake", "data", "logs", "own data", "results", "src")
# Starts the job script $1 in a new folder, and prints the folder as the job's id.
SUBMIT = """#!/bin/sh
folder=$(mktemp -d jobs/XXXXXX)
cp "$1" "$folder/job.sh"
(cd "$folder" && setsid sh -c 'sh job.sh >log 2>&1; echo $? >code.new; mv code.new code' >/dev/null 2>&1 &)
echo "$PWD/$folder"
"""
STATUS = """#!/bin/sh
if [ ! -f "$1/code" ]; then echo running; elif [ "$(cat "$1/code")" = 0 ]; then echo success; else echo failed; fi
"""
NAMES = ("summary.json", "scores.parquet", "spec.json", "history.parquet", "per_query.parquet", "collection.json")


def make(root: Path) -> Project:
    """Copy the project with one artificial data set and the user's own data, with one method on pairs and a fusion."""
    root.mkdir()
    project = Project.copy(root)
    project.params(**SMALL_RUN | RUN | {"models": FUSION, "track": False})
    for study in ("ranknet2005", "pair_targets"):
        project.study(study, reduced=None)
    write_own_data(root / "own data")
    return project


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Project:
    """A project that was run locally; not to be changed."""
    project = make(tmp_path_factory.mktemp("local") / "project")
    project.snakemake("--cores", "2")
    return project


def contents(root: Path) -> dict[str, bytes]:
    """Return the reproducible files of stored data and results below a folder, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] in ("data", "results")
        if path.name in NAMES or path.name.startswith("part") or "model" in path.parts
        if not path.name.startswith(".")
    }


def run_elsewhere(project: Project, *storage: str) -> str:
    """Run the workflow with each job in an empty folder of its own, and return the output."""
    root = project.root
    (root / "jobs").mkdir()
    for name, text in (("submit", SUBMIT), ("status", STATUS)):
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    (root / ".gitignore").write_text("".join(f"/{name}\n" for name in (*IGNORED, "jobs")))
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # jobs call `python`
    project.environment |= {"PATH": python, "no_proxy": "127.0.0.1"}
    generic = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "./submit"]
    generic += ["--cluster-generic-status-cmd", "./status", "--max-status-checks-per-second", "2"]
    return project.snakemake(*generic, "--shared-fs-usage", "none", "--job-deploy-sources", "--jobs", "2", *storage)


def test_a_run_through_a_folder_of_copies_has_the_bytes_of_a_local_run(local, tmp_path):
    pytest.importorskip("snakemake_storage_plugin_fs", reason="needs snakemake-storage-plugin-fs")
    if shutil.which("rsync") is None:
        pytest.skip("needs rsync, which the storage provider fs calls")
    project, store = make(tmp_path / "project"), tmp_path / "store"
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", str(store))
    output = run_elsewhere(project, *storage)
    kept = contents(local.root)
    assert contents(store) == {path: content for path, content in kept.items() if not path.startswith("data/raw")}
    assert not (project.root / "data/parquet").exists() and not (project.root / "results/mine").exists()
    assert not list((project.root / "jobs").glob("*/own data")), "the user's files stay on the host of Snakemake"
    assert "best methods" in output or "the best" in output, "the summary of the report is shown"
    again = run_again(project, *storage)
    assert "Nothing to be done" in again


def run_again(project: Project, *storage: str) -> str:
    return project.snakemake("--dry-run", "--cores", "1", *storage)
