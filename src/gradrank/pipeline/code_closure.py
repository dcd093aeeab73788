"""Which source files a stage's result depends on: the closure of its imports within the package.

Code behind a command line is invisible to Snakemake, so every rule lists these files as input. The imports
are read from the syntax tree, in functions too, without importing anything; the package's own __init__ (its
version number) is left out.
"""

import ast
import os
from functools import cache
from pathlib import Path

from gradrank.errors import GradrankError

PACKAGE = Path(__file__).parents[1]


def sources(*modules: str) -> list[str]:
    """Sorted paths, from the working folder, of modules such as "gradrank.learning.job" and all they import.

    Raises GradrankError for a module that does not exist: its closure would be empty, and nothing would rerun.
    """
    found: set[Path] = set()
    if missing := [module for module in modules if _file(module) is None]:
        raise GradrankError(f"{', '.join(missing)}: no such module in {PACKAGE}; was it moved?")
    waiting = [path for module in modules for path in _files(module)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    start = str(Path.cwd())
    return sorted(_relative(path, start) for path in found)


_relative = cache(os.path.relpath)  # asked for a dozen files by every one of thousands of jobs


@cache
def _imports(path: Path) -> list[Path]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
    return [file for name in names for file in _files(name)]


@cache
def _files(module: str) -> list[Path]:
    """A project module's file and its ancestor packages', which importing it runs; nothing for another's."""
    if _file(module) is None:
        return []
    parts = module.split(".")
    ancestors = (_file(".".join(parts[:depth])) for depth in range(2, len(parts) + 1))
    return [path for path in ancestors if path is not None]


@cache
def _file(module: str) -> Path | None:
    """The file of a project module; None for the package itself, a function or another package."""
    root, *rest = module.split(".")
    if root != "gradrank" or not rest:
        return None
    path = PACKAGE.joinpath(*rest)
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None
