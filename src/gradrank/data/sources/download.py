"""Downloads of files. An interrupted download is resumed."""

import errno
import http.client
import sys
import time
from pathlib import Path
from typing import Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from gradrank.base.errors import GradrankError

BLOCK = 1 << 18
TIMEOUT = 30  # an attempt fails after this number of seconds without data
TRIES = 4  # the download fails after this number of consecutive attempts without data
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Unavailable(GradrankError):
    """Error for an address that does not have the file or cannot be reached. The next source is then tried."""


def download(url: str, path: Path) -> None:
    """Download `url` to `path`. The file `path` exists only after the download is complete.

    An interrupted download is kept in `path`.part, and is continued with an HTTP range request. The pauses between
    failed attempts are 1, 2 and 4 s. Raises Unavailable if the download fails, and OSError if the disk is full.
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
            if error.code == 416:  # `part` is from a different file, or is complete and was not renamed
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                raise Unavailable(reason) from None
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in NO_SPACE:
                raise
            if isinstance(error, URLError) and not before:
                raise Unavailable(f"no connection ({error.reason})") from None  # no network, so retrying is pointless
            reason = f"no connection ({getattr(error, 'reason', None) or error})"
        failures = 0 if _size(part) > before else failures + 1
        if failures == TRIES:
            raise Unavailable(f"{reason}, {TRIES} times")
        time.sleep(2 ** max(failures - 1, 0))
    part.replace(path)


def _continue(url: str, part: Path) -> bool:
    """Append the rest of the file to `part`, or start again if the server ignores ranges.

    Returns True if the file is complete.
    """
    have = _size(part)
    headers = {"User-Agent": "gradrank", **({"Range": f"bytes={have}-"} if have else {})}
    with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as response:
        have = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if have else "wb") as out, Progress(url.rsplit("/", 1)[-1], total) as progress:
            while block := response.read1(BLOCK):  # `read` would lose the bytes that came before a timeout
                out.write(block)
                progress.show(out.tell())
    return total is None or _size(part) == total


def _size(path: Path) -> int:
    """Return the size of a file in bytes, or 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


class Progress:
    """Progress of a download on standard error: a bar in a terminal or a notebook, otherwise a line every two seconds.

    name: name of the file. total: its size in bytes, or None if the server does not send it.
    """

    def __init__(self, name: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        self.has_bar = console.is_terminal or console.is_jupyter
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.bar = Bar(*columns, TimeRemainingColumn(), console=console, disable=not self.has_bar)
        self.task = self.bar.add_task(name, total=total)
        self.name, self.of = name, f" of {total / 1e6:,.1f}" if total else ""
        self.next = time.monotonic() + 2

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, done: int) -> None:
        """Show that `done` bytes have been received."""
        if self.has_bar:
            self.bar.update(self.task, completed=done)
        elif time.monotonic() >= self.next:
            self.next += 2
            print(f"{self.name}: {done / 1e6:,.1f}{self.of} MB", file=sys.stderr, flush=True)
