"""Snakemake's folder lock, made to end with the process that took it.

Snakemake marks a folder as locked by plain files, which a killed run leaves behind. This lock is the operating
system's and is released when its process dies, however it dies: whoever holds it knows that the files are stale.
"""

import fcntl
from pathlib import Path
from typing import TextIO

_held: list[TextIO] = []  # open for the life of the process


def clear_stale_locks(state: Path = Path(".snakemake")) -> bool:
    """Remove the lock files of a run that is no longer alive; False if a live run holds this folder."""
    state.mkdir(exist_ok=True)
    lock = (state / "gradrank.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return False
    _held.append(lock)
    for stale in state.glob("locks/*.lock"):
        stale.unlink()
    return True
