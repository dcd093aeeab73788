"""Find uses of undocumented parts of other programs: `python tools/foreign_internals.py [PATH ...]`.

Read Python and Snakemake files, print one line per finding, and exit with 1 if there are any. This is a first sieve for
a reviewer: it follows the imports of a file, and does not follow variables.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from documented_names import is_documented, is_private
from rule_files import to_python

ROOT = Path(__file__).resolve().parents[1]
OWN = {"gradrank", "snakemake_logger_plugin_gradrank"}
OWN |= {path.stem for folder in ("tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")}
SNAKEMAKE_OBJECTS = {"workflow", "rules", "rule", "shell", "dag", "scheduler", "checkpoints"}  # names in rule files
ONLY_DOCUMENTED_IMPORTS = {"snakemake", "snakemake_executor_plugin_slurm", "dvc", "dvc_data", "mlflow"}
IMPORT_STATE = re.compile(r"sys\.(modules|meta_path|path_hooks|executable)\b")
CHANGING_METHODS = {"append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}
RECORDS = re.compile(r"\.snakemake/[\w*]+|\.dvc/(tmp|cache)\b[\w/]*|refs/exps\b|mlruns/\d|mlartifacts/|\.nb[ic]\b")
FOLDERS = ["Snakefile", "workflow", "src", "tests", "benchmarks", "tools"]
EXAMPLES = {
    "tools/foreign_internals.py",
    "tests/unit/repository/test_foreign_internals.py",
}  # they contain violations as examples


def findings(source: str, is_rule_file: bool) -> list[tuple[int, str]]:
    """Return (line, description) per finding. If the text cannot be parsed, return one finding with line 0."""
    try:
        tree = ast.parse(to_python(source) if is_rule_file else source)
    except (SyntaxError, tokenize.TokenError) as error:
        return [(0, f"cannot be parsed: {error}")]
    names = _imported(tree) | ({name: name for name in SNAKEMAKE_OBJECTS} if is_rule_file else {})
    lone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    prose = {id(value) for value in lone if isinstance(value, ast.Constant)}  # docstrings
    nodes = (node for node in ast.walk(tree) if id(node) not in prose)
    return sorted({(node.lineno, what) for node in nodes for what in _of_node(node, names)})


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return a dict from each name that an import binds to the dotted name of the module or object."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {name: dotted for name, dotted in names.items() if dotted.split(".")[0] not in OWN}


def _of_node(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """Yield a description of each undocumented use in one node of a syntax tree."""
    match node:
        case ast.Import(names=aliases):
            yield from _of_imports(alias.name for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=0):
            yield from _of_imports(f"{module}.{alias.name}" for alias in aliases)
        case ast.Attribute(attr=attr, ctx=context):
            dotted = _dotted(node, names)
            if dotted and not isinstance(context, ast.Load) and not dotted.startswith("sys."):
                yield f"changes another program: {dotted}"
            elif dotted and is_private(attr) and not is_documented(dotted):
                yield f"private name: {dotted}"
        case ast.Subscript(value=ast.Attribute() as value, ctx=ast.Store() | ast.Del()):
            if IMPORT_STATE.match(_dotted(value, names) or ""):
                yield f"changes Python's import state: {ast.unparse(node)}"
        case ast.Call(func=ast.Attribute(value=ast.Attribute() as value, attr=attr)) if attr in CHANGING_METHODS:
            if IMPORT_STATE.match(_dotted(value, names) or ""):
                yield f"changes Python's import state: {ast.unparse(node)}"
        case ast.Constant(value=str(text)):
            for record in RECORDS.finditer(text):
                if not is_documented(record.group()):
                    yield f"internal file of another program: {record.group()}"


def _of_imports(imported: Iterator[str]) -> Iterator[str]:
    for dotted in imported:
        first, *rest = dotted.split(".")
        if first in OWN or is_documented(dotted):
            continue
        if any(map(is_private, [first, *rest])):
            yield f"private name: {dotted}"
        elif first in ONLY_DOCUMENTED_IMPORTS and rest:
            yield f"not in the documentation: {dotted}"


def _dotted(node: ast.AST, names: dict[str, str]) -> str | None:
    """Return the dotted name of an attribute of an imported object; None if the object was not imported."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attr):
            base = _dotted(value, names)
            return base and f"{base}.{attr}"
    return None


def main() -> int:
    paths = [Path(argument) for argument in sys.argv[1:]] or [ROOT / folder for folder in FOLDERS]
    files = [file.resolve() for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    count = 0
    for path in files:
        is_rule_file = path.suffix == ".smk" or path.name == "Snakefile"
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        if str(shown) in EXAMPLES or not (is_rule_file or path.suffix == ".py"):
            continue
        for line, what in findings(path.read_text(encoding="utf-8"), is_rule_file):
            count += 1
            print(f"{shown}:{line}: {what}")
    if count:
        print(f"{count} findings. Fix: use a documented interface, or list it in tools/documented_names.py.")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
