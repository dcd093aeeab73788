"""Commands of version 0.1 that no longer exist. Each raises an error that names the replacement."""

from typing import Any

from typer.core import TyperGroup

from gradrank.base.errors import GradrankError
from gradrank.config.former_names import REPLACEMENTS


class CommandGroup(TyperGroup):
    """The commands of `gradrank`, with an explanation for commands that were removed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple:
        """Find the command that was typed. Raises GradrankError for a command of version 0.1."""
        if args and args[0] in REPLACEMENTS:
            raise GradrankError(f"gradrank {args[0]}: removed in version 0.2. Fix: {REPLACEMENTS[args[0]]}")
        return super().resolve_command(ctx, args)
