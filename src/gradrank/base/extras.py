"""Optional packages. The extras of gradrank, such as `pip install 'gradrank[nets]'`, install them."""

from collections.abc import Iterable
from importlib.util import find_spec

from gradrank.base.errors import GradrankError


def missing(packages: Iterable[str]) -> list[str]:
    """Return the names of the packages that are not installed. No package is imported."""
    return [package for package in packages if find_spec(package) is None]


def require(*packages: str, extra: str | None, needed_by: object) -> None:
    """Check that packages are installed.

    packages: the import names of the packages. extra: the extra of gradrank that installs them; None for a
    package that no extra installs. needed_by: what needs them, such as a model or a file.

    Raises GradrankError with the `pip` command if a package is not installed.

    Examples
    --------
    >>> from gradrank.base.extras import require
    >>> require("zlib", extra=None, needed_by="data.gz")
    >>> require("no_such_package", extra="nets", needed_by="softmax")
    Traceback (most recent call last):
    gradrank.base.errors.GradrankError: softmax: needs no_such_package, which is not installed. Fix: pip install \
'gradrank[nets]'
    """
    if absent := missing(packages):
        names = f"'gradrank[{extra}]'" if extra else " ".join(absent)
        raise GradrankError(f"{needed_by}: needs {', '.join(absent)}, which is not installed. Fix: pip install {names}")
