"""The one exception that a user is meant to read, and its words for a name that nothing has."""

from collections.abc import Iterable
from difflib import get_close_matches


class GradrankError(Exception):
    """Something the user can mend; its message says what, where and what to do."""


def unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    """`unknown model 'ranksmv' (did you mean 'ranksvm'?)`: what to say of a name that is none of `valid`."""
    return f"unknown {kind} {name!r}{nearest(name, valid)}"


def nearest(name: str, valid: Iterable[str]) -> str:
    """` (did you mean 'ranksvm'?)` for a misspelt name, or the valid names where none is near."""
    valid = list(valid)
    close = get_close_matches(name, valid, n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else f" (valid: {', '.join(sorted(valid))})"
