"""What git knows of a folder. Where git is not installed, or the folder in no repository, that is nothing."""

import subprocess
from pathlib import Path

MADE_OF = ("src", "workflow", "models", "params.yaml")  # of a project: what results are made of beside data


def git(*arguments: str, folder: Path | str = ".") -> bytes | None:
    """What git prints when it runs in `folder`; None where it fails or is not there."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def revision(project: Path) -> str | None:
    """The commit that a project's code and parameters are of, 40 digits; None outside a repository.

    With `-dirty` where they differ from it. Results do not count: a run writes those that are in git anew.
    """
    commit = git("rev-parse", "HEAD", folder=project)
    if commit is None:
        return None
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *MADE_OF, folder=project)
    return commit.decode().strip() + ("-dirty" if changed else "")
