"""Inputs that can be read only once: named pipes, and the shell's `<(command)`. Importing this module is fast."""

import shutil
import stat
import tempfile
from pathlib import Path


class PipeCopy(type(Path())):
    """The copy of what a pipe delivered. Messages show the path of the pipe, and the copy is opened.

    The copy is removed together with this object.
    """

    pipe: Path | None = None
    folder: tempfile.TemporaryDirectory | None = None

    def __str__(self) -> str:
        return super().__str__() if self.pipe is None else str(self.pipe)

    def __fspath__(self) -> str:
        return super().__str__()


def readable_path(path: Path | str) -> Path:
    """Return a path that can be opened several times: a copy if `path` is a pipe, otherwise `path` as a Path."""
    if isinstance(path, PipeCopy):
        return path
    path = Path(path)
    try:
        is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return path
    if not is_pipe:
        return path
    folder = tempfile.TemporaryDirectory(prefix="gradrank-")
    copy = PipeCopy(folder.name, path.name)
    with path.open("rb") as pipe, copy.open("wb") as file:
        shutil.copyfileobj(pipe, file)
    copy.pipe, copy.folder = path, folder
    return copy
