"""Find files, functions and folders that are too large: `python tools/sizes.py`.

Prints one line per finding, and exits with 1 if there are any. In `tests`, only the length of files is checked.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES, FUNCTION_LINES, MODULES = 400, 60, 25
FOLDERS = {"src": True, "tools": True, "benchmarks": True, "tests": False}  # whether functions and folders are checked
ANY_NUMBER = {"models", "losses"}  # folders with one module per model or loss
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def long_functions(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, finding) for each function with too many lines, counted from `def` and with its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FUNCTIONS) and (length := node.end_lineno - node.lineno + 1) > FUNCTION_LINES:
            yield node.lineno, f"function {node.name} has {length} lines; at most {FUNCTION_LINES}"


def findings(root: Path) -> Iterator[str]:
    """Yield `path:line: finding` for the folders of a project, with paths relative to its root."""
    for name, is_checked_fully in FOLDERS.items():
        modules: dict[Path, int] = {}
        for path in sorted((root / name).rglob("*.py")):
            if not path.resolve().is_relative_to((root / name).resolve()):
                continue  # a link to another of the folders, which is checked there
            source, shown = path.read_text(encoding="utf-8"), path.relative_to(root)
            if (lines := source.count("\n")) > FILE_LINES:
                yield f"{shown}:1: {lines} lines; at most {FILE_LINES}"
            if is_checked_fully:
                modules[shown.parent] = modules.get(shown.parent, 0) + (path.name != "__init__.py")
                yield from (f"{shown}:{line}: {finding}" for line, finding in long_functions(source))
        for folder, count in modules.items():
            if count > MODULES and folder.name not in ANY_NUMBER:
                yield f"{folder}: {count} modules; at most {MODULES}"


def main(root: Path = ROOT) -> int:
    found = list(findings(root))
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
