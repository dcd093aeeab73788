"""Messages about a full disk and about input/output errors."""

import errno
import os
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from gradrank.base.errors import GradrankError

LEAST = 1_000_000  # bytes: with less, a job can write neither its results nor its log
FULL = "free some space there, then run the same command again: finished results are kept"
FAILS = "check that disk or network folder, or write to another one; then run the same command again"
FIXES = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EIO: FAILS}


def explanation(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return the message for a command that a full or failing disk stopped; None for any other error.

    Polars gives the operating system's text but no `errno`. SQLite and LightGBM give neither: there, too little free
    space is taken as the reason.
    """
    out = next((value for option, value in pairwise(arguments) if option == "--out"), ".")
    place = Path(str(getattr(error, "filename", None) or out)).absolute()
    free = shutil.disk_usage(next(each for each in (place, *place.parents) if each.exists())).free
    number = getattr(error, "errno", None)
    if number is None:
        number = next((each for each in FIXES if os.strerror(each) in str(error)), None)
    if number is None and free < LEAST and not isinstance(error, GradrankError):
        number = errno.ENOSPC
    if number in FIXES:
        return f"{place}: {os.strerror(number)} ({free / 1e6:.1f} MB are free). Fix: {FIXES[number]}."
    return None
