"""Snakemake's folder lock, made to end with the process that took it.

Snakemake marks a folder as locked by plain files, which a killed run leaves behind. This lock is the operating
system's and is released when its process dies, however it dies: whoever holds it knows that the files are stale, and
whoever does not, that a run is alive.
"""

import fcntl
import os
import re
import shutil
import socket
import time
from pathlib import Path
from typing import TextIO

PARTIAL = re.compile(
    r"\.([^/]+?)(?:\.(\d+))?\.partial$"
)  # temporary names of files.atomic, with the writing process

_held: list[TextIO] = []  # open for the life of the process


def clear_stale_locks(state: Path = Path(".snakemake")) -> bool:
    """Remove the lock files of a run that is no longer alive; False if a live run holds this folder."""
    state.mkdir(exist_ok=True)
    lock = (state / "gradrank.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        _tell_of(lock.read().strip())
        lock.close()
        return False
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M')}")
    lock.flush()
    _held.append(lock)
    for stale in state.glob("locks/*.lock"):
        stale.unlink()
    return True


def clear_partials() -> None:
    """Remove what killed processes of this folder's runs were writing, not what a live one is.

    To be called by a run that holds the folder alone, when no other machine works for it any more. A folder that is
    a link may be another run's as well.
    """
    own = (Path(place) for place in ("data", "results") if not Path(place).is_symlink())
    for path in [path for place in own for path in place.rglob(".*.partial")]:
        writer = PARTIAL.fullmatch(path.name)
        if writer and writer[2] and not _alive(int(writer[2])):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    """Whether it may still write. What has been killed is there, and does not, until its parent hears of it: in a
    container whose first process asks after none, for good.
    """
    import psutil

    try:
        return psutil.Process(process).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except (psutil.NoSuchProcess, OverflowError):
        return False
    except psutil.AccessDenied:  # another user's
        return True


def _tell_of(holder: str) -> None:
    """Let Snakemake say who holds the folder: its own words advise --unlock, which would let two runs mix files."""
    from snakemake import exceptions

    text = (
        f"Another run is alive in this folder: {holder or 'a process of another user'}. Wait until it has ended, or "
        "end it (Ctrl-C where it runs); then start again. A dry run (-n) may be made meanwhile."
    )

    class FolderHeld(exceptions.LockException):
        def __init__(self) -> None:
            exceptions.WorkflowError.__init__(self, text)

    exceptions.LockException = FolderHeld
