"""The one exception that a user is meant to read."""

from difflib import get_close_matches


class GradrankError(Exception):
    """Something the user can mend; its message says what, where and what to do."""


def nearest(name: str, valid: list[str]) -> str:
    """` (did you mean 'ranksvm'?)` for a misspelt name, or the valid names where none is near."""
    close = get_close_matches(name, valid, n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else f" (valid: {', '.join(sorted(valid))})"
