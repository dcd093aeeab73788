"""The folder in which Numba caches the machine code of compiled functions.

If a compiled function calls a function of another file, Numba does not notice changes of that file. Therefore the name
of the folder contains a digest of all files with compiled functions.
"""

import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.extensions import code_folders, own_models

PACKAGE = Path(__file__).parents[1]
DECORATOR = PACKAGE / "base/compiled.py"
MARK = b"\n@compiled"  # a file with a line that starts like this has compiled functions
PACKAGES = ("numba", "llvmlite", "numpy")
KEPT_SECONDS = 30 * 24 * 3600.0  # cache folders are deleted this long after their last use

_set = False


def use_cache_folder() -> Path | None:
    """Set NUMBA_CACHE_DIR for this process, and return the folder. Must be called before Numba is imported.

    The folder is in $NUMBA_CACHE_DIR if the user set this variable, otherwise in $XDG_CACHE_HOME/gradrank or
    ~/.cache/gradrank. If the home folder is not writable, the folder is in the temporary folder. If Numba is already
    imported, it ignores the variable. The function then returns None, and nothing is cached.
    Raises GradrankError if the folder is a link or belongs to another user. The folder contains pickles, so anyone who
    can write to it could make this process run their code.
    """
    global _set
    if not _set and "numba" in sys.modules:
        return None
    folder = _folder()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    _set = True
    return folder


def is_set() -> bool:
    """Return True if `use_cache_folder` has set Numba's cache folder in this process."""
    return _set


def _folder() -> Path:
    name = f"gradrank-{digest()}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        base = Path(chosen)
        if base.name.startswith("gradrank-"):  # set by the process that started this one
            base = base.parent
        try:
            base.mkdir(parents=True, exist_ok=True)
            return _marked_as_used(base, name)
        except OSError as error:
            raise GradrankError(f"NUMBA_CACHE_DIR: {error}. Fix: set it to a folder that you can write to") from None
    with suppress(OSError, RuntimeError):  # there is no home folder, or it is not writable
        cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache_home.mkdir(exist_ok=True)
        return _marked_as_used(_private(cache_home / "gradrank"), name)
    return _marked_as_used(_private(Path(tempfile.gettempdir()) / f"gradrank-user-{os.getuid()}"), name)


def digest() -> str:
    """Return a digest of all files with compiled functions, the package versions, and the settings of Numba."""
    hashed = hashlib.sha256(DECORATOR.read_bytes())
    own = own_models()
    paths = [path for folder in (PACKAGE, *code_folders().values()) for path in sorted(folder.rglob("*.py"))]
    for path in [*paths, *(sorted(own.glob("[!._]*.py")) if own else ())]:
        source = path.read_bytes()
        if MARK in source:
            hashed.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode() + source)
    versions = [platform.python_version(), *map(version, PACKAGES)]
    settings = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    hashed.update(repr((versions, sorted(settings.items()))).encode())
    return hashed.hexdigest()[:20]


def _marked_as_used(base: Path, name: str) -> Path:
    """Return the folder base/name, with the current time as its time of last use. It is created if it does not exist.

    If the folder is new, the folders of other digests that were last used more than KEPT_SECONDS ago are removed.
    """
    is_new = not (base / name).exists()
    folder = _private(base / name)
    os.utime(folder)
    if is_new:
        for other in base.glob("gradrank-" + "[0-9a-f]" * 20):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
    return folder


def _private(path: Path) -> Path:
    """Make `path` a folder that only this user can read and write, and return it.

    Raises GradrankError if it is a link or belongs to another user.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise GradrankError(
            f"{path}: the cache of compiled code is a link or belongs to another user. Fix: set NUMBA_CACHE_DIR to a "
            "folder that belongs to you"
        )
    if stat.S_IMODE(status.st_mode) != 0o700:
        path.chmod(0o700)
    return path
