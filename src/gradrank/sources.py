"""Which source files a stage's result depends on: the closure of its imports within the package.

Code behind a command line is invisible to Snakemake, so every rule lists these files as input. The imports
are read from the syntax tree, in functions too, without importing anything; the package's own __init__ (its
version number) is left out.
"""

import ast
import os
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


def sources(*modules: str) -> list[str]:
    """Sorted paths, from the working folder, of modules such as "gradrank.train" and all they import."""
    found: set[Path] = set()
    waiting = [_file(module) for module in modules]
    while waiting:
        path = waiting.pop()
        if path is not None and path not in found:
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
    return [file for name in names if (file := _file(name)) is not None]


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
