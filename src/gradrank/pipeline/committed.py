"""A commit by any of its names, DVC's experiments among them, and its files, in git or, by its dvc.lock, in DVC.

Nothing is checked out.
"""

import io
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

import yaml

from gradrank.errors import GradrankError
from gradrank.git import git

if TYPE_CHECKING:
    from dvc.api import DVCFileSystem

T = TypeVar("T")


class Committed:
    """Paths are relative to the working folder, which is the project's. files: those in git."""

    def __init__(self, commit: str) -> None:
        archive = git("archive", "--format=tar", commit)
        if archive is None:
            raise GradrankError(f"{commit}: git cannot read this commit's files from here")
        self.commit = commit
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            self.files = {each.name: tar.extractfile(each).read() for each in tar if each.isfile()}
        lock = yaml.safe_load(self.files.get("dvc.lock", b"")) or {"stages": {}}
        self._outs = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])}

    def read(self, path: str) -> bytes:
        """A file's content: from git, else DVC's cache, else its remote. GradrankError where none has it."""
        if path in self.files:
            return self.files[path]
        if not self._outs & {str(each) for each in (PurePosixPath(path), *PurePosixPath(path).parents)}:
            raise GradrankError(
                "no dvc.lock that names them is committed there; run the workflow in a checkout of it "
                f"(`git worktree add FOLDER {self.commit[:12]}`) and compare with FOLDER"
            )
        return self._ask(lambda dvc: dvc.read_bytes(path))

    def _ask(self, question: Callable[["DVCFileSystem"], T]) -> T:
        try:
            return question(self._dvc)
        except ImportError:
            raise GradrankError("DVC has them and is not installed: pip install 'gradrank[dvc]'") from None
        except Exception as error:  # DVC's documentation does not list what it raises for a lost file
            raise GradrankError(
                f"DVC has them neither in its cache nor in a remote ({error}); `dvc push` where they were made, "
                f"or `dvc repro` in a checkout of {self.commit[:12]}"
            ) from None

    @cached_property
    def _dvc(self) -> "DVCFileSystem":
        from dvc.api import DVCFileSystem

        return DVCFileSystem(".", rev=self.commit)


def find_commit(name: str) -> tuple[str, str] | None:
    """The commit that a git revision or a DVC experiment is called by, and which of them it is."""
    if found := git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return found.decode().strip(), "git revision"
    experiments = zip(_experiments("--name-only"), _experiments("--sha-only"), strict=True)
    commits = {commit for experiment, commit in experiments if experiment == name}
    if len(commits) > 1:
        raise GradrankError(
            f"{name}: {len(commits)} experiments have this name, on different revisions; give the commit of one "
            f"of them: {', '.join(sorted(commits))}"
        )
    return (commits.pop(), "DVC experiment") if commits else None


def _experiments(column: str) -> list[str]:
    """Return the names or the commits of all DVC experiments, in one order; none without DVC or its project."""
    command = [sys.executable, "-m", "dvc", "experiments", "list", "--all-commits", column]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []
