"""Functions that call git. They return None if git is not installed or the folder is not in a repository."""

import subprocess
from pathlib import Path

# The paths in a project that results depend on, besides the data.
INPUTS = ("src", "workflow", "models", "studies", "params.yaml")


def git(*arguments: str, folder: Path | str = ".") -> bytes | None:
    """Return what git prints when it runs in `folder`; None if it fails or is not installed."""
    try:
        process = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except OSError:
        return None
    return process.stdout if process.returncode == 0 else None


def revision(project: Path) -> str | None:
    """Return the commit of a project as 40 hexadecimal digits; None outside a repository.

    The suffix `-dirty` means that files of INPUTS differ from the commit. Changed results do not cause the suffix,
    because every run overwrites the committed results.
    """
    commit = git("rev-parse", "HEAD", folder=project)
    if commit is None:
        return None
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *INPUTS, folder=project)
    return commit.decode().strip() + ("-dirty" if changed else "")
