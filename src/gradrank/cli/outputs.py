"""The check of the outputs of a command, before the command runs.

A parameter is an output if its metavar is FILE or FOLDER. All other paths are inputs, also those in parameters that are
text, such as `@settings.json` or 'runs/fold{fold}.txt'.
"""

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from gradrank.base.errors import GradrankError
from gradrank.base.own_folders import STAMPS, listed_files
from gradrank.base.targets import check_file_output, check_folder_output

FILE, FOLDER = "FILE", "FOLDER"  # the metavars of outputs
# Parameters whose folder a command reads and also writes, such as results/. A folder output may be within or around it.
READ_AND_WRITTEN = ("results", "contest", "members")


class CommandGroup(TyperGroup):
    """The commands of `gradrank`. The outputs of a command are checked before it runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple:
        """Return the name, the command and its arguments, as in click."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.callback is not None:
            command.callback = _checked(command.params, command.callback)
        return name, command, rest


def _checked(parameters: Sequence[Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command with a check of its outputs."""

    def checked(**values: Any) -> Any:
        check_outputs(parameters, values)
        return run(**values)

    return checked


def check_outputs(parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Raise GradrankError if an output of a command cannot be written or would replace an input.

    parameters: the parameters of the click command. values: their values by name.
    """
    outputs = {parameter.name: parameter.metavar for parameter in parameters if parameter.metavar in (FILE, FOLDER)}
    given = [value for name, value in values.items() if name not in outputs]
    folders = [value for name, value in values.items() if name not in (*outputs, *READ_AND_WRITTEN)]
    for name, kind in outputs.items():
        if values.get(name) is None:
            continue
        path = Path(values[name])
        if kind == FOLDER:
            check_folder_output(path, _paths(folders))
        else:
            check_file_output(path, [file for found in _paths(given) for file in _files(found)])
            _check_unlisted(path)


def _paths(values: Any) -> Iterator[Path]:
    """Yield the paths of inputs in the values of parameters."""
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list | tuple):
            yield from _paths(value)
        elif isinstance(value, str):
            pattern = re.sub(r"\{\w+\}", "*", glob.escape(value.removeprefix("@")))
            try:
                yield from map(Path, glob.glob(pattern))  # noqa: PTH207 - Path.glob takes no absolute pattern
            except (OSError, ValueError):  # text that is not a path
                continue


def _files(path: Path) -> Iterator[Path]:
    """Yield an input, and the files of an input folder that has the layout of a data set."""
    yield path
    if path.is_dir():
        from gradrank.data.layout import find_layout

        try:
            yield from find_layout(path).files
        except (GradrankError, OSError):
            return


def _check_unlisted(path: Path) -> None:
    """Raise GradrankError if a file belongs to a folder of gradrank: a stamp of the folder lists it."""
    real = Path(os.path.realpath(path))
    for folder in real.parents if path.exists() else ():
        for name in STAMPS:
            if {real, *real.parents} & {*listed_files(folder / name)}:
                raise GradrankError(f"{path}: {folder / name} lists this file. Fix: give another output")
