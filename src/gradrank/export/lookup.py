"""Lookup of model formats by name. Each format is one file in formats/. There is no other list of formats.

The name of a format is the name of its file, with hyphens for underscores.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

from gradrank.base.errors import GradrankError, unknown
from gradrank.export import formats

if TYPE_CHECKING:
    from gradrank.export.format import ModelFormat


def format_names() -> list[str]:
    """Return the names of all formats in alphabetical order, without importing them."""
    return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(formats.__path__))


def find_format(name: str) -> "ModelFormat":
    """Return the format `name`, which is the subclass of ModelFormat in its file.

    Raises GradrankError if there is no such format. The error suggests the most similar name.
    """
    from gradrank.export.format import ModelFormat  # not at the top, because the command line lists the formats

    if name not in format_names():
        raise GradrankError(unknown("format", name, format_names()))
    module = importlib.import_module(f"{formats.__name__}.{name.replace('-', '_')}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ModelFormat) and value.__module__ == module.__name__:
            return value()
    raise GradrankError(f"{module.__file__}: no subclass of ModelFormat. Fix: define the format in this file")
