"""Set up git and DVC in a project folder, with their commands. A repository that exists is used as it is.

`dvc exp run` needs a git repository with at least one commit, and a DVC repository.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.bench.git import git

DVC_FILES = (".dvc/config", ".dvc/.gitignore", ".dvcignore")  # `dvc init` writes them for git


def check(folder: Path, use_git: bool, use_dvc: bool) -> None:
    """Raise GradrankError if `set_up` would fail with the same arguments. Nothing is written."""
    if not (use_git or use_dvc):
        return
    if not shutil.which("git"):
        raise GradrankError("gradrank init: git is not installed. Fix: install git, or leave out --git and --dvc")
    if use_dvc:
        require("dvc", extra="dvc", needed_by="gradrank init --dvc")
    existing = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.is_dir())
    inside = git("rev-parse", "--show-toplevel", folder=existing) is not None
    if use_dvc and not use_git and not inside:
        raise GradrankError(f"{folder}: DVC needs a git repository. Fix: add --git")
    if inside and git("check-ignore", "--quiet", str(folder.resolve()), folder=existing) is not None:
        raise GradrankError(f"{folder}: the git repository around it ignores this folder. Fix: choose another folder")
    if use_git and any(git("var", f"GIT_{role}_IDENT", folder=existing) is None for role in ("AUTHOR", "COMMITTER")):
        raise GradrankError(
            "gradrank init --git: git knows no name and e-mail address for the commit. Fix: git config --global "
            "user.name 'Your Name'; git config --global user.email you@example.com"
        )


def set_up(folder: Path, files: Iterable[Path], use_git: bool, use_dvc: bool) -> list[str]:
    """Create the repositories that are missing, and commit the files that are not committed. Return what was done.

    files: files of the project to commit, within `folder`. Other files are not committed, and neither are changes of
    committed files.
    """
    done = []
    if use_git and git("rev-parse", "--show-toplevel", folder=folder) is None:
        _call(folder, "git", "init", "--quiet")
        done.append("git init")
    if use_dvc and subprocess.run([_dvc(), "root"], cwd=folder, capture_output=True).returncode:
        at_top = git("rev-parse", "--show-prefix", folder=folder) == b"\n"
        command = ("init", "--quiet", *(() if at_top else ("--subdir",)))
        _call(folder, _dvc(), *command)
        done.append(f"dvc {' '.join(command)}")
    if use_git:
        names = [path.relative_to(folder).as_posix() for path in files]
        names += [name for name in DVC_FILES if (folder / name).is_file()]
        if new := _uncommitted(folder, names):
            _call(folder, "git", "add", "--", *new)
            _call(folder, "git", "commit", "--quiet", "--message", "Set up the gradrank project", "--", *new)
            done.append(f"git commit: {', '.join(new)}")
    return done


def _uncommitted(folder: Path, names: list[str]) -> list[str]:
    """Return the names of files that the last commit does not contain."""
    committed = git("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *names, folder=folder) or b""
    return sorted(set(names) - set(committed.decode().split("\0")))


def _dvc() -> str:
    """Return the path of the command `dvc` of this Python environment."""
    return shutil.which("dvc", path=str(Path(sys.prefix, "bin"))) or "dvc"


def _call(folder: Path, *command: str) -> None:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        line = " ".join([Path(command[0]).name, *command[1:3]])
        raise GradrankError(
            f"{folder}: `{line}` failed: {process.stderr.strip() or process.stdout.strip()}\n"
            "Fix: remove the cause, then run the same command again"
        )
