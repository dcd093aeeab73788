"""A git commit or a DVC experiment and its files, in git or, by its dvc.lock, in DVC. Nothing is checked out."""

import io
import tarfile
from pathlib import PurePosixPath
from typing import NamedTuple

import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.git import git

EXPERIMENT = "DVC experiment"
KEPT = ("params.yaml", "dvc.lock", "results/*/summary.json", "results/*/provenance.json", "results/*/queries.parquet")


class Committed(NamedTuple):
    """Paths are relative to the working folder, which is the project's.

    rev: what DVC calls it: a commit's hash or an experiment's name. files: the content of those in git.
    """

    rev: str
    kind: str
    files: dict[str, bytes]

    def read(self, path: str) -> bytes:
        """Return a file's content: from git, else from DVC's cache or remote. Raises GradrankError if none has it."""
        if path in self.files:
            return self.files[path]
        lock = yaml.safe_load(self.files.get("dvc.lock", b"")) or {"stages": {}}
        outs = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])}
        if not outs & {str(each) for each in (PurePosixPath(path), *PurePosixPath(path).parents)}:
            raise GradrankError(
                "no dvc.lock that names them is committed there; run the workflow in a checkout of it "
                f"(`git worktree add FOLDER {self.rev[:12]}`) and compare with FOLDER"
            )
        try:
            import dvc.api
        except ImportError:
            raise GradrankError("they are stored in DVC, which is not installed: pip install 'gradrank[dvc]'") from None
        try:
            return dvc.api.read(path, rev=self.rev, mode="rb")
        except Exception as error:  # DVC's documentation does not list what it raises
            raise GradrankError(
                f"DVC has them neither in its cache nor in a remote ({error}); `dvc push` where they were made, "
                f"or `dvc repro` in a checkout of {self.rev[:12]}"
            ) from None


def find_commit(name: str) -> Committed | None:
    """Return the commit of a git revision, or the DVC experiment, that is called `name`; None if there is neither."""
    if found := git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return _of_git(found.decode().strip())
    return _of_experiment(name)


def _of_git(commit: str) -> Committed:
    archive = git("archive", "--format=tar", commit)
    if archive is None:
        raise GradrankError(f"{commit}: git cannot read this commit's files from here")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {each.name: tar.extractfile(each).read() for each in tar if each.isfile()}
    return Committed(commit, "git revision", files)


def _of_experiment(name: str) -> Committed | None:
    """DVC itself resolves the names of experiments."""
    try:
        from dvc.api import DVCFileSystem
        from dvc.exceptions import DvcException
    except ImportError:
        return None
    try:
        files = DVCFileSystem(".", rev=name)
        kept = {str(path).lstrip("/"): files.read_bytes(path) for pattern in KEPT for path in files.glob(pattern)}
    except DvcException:
        return None
    return Committed(name, EXPERIMENT, kept)
