"""Whether rows fit into memory, asked before any is taken."""

import os
import resource
from pathlib import Path

from gradrank.base.errors import GradrankError

COLUMN_BYTES = 10_000  # what a column takes in frames and files besides its values


def available() -> int:
    """Bytes that this process may still take: what the machine has free, or what a limit (`ulimit -v`) leaves."""
    page = os.sysconf("SC_PAGE_SIZE")
    there, limit = _free(page), resource.getrlimit(resource.RLIMIT_AS)[0]
    size = Path("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not size.is_file():
        return there
    return min(there, max(0, limit - page * int(size.read_text().split()[0])))


def _free(page: int) -> int:
    """Bytes that Linux can give without swapping; elsewhere all that the machine has."""
    told = Path("/proc/meminfo")
    for line in told.read_text().splitlines() if told.is_file() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return page * os.sysconf("SC_PHYS_PAGES")


def check_memory(path: Path | str, rows: int, width: int) -> None:
    """Raise GradrankError where so many rows, which are dense when a model is trained, do not fit into memory."""
    needed, there = width * (4 * rows + COLUMN_BYTES), available()
    if needed > there:
        raise GradrankError(
            f"{path}: {rows:,} rows of {width:,} features take {needed / 1e9:,.1f} GB, for models are trained on dense "
            f"rows; this process may take {there / 1e9:,.1f} GB more. Use a machine with more memory or a higher limit "
            "(`ulimit -v`), or give fewer features: those that most rows have, or hashed ones (feature number modulo "
            "4,096, say, values that meet added up)"
        )
