"""Messages about a full disk, about input/output errors and about names that the disk does not accept."""

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from gradrank.base.errors import GradrankError

MINIMUM_FREE_BYTES = 1_000_000  # with less free space, a job can write neither its results nor its log
FREE_SPACE = "free some space there, then run the same command again; finished results are kept"
CHECK_DISK = "check that disk or network folder, or write to another one; then run the same command again"
FIXES = {errno.ENOSPC: FREE_SPACE, errno.EDQUOT: FREE_SPACE, errno.EIO: CHECK_DISK}


def explanation(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return the message for an error of the operating system about a file or a disk; None for any other error.

    arguments: arguments of the command.

    Errors of Polars have no `errno`, but their message contains the error text of the operating system. Errors of
    SQLite and LightGBM have neither. An error with neither is attributed to a full disk if the disk is almost full,
    unless it is a GradrankError.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: {os.strerror(errno.ENAMETOOLONG)}. Fix: give a shorter name."
    if isinstance(error, OSError) and error.filename is None and error.errno in FIXES:
        # Outputs set the file name (gradrank.base.files). Python would report the unwritten text once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return f"standard output: {os.strerror(error.errno)}. Fix: {FIXES[error.errno]}."
    out = next((value for option, value in pairwise(arguments) if option == "--out"), ".")
    place = Path(str(getattr(error, "filename", None) or out)).absolute()
    # os.path.exists, unlike Path.exists, returns False for a name that is too long.
    existing = next(path for path in (place, *place.parents) if os.path.exists(path))  # noqa: PTH110
    free = shutil.disk_usage(existing).free
    number = getattr(error, "errno", None)
    if number is None:
        number = next((code for code in FIXES if os.strerror(code) in str(error)), None)
    if number is None and free < MINIMUM_FREE_BYTES and not isinstance(error, GradrankError):
        number = errno.ENOSPC
    if number in FIXES:
        return f"{place}: {os.strerror(number)} ({free / 1e6:.1f} MB are free). Fix: {FIXES[number]}."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return (
            f"{error.filename}: {error.strerror}. Fix: check that this path exists and that you may read or write it."
        )
    return None
