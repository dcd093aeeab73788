"""A check that rows fit into memory before they are read."""

import os
from pathlib import Path

from gradrank.base.errors import GradrankError

COLUMN_BYTES = 10_000  # overhead per column in data frames and files, in addition to the values


def available() -> int:
    """Return the number of bytes that this process may still allocate.

    This is the free memory, or a smaller number if `ulimit -v` limits the process.
    """
    import resource  # Windows does not have it

    page = os.sysconf("SC_PAGE_SIZE")
    free, limit = _free(page), resource.getrlimit(resource.RLIMIT_AS)[0]
    status = Path("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not status.is_file():
        return free
    return min(free, max(0, limit - page * int(status.read_text().split()[0])))


def _free(page: int) -> int:
    """Return the number of bytes that can be allocated without swapping. On systems other than Linux, return all
    memory.

    page: the size of a memory page in bytes.
    """
    meminfo = Path("/proc/meminfo")
    for line in meminfo.read_text().splitlines() if meminfo.is_file() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return page * os.sysconf("SC_PHYS_PAGES")


def check_memory(path: Path | str, rows: int, width: int) -> None:
    """Raise GradrankError if `rows` dense float32 rows of `width` features do not fit into memory."""
    needed, free = width * (4 * rows + COLUMN_BYTES), available()
    if needed > free:
        raise GradrankError(
            f"{path}: {rows:,} rows of {width:,} features take {needed / 1e9:,.1f} GB, because models are trained on "
            f"dense rows. This process may allocate only {free / 1e9:,.1f} GB more. Fix: use a machine with more "
            "memory or a higher limit (`ulimit -v`), keep only the features that most rows have, or hash the features "
            "(for example, add up the features whose numbers are equal modulo 4,096)"
        )
