"""A full disk, or one that fails, in words: which one it is, what was to be written there, and what to do.

Polars, LightGBM, SQLite and safetensors each report it by an exception of their own, most of them without a file, some
without a reason.
"""

import errno
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from traceback import walk_tb

from gradrank.errors import GradrankError

NO_SPACE = re.compile(r"no space left|\(os error 28\)|disk is full|quota exceeded", re.IGNORECASE)
FAILS = re.compile(r"input/output error|\(os error 5\)|disk i/o error", re.IGNORECASE)
UNSAID = re.compile(
    r"cannot write binary data|transport error", re.IGNORECASE
)  # LightGBM's; Polars' of page headers
PARTIAL = re.compile(
    r"\.([^/]+?)(?:\.(\d+))?\.partial$"
)  # as files.atomic calls what is to become a file, by whom
LEAST = 1 << 20  # bytes: a run that has less left writes no score file and no log any more
AGAIN = "then run the same command again: what was finished is kept"
ADVICE = f"free some space there, {AGAIN}"
MEND = f"see whether that disk or network folder is sound, or write to another one; {AGAIN}"


def explanation(error: BaseException, arguments: Sequence[str]) -> str | None:
    """What to say of an error that a full disk or a failing one made; None of any other. arguments: the command's."""
    number, text = getattr(error, "errno", None), str(error)
    full = number in (errno.ENOSPC, errno.EDQUOT) or NO_SPACE.search(text)
    fails = number == errno.EIO or FAILS.search(text)
    unsaid = UNSAID.search(text) and _wrote(error)
    if not (full or fails or unsaid):
        return None
    place = _place(error, arguments)
    if full or (unsaid and _free(place) < LEAST):
        return f"{place}: no space left on its disk ({_shown(place)}); {ADVICE}"
    what = "input/output error" if fails else "cannot be written, for want of space or an input/output error"
    return f"{place}: {what} ({_shown(place)}); {MEND}"


def _place(error: BaseException, arguments: Sequence[str]) -> str:
    """The file, if the error names one or its frames hold one that is being written; else what the command was to write
    or where it worked. Of these the first one that has no room.
    """
    named = PARTIAL.sub(r"\1", str(getattr(error, "filename", None) or _being_written(error) or ""))
    out = [value for option, value in pairwise(arguments) if option == "--out"]
    written = [*([named] if named else []), *out, *filter(_exists, arguments)]
    places = [*written, ".", tempfile.gettempdir()]
    return next((each for each in places if _free(each) < LEAST), places[0])


def _being_written(error: BaseException) -> Path | None:
    """The temporary file of `files.atomic` in whose block it was raised: a failed write itself names none."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    held = (value for frame in reversed(frames) for value in frame.f_locals.values())
    return next((value for value in held if isinstance(value, Path) and PARTIAL.search(str(value))), None)


def _wrote(error: BaseException) -> bool:
    """Whether it came out of writing: of a damaged file that is read the words are the same."""
    names = (frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__))
    return "binary data" in str(error) or any(name.startswith(("write_", "sink_")) for name in names)


def check_space(places: Iterable[Path | str] = (".",)) -> None:
    """Raise GradrankError where a run has no room to write: in these places, or for temporary files."""
    try:
        temporary = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise GradrankError(
            f"no folder for temporary files ({error}); free some space, or set TMPDIR"
        ) from None
    for place in (*places, temporary):
        if _free(place) < LEAST:
            kept = f"{ADVICE}; or set TMPDIR to another folder" if place == temporary else ADVICE
            raise GradrankError(f"{Path(place).resolve()}: the disk is full ({_shown(place)}); {kept}")


def _free(place: Path | str) -> int:
    return shutil.disk_usage(_existing(place)).free


def _shown(place: Path | str) -> str:
    usage = shutil.disk_usage(_existing(place))
    return f"{usage.free / 1e6:.1f} of {usage.total / 1e6:,.0f} MB are free"


def _existing(place: Path | str) -> Path:
    """The place, or the first folder above it that is there."""
    path = Path(place).absolute()
    return next(each for each in (path, *path.parents) if _exists(each))


def _exists(place: Path | str) -> bool:
    try:
        return Path(place).exists()
    except (OSError, ValueError):  # a whole JSON object, say, which is no file's name
        return False
