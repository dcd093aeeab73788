"""Downloads that go on where they were cut off."""

import errno
import http.client
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from gradrank.base.errors import GradrankError

BLOCK = 1 << 18
TIMEOUT = 30  # seconds without a byte
TRIES = 4  # in a row, without a byte more
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Unavailable(GradrankError):
    """An address does not have the file, or cannot be reached; the next source may have it."""


def download(url: str, path: Path) -> None:
    """Fetch `url` into `path`, which appears only when whole.

    What a broken connection or a killed process has left in `path`.part is continued by an HTTP range
    request. Pauses of 1, 2 and 4 s lie between tries. Raises Unavailable, and OSError on a full disk.
    """
    part, failures = path.with_name(path.name + ".part"), 0
    part.parent.mkdir(parents=True, exist_ok=True)
    while True:
        before = _size(part)
        try:
            if _continue(url, part):
                break
            reason = "the connection closed early"
        except HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            if error.code == 416:  # nothing beyond what we have: `part` is of another file, or whole but not renamed
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                raise Unavailable(reason) from None
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in NO_SPACE:
                raise
            if isinstance(error, URLError) and not before:
                raise Unavailable(f"no connection ({error.reason})") from None  # no network: do not wait for it
            reason = f"no connection ({getattr(error, 'reason', None) or error})"
        failures = 0 if _size(part) > before else failures + 1
        if failures == TRIES:
            raise Unavailable(f"{reason}, {TRIES} times")
        time.sleep(2 ** max(failures - 1, 0))
    part.replace(path)


def _continue(url: str, part: Path) -> bool:
    """Append to `part` what it lacks, or start again if the server knows no ranges; True when it is whole."""
    have = _size(part)
    headers = {"User-Agent": "gradrank", **({"Range": f"bytes={have}-"} if have else {})}
    with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as response:
        have = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if have else "wb") as out:
            progress = Progress(url.rsplit("/", 1)[-1], total)
            while block := response.read(BLOCK):
                out.write(block)
                progress.show(out.tell())
    return total is None or _size(part) == total


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class Progress:
    """A line on standard error every other second, rewritten in place on a terminal."""

    def __init__(self, name: str, total: int | None):
        self.name, self.of = name, f" of {total / 1e6:,.1f}" if total else ""
        self.next = time.monotonic() + 2
        self.end = "\r" if sys.stderr.isatty() else "\n"

    def show(self, done: int) -> None:
        if time.monotonic() >= self.next:
            self.next += 2
            print(f"{self.name}: {done / 1e6:,.1f}{self.of} MB", end=self.end, file=sys.stderr, flush=True)
