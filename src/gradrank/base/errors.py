"""The exception for errors that a user can fix, and messages about unknown names."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


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
