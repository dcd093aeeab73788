"""Errors that a user can fix, warnings, and messages about unknown names and missing packages.

The warnings are about values that are valid but that mislead a reader who does not know their cause. The packages are
those of the extras of gradrank, such as `pip install 'gradrank[nets]'`.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec


class GradrankError(Exception):
    """An error that the user can fix. Its message says what is wrong, where, and how to fix it."""


class InputError(GradrankError, ValueError):
    """An invalid argument of `gradrank.Ranker`. scikit-learn handles it as it handles every ValueError."""


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Print the message of a GradrankError to standard error, and end the program with exit code 1.

    The Snakefile uses it, also as a decorator of input functions: Snakemake prints other exceptions with tracebacks.
    """
    try:
        yield
    except GradrankError as error:
        sys.exit(str(error))


def unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    """Return the message about a name that is not in `valid`: "unknown model 'ranksmv' (did you mean 'ranksvm'?)"."""
    return f"unknown {kind} {name!r}{nearest(name, valid)}"


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return " (did you mean 'ranksvm'?)" for a misspelt name, or the valid names if none is similar."""
    valid = [each for each in valid if each != name]
    close = get_close_matches(name, valid, n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else f" (valid: {', '.join(sorted(valid))})"


class GradrankWarning(UserWarning):
    """The base class of gradrank's warnings. Warnings about features have this category.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gradrank.GradrankWarning)
    ...     result = gradrank.evaluate([1, 0, 0], [0.5, 0.5, 0.5], qid=[1, 1, 1], metrics="mrr")
    """


class TiedScoresWarning(GradrankWarning):
    """A value depends noticeably on the order in which documents with equal scores are ranked.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gradrank.TiedScoresWarning)
    ...     result = gradrank.evaluate([1, 0, 0], [0.5, 0.5, 0.5], qid=[1, 1, 1], metrics="mrr")
    >>> result.tied["mrr"]
    TiedMean(mean=1.0, expected=0.6111111111111112, queries=1)
    """


class DegenerateModelWarning(GradrankWarning):
    """A model learned no order: its scores are constant in each training query, or no query has different grades.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> X, y, qid = [[1.0], [1.0]] * 5, [1, 0] * 5, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = gradrank.Ranker("regression", random_state=1).fit(X, y, qid=qid)
    >>> [each.category.__name__ for each in caught]
    ['DegenerateModelWarning']
    """


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
    >>> from gradrank.base.errors import require
    >>> require("zlib", extra=None, needed_by="data.gz")
    >>> require("no_such_package", extra="nets", needed_by="softmax")
    Traceback (most recent call last):
    gradrank.base.errors.GradrankError: softmax: needs no_such_package, which is not installed. Fix: pip install \
'gradrank[nets]'
    """
    if absent := missing(packages):
        names = f"'gradrank[{extra}]'" if extra else " ".join(absent)
        raise GradrankError(f"{needed_by}: needs {', '.join(absent)}, which is not installed. Fix: pip install {names}")
