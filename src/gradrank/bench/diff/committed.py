"""Files of a git commit or a DVC experiment. They are read without a checkout, from git or from DVC."""

import io
import tarfile
from pathlib import PurePosixPath
from typing import NamedTuple

import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.extras import missing, require
from gradrank.bench.config.studies import PATTERNS
from gradrank.bench.git import git

EXPERIMENT = "DVC experiment"
NEEDED = (
    "params.yaml",
    *PATTERNS,
    "dvc.lock",
    "results/*/summary.json",
    "results/*/provenance.json",
    "results/*/queries.parquet",
)


class Committed(NamedTuple):
    """The files of a commit. Paths are relative to the project's folder, which is the working folder.

    rev: the hash of the commit or the name of the experiment; DVC accepts both. kind: `git revision` or `DVC
    experiment`. files: the files in git; the keys are paths, the values are contents.
    """

    rev: str
    kind: str
    files: dict[str, bytes]

    def read(self, path: str) -> bytes:
        """Return the content of a file from git, or from the cache or remote of DVC if git does not contain the file.

        Raises GradrankError if neither git nor DVC has the file. The message explains why per-query values are missing.
        """
        if path in self.files:
            return self.files[path]
        lock = yaml.safe_load(self.files.get("dvc.lock", b"")) or {"stages": {}}
        outs = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])}
        if not outs & {str(parent) for parent in (PurePosixPath(path), *PurePosixPath(path).parents)}:
            raise GradrankError(
                "The dvc.lock of the commit does not list the per-query values, or there is no dvc.lock. Fix: run the "
                f"workflow in a checkout (`git worktree add FOLDER {self.rev[:12]}`) and compare with FOLDER"
            )
        require("dvc", extra="dvc", needed_by=f"The values per query of {self.rev[:12]}")
        import dvc.api

        try:
            return dvc.api.read(path, rev=self.rev, mode="rb")
        except Exception as error:  # DVC's documentation does not list the errors of this function
            raise GradrankError(
                f"DVC has the values per query neither in its cache nor in a remote ({error}). Fix: run `dvc push` "
                f"where they were computed, or `dvc repro` in a checkout of {self.rev[:12]}"
            ) from None


def find_commit(name: str) -> Committed | None:
    """Return the git commit or DVC experiment with this name, or None if neither exists."""
    if commit := git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return _of_git(commit.decode().strip())
    return _of_experiment(name)


def _of_git(commit: str) -> Committed:
    archive = git("archive", "--format=tar", commit)
    if archive is None:
        raise GradrankError(f"{commit}: git cannot read the commit's files. Fix: run in the folder of the project")
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (stream := tar.extractfile(member)) is not None:
                files[member.name] = stream.read()
    return Committed(commit, "git revision", files)


def _of_experiment(name: str) -> Committed | None:
    if missing(["dvc"]):
        return None
    from dvc.api import DVCFileSystem
    from dvc.exceptions import DvcException

    try:
        system = DVCFileSystem(".", rev=name)
        paths = [str(path) for pattern in NEEDED for path in system.glob(pattern)]
        contents = {path.lstrip("/"): system.read_bytes(path) for path in paths}
    except DvcException:
        return None
    files = {path: content for path, content in contents.items() if isinstance(content, bytes)}
    return Committed(name, EXPERIMENT, files)
