"""Find code that steers other programs from the inside: `python tools/foreign_internals.py [PATH ...]`.

Reads Python files, Snakemake files and shell scripts, prints one line per finding, and exits with 1 if there are any.
Only names that a tool's documentation lists may be used.
"""

import ast
import re
import sys
import textwrap
import tokenize
from pathlib import Path

from bound_names import ROOT, BoundNames, called, is_foreign, is_own
from rule_files import to_python

RULES = "https://snakemake.readthedocs.io/en/stable/snakefiles/rules.html"
MLFLOW = "https://mlflow.org/docs/latest/api_reference/python_api"

# The exceptions, each with the page that lists it; `*` stands for one name. A module includes its content.
DOCUMENTED = {
    "workflow.cores": f"{RULES}#threads",
    "workflow.source_path": RULES,
    "rules.*.input": RULES,
    "rules.*.output": RULES,
    "shell.executable": RULES,
    "shell.prefix": RULES,
    "snakemake.exceptions": RULES,
    "snakemake.utils": "https://snakemake-api.readthedocs.io/en/stable/api_reference/snakemake_utils.html",
    "dvc.api": "https://dvc.org/doc/api-reference",
    "dvc.exceptions": "https://dvc.org/doc/api-reference/open",
    "mlflow.MlflowClient": f"{MLFLOW}/mlflow.client.html",
    "mlflow.artifacts": f"{MLFLOW}/mlflow.artifacts.html",
    "mlflow.data": f"{MLFLOW}/mlflow.data.html",
    "mlflow.entities": f"{MLFLOW}/mlflow.entities.html",
    "mlflow.exceptions": "https://mlflow.org/docs/latest/py-modindex.html",
    "mlflow.models": f"{MLFLOW}/mlflow.models.html",
    "mlflow.pyfunc": f"{MLFLOW}/mlflow.pyfunc.html",
    "mlflow.types": f"{MLFLOW}/mlflow.types.html",
    "os._exit": "https://docs.python.org/3/library/os.html#os._exit",
    "sys._getframe": "https://docs.python.org/3/library/sys.html#sys._getframe",
    **dict.fromkeys(
        ["_asdict", "_field_defaults", "_fields", "_make", "_replace"],
        "https://docs.python.org/3/library/collections.html#collections.somenamedtuple._make",
    ),
}
ONLY_DOCUMENTED_IMPORTS = {"snakemake", "dvc", "dvc_data", "mlflow"}
ONLY_DOCUMENTED_READS = {"workflow": 2, "shell": 2, "rules": 3}  # parts of the name that the page lists
IMPORT_STATE = r"(sys\.(modules|meta_path|path_hooks|executable)|builtins\.__import__)\b"
CHANGING_METHODS = {"append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
CHANGING_CALLS = {"setattr", "delattr", "setitem", "delitem", "__setattr__", "__delattr__", "__setitem__"}
NAMES_AS_TEXT = {"getattr", "hasattr", "attrgetter", "methodcaller", "import_module", "__import__", "importorskip"}
NAMES_AS_TEXT |= {"find_spec", "run_module"} | CHANGING_CALLS
RECORDS = re.compile(
    r"\.snakemake/(?!(log|conda|scripts|shadow|slurm_logs|storage)\b)[\w*]|\.dvc/(tmp|cache|site_cache)\b"
    r"|refs/exps\b|\bmlruns/\d|\bmlartifacts/|\.nb[ic]\b"
)
RULE_FILE = re.compile(r"^\s*(rule|checkpoint|include|module|onstart|onsuccess|onerror)\b.*:", re.MULTILINE)
FOLDERS = ["Snakefile", "workflow", "src", "tests", "benchmarks", "tools"]
EXAMPLES = {"tools/foreign_internals.py", "tests/unit/test_foreign_internals.py"}  # violations, spelled out


def is_private(name: str) -> bool:
    return name.startswith("_") and not re.fullmatch(r"__\w+__|_+", name) and name not in DOCUMENTED


def is_documented(dotted: str) -> bool:
    patterns = (re.escape(name).replace(r"\*", r"[^.]+") for name in DOCUMENTED)
    return any(re.match(rf"{pattern}(\.|$)", dotted) for pattern in patterns)


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string; an f-string's expressions become the name `x`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(each) or "x" for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class Reader(ast.NodeVisitor):
    """Collect the findings of one syntax tree as (line, description)."""

    def __init__(self, tree: ast.AST, is_rule_file: bool):
        self.is_rule_file = is_rule_file
        self.bound = BoundNames(tree, is_rule_file)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        bodies = [n.body for n in ast.walk(tree) if isinstance(n, documented) and n.body]
        self.docstrings = {body[0].value for body in bodies if isinstance(body[0], ast.Expr)}
        self.found: set[tuple[int, str]] = set()
        self.visit(tree)

    def note(self, node: ast.AST, what: str) -> None:
        self.found.add((node.lineno, what))

    def check_change(self, node: ast.AST, owner: str | None, name: str) -> None:
        if re.match(IMPORT_STATE, f"{owner}.{name}"):
            self.note(node, f"changes Python's import state: {owner}.{name}")
        elif is_foreign(owner):
            self.note(node, f"changes another program: {owner}.{name}")

    def check_target(self, node: ast.AST, target: ast.AST) -> None:
        match target:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for each in elements:
                    self.check_target(node, each)
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
        for each in node.names if not getattr(node, "level", 0) else ():
            self.check_import(node, prefix + each.name)

    visit_ImportFrom = visit_Import

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self.bound.origin(node, through_calls=True) or ""
        foreign = dotted and not is_own(dotted) or self.is_rule_file
        if foreign and is_private(node.attr) and not is_documented(dotted):
            self.note(node, f"private name: {ast.unparse(node)[:90]}")
        parts = dotted.split(".")
        if self.is_rule_file and ONLY_DOCUMENTED_READS.get(parts[0]) == len(parts) and not is_documented(dotted):
            self.note(node, f"not in the documentation: {dotted}")
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if self.is_rule_file and node.id == "workflow":
            self.note(node, "hands on the object `workflow`")

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
        if match := RECORDS.search(text):
            self.note(node, f"another program's own file: {match.group()}")

    def visit_Constant(self, node: ast.Constant | ast.JoinedStr) -> None:
        text = text_of(node)
        if text is None or node in self.docstrings:
            return
        self.check_record(node, text)
        if re.search(r"\bimport |\bworkflow\.", text):  # code that a test runs in another process
            for line, what in findings(textwrap.dedent(text), is_rule_file=bool(RULE_FILE.search(text))):
                if line:
                    self.found.add((node.lineno + line - 1, what))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.visit_Constant(node)
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                self.visit(each.value)


def findings(source: str, is_rule_file: bool) -> list[tuple[int, str]]:
    """Return (line, description) per finding; line 0 if the text cannot be parsed."""
    try:
        tree = ast.parse(to_python(source) if is_rule_file else source)
    except (SyntaxError, tokenize.TokenError) as error:
        return [(0, f"cannot be parsed: {error}")]
    return sorted(Reader(tree, is_rule_file).found)


def main() -> int:
    given = [Path(each) for each in sys.argv[1:]] or [ROOT / each for each in FOLDERS]
    files = [f.resolve() for each in given for f in (sorted(each.rglob("*")) if each.is_dir() else [each])]
    count = 0
    for path in files:
        is_rule_file = path.suffix == ".smk" or path.name == "Snakefile"
        if str(path.relative_to(ROOT)) in EXAMPLES or not (is_rule_file or path.suffix in (".py", ".sh")):
            continue
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".sh":
            source = "\n".join(repr(line.split("#")[0]) for line in source.splitlines())
        for line, what in findings(source, is_rule_file):
            count += 1
            print(f"{path.relative_to(ROOT)}:{line}: {what}")
    if count:
        print(f"{count} findings. Fix: use the documented interface, or name it and its page in DOCUMENTED.")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
