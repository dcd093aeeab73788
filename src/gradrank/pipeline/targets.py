"""A misspelt target is answered with the names there are, nearest first. Snakemake alone says that no rule makes it."""

from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import Any


def answer_unknown_targets(known: Callable[[], Iterable[str]]) -> None:
    """Give Snakemake's exception these words; it asks for the names when it prints them. known: what can be asked for.

    Snakemake raises it too, and catches it, for every file that is there: making one must stay cheap.
    """
    from snakemake.exceptions import MissingRuleException

    made = MissingRuleException.__init__

    def remember(self: Any, file: Any, *more: Any, **named: Any) -> None:
        made(self, file, *more, **named)
        self.asked = str(file)

    MissingRuleException.__init__ = remember
    MissingRuleException.__str__ = lambda self: answer(self.asked, known()) or self.args[0]


def answer(target: str, known: Iterable[str]) -> str | None:
    """What to say of a target that nothing makes; None of a file in a folder, of which Snakemake says it."""
    if "/" in target:
        return None
    names = sorted(known, key=lambda name: (-SequenceMatcher(None, name, target).ratio(), name))
    return f"no target is called {target!r}; those there are, the nearest first: {', '.join(names)}"
