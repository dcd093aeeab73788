"""Forked processes. Polars does not return in a process that was forked after its threads had started."""

import os
import sys

from gradrank.base.errors import GradrankError

_has_polars_of_parent = False


def _note_polars() -> None:
    global _has_polars_of_parent
    _has_polars_of_parent = "polars" in sys.modules


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_note_polars)


def refuse_fork(function: str) -> None:
    """Raise GradrankError in a process that was forked from one with Polars.

    Functions that compute with Polars call this function first, because they would never return.

    Examples
    --------
    >>> from gradrank.base.forks import refuse_fork
    >>> refuse_fork("evaluate")
    """
    if _has_polars_of_parent:
        raise GradrankError(
            f"{function}: this process was forked from one that uses Polars, whose threads a fork does not have. Fix: "
            "start processes with multiprocessing.get_context('spawn')"
        )
