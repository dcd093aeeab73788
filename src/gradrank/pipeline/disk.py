"""A full disk, in words: which one it is, what was to be written there, and what to do.

Polars, LightGBM, SQLite and safetensors each report it by an exception of their own, most of them without a file.
"""

import errno
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from gradrank.errors import GradrankError

NO_SPACE = re.compile(
    r"no space left|\(os error 28\)|disk is full|quota exceeded|cannot write binary data", re.IGNORECASE
)
LEAST = 1 << 20  # bytes: a run that has less left writes no score file and no log any more
ADVICE = "free some space there, then run the same command again: what was finished is kept"


def explanation(error: BaseException, arguments: Sequence[str]) -> str | None:
    """What to say of an error that a full disk made; None of any other. arguments: the command's."""
    if getattr(error, "errno", None) not in (errno.ENOSPC, errno.EDQUOT) and not NO_SPACE.search(str(error)):
        return None
    named = getattr(error, "filename", None)
    out = [value for option, value in pairwise(arguments) if option == "--out"]
    written = [*([str(named)] if named else []), *out, *(each for each in arguments if Path(each).exists())]
    places = [*written, ".", tempfile.gettempdir()]
    place = next((each for each in places if _free(each) < LEAST), places[0])
    return f"{place}: no space left on its disk ({_shown(place)}); {ADVICE}"


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
    return next(each for each in (path, *path.parents) if each.exists())
