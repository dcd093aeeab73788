"""Find uses of undocumented parts of other programs: `python tools/foreign_internals.py [PATH ...]`.

Read Python files, Snakemake files and shell scripts, print one line per finding, and exit with 1 if there are any. Code
may use only names that the documentation of a program lists.
"""

import ast
import re
import sys
import textwrap
import tokenize
from pathlib import Path

from bound_names import IMPORTERS, ROOT, BoundNames, called, is_foreign, is_own, text_of
from documented_names import is_documented, is_private
from rule_files import to_python

ONLY_DOCUMENTED_IMPORTS = {"snakemake", "snakemake_executor_plugin_slurm", "dvc", "dvc_data", "mlflow"}
ONLY_DOCUMENTED_READS = {"workflow": 2, "shell": 2, "rules": 3}  # number of parts of a documented name
IMPORT_STATE = r"(sys\.(modules|meta_path|path_hooks|executable)|builtins\.__import__)\b"
CHANGING_METHODS = {"append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
CHANGING_CALLS = {"setattr", "delattr", "setitem", "delitem", "__setattr__", "__delattr__", "__setitem__"}
NAMES_AS_TEXT = {"getattr", "hasattr", "attrgetter", "methodcaller", "find_spec", "run_module"}
NAMES_AS_TEXT |= CHANGING_CALLS | IMPORTERS
RECORDS = re.compile(r"\.snakemake/[\w*]+|\.dvc/(tmp|cache)\b[\w/]*|refs/exps\b|mlruns/\d|mlartifacts/|\.nb[ic]\b")
RULE_FILE = re.compile(r"^\s*(rule|checkpoint|include|module|onstart|onsuccess|onerror)\b.*:", re.MULTILINE)
FOLDERS = ["Snakefile", "workflow", "src", "tests", "benchmarks", "tools"]
EXAMPLES = {"tools/foreign_internals.py", "tests/unit/test_foreign_internals.py"}  # they contain violations as examples


class Reader(ast.NodeVisitor):
    """Collect the findings of one syntax tree as (line, description)."""

    def __init__(self, tree: ast.AST, is_rule_file: bool):
        self.is_rule_file = is_rule_file
        self.bound = BoundNames(tree, is_rule_file)
        self.prose = {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # including docstrings
        self.findings: set[tuple[int, str]] = set()
        self.visit(tree)

    def note(self, node: ast.AST, what: str) -> None:
        self.findings.add((node.lineno, what))

    def check_change(self, node: ast.AST, owner: str | None, name: str) -> None:
        if re.match(IMPORT_STATE, f"{owner}.{name}"):
            if not is_documented(f"{owner}.{name}"):
                self.note(node, f"changes Python's import state: {owner}.{name}")
        elif is_foreign(owner):
            self.note(node, f"changes another program: {owner}.{name}")

    def check_target(self, node: ast.AST, target: ast.AST) -> None:
        match target:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.check_target(node, element)
            case ast.Attribute(value=value, attr=attr):
                self.check_change(node, self.bound.origin(value, through_calls=True), attr)
            case ast.Subscript(value=value):
                self.check_change(node, self.bound.origin(value), "[]")

    def visit_Assign(self, node: ast.Assign | ast.Delete) -> None:
        for target in node.targets:
            self.check_target(node, target)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign | ast.AnnAssign | ast.For) -> None:
        self.check_target(node, node.target)
        self.generic_visit(node)

    visit_Delete, visit_AnnAssign, visit_For = visit_Assign, visit_AugAssign, visit_AugAssign

    def check_import(self, node: ast.AST, dotted: str) -> None:
        first = dotted.split(".")[0]
        if not is_own(dotted) and any(map(is_private, dotted.split("."))) and not is_documented(dotted):
            self.note(node, f"private name: {dotted}")
        elif first in ONLY_DOCUMENTED_IMPORTS and dotted != first and not is_documented(dotted):
            self.note(node, f"not in the documentation: {dotted}")

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names if not getattr(node, "level", 0) else ():
            self.check_import(node, prefix + alias.name)

    visit_ImportFrom = visit_Import

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self.bound.origin(node, through_calls=True) or ""
        foreign = (dotted and not is_own(dotted)) or self.is_rule_file
        if foreign and is_private(node.attr) and not is_documented(dotted):
            self.note(node, f"private name: {ast.unparse(node)[:90]}")
        parts = dotted.split(".")
        if self.is_rule_file and ONLY_DOCUMENTED_READS.get(parts[0]) == len(parts) and not is_documented(dotted):
            self.note(node, f"not in the documentation: {dotted}")
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if self.is_rule_file and node.id == "workflow":
            self.note(node, "passes on the object `workflow`")

    def visit_Call(self, node: ast.Call) -> None:
        name, args = called(node.func), node.args
        owner = self.bound.origin(node.func.value) if isinstance(node.func, ast.Attribute) else None
        texts = [text for text in map(text_of, args) if text]
        if args and (name in CHANGING_CALLS or "patch" in ast.unparse(node.func).split(".")):
            direct = text_of(args[0])
            first, _, last = direct.rpartition(".") if direct else (self.bound.origin(args[0], True), "", "")
            self.check_change(node, first, last or next(iter(texts), "[]"))
        if name in CHANGING_METHODS and owner:
            inside = ast.unparse(node.func.value)
            if re.match(IMPORT_STATE, owner) or inside.startswith("vars(") or inside.endswith(".__dict__"):
                self.check_change(node, owner, name)
        if name in NAMES_AS_TEXT:
            whose = next((self.bound.origin(a, True) or getattr(a, "id", "") for a in args if not text_of(a)), "")
            for text in texts if not is_own(whose) and whose not in ("self", "cls") else ():
                self.check_import(node, text)
        if name in ("Path", "PurePath", "joinpath", "join"):
            self.check_record(node, "/".join(texts))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Div):
            parts = [n for n in ast.walk(node) if text_of(n)]
            self.check_record(node, "/".join(text_of(n) for n in sorted(parts, key=lambda n: n.col_offset)))
        self.generic_visit(node)

    def check_record(self, node: ast.AST, text: str) -> None:
        for match in RECORDS.finditer(text):
            if not is_documented(match.group()):
                self.note(node, f"internal file of another program: {match.group()}")

    def visit_Constant(self, node: ast.Constant | ast.JoinedStr) -> None:
        text = text_of(node)
        if text is None or node in self.prose:
            return
        self.check_record(node, text)
        if re.search(r"\bimport |\bworkflow\.", text):  # a test runs this code in another process
            self.findings |= {(node.lineno + line - 1, what) for line, what in findings_in_text(text)}

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.visit_Constant(node)
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value.value)


def findings(source: str, is_rule_file: bool) -> list[tuple[int, str]]:
    """Return (line, description) per finding. If the text cannot be parsed, return one finding with line 0."""
    try:
        tree = ast.parse(to_python(source) if is_rule_file else source)
    except (SyntaxError, tokenize.TokenError) as error:
        return [(0, f"cannot be parsed: {error}")]
    return sorted(Reader(tree, is_rule_file).findings)


def findings_in_text(text: str) -> list[tuple[int, str]]:
    """Return the findings of a string of code, which may have placeholders of `str.format`; empty for other text."""
    for source in map(textwrap.dedent, (text, re.sub(r"\{\w[^{}]*\}", "x", text))):
        results = findings(source, is_rule_file=bool(RULE_FILE.search(source)))
        if not any(line == 0 for line, _ in results):
            return results
    return []


def main() -> int:
    paths = [Path(argument) for argument in sys.argv[1:]] or [ROOT / folder for folder in FOLDERS]
    files = [file.resolve() for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    count = 0
    for path in files:
        is_rule_file = path.suffix == ".smk" or path.name == "Snakefile"
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        if str(shown) in EXAMPLES or not (is_rule_file or path.suffix in (".py", ".sh")):
            continue
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".sh":
            source = "\n".join(repr(line.split("#")[0]) for line in source.splitlines())
        for line, what in findings(source, is_rule_file):
            count += 1
            print(f"{shown}:{line}: {what}")
    if count:
        print(f"{count} findings. Fix: use a documented interface, or list it in tools/documented_names.py.")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
