"""Resolve what a name in a file stands for: the dotted name of a module, or of an object that a module holds."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = {"gradrank", "snakemake_logger_plugin_gradrank"}
OWN |= {path.stem for folder in ("tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")}
# Names under which our modules hold other packages: `our_module.torch.cuda` belongs to torch.
HELD = {"dvc", "lightgbm", "llvmlite", "mlflow", "np", "numba", "numpy", "pandas", "pd", "pl", "plugin", "polars"}
HELD |= {"psutil", "pyarrow", "pydantic", "rich", "scipy", "sklearn", "snakemake", "torch", "typer", "xdist"}
# Global names of a rule file, and the parameters under which a Python function takes them.
SNAKEMAKE_OBJECTS = {"workflow", "rules", "rule", "shell", "dag", "scheduler", "logger", "checkpoints"}
SNAKEMAKE_PARAMETERS = {"workflow", "dag", "scheduler", "rule"}
IMPORTERS = {"__import__", "import_module", "importorskip"}


def called(func: ast.AST) -> str:
    """Return the last name of a called function: `setattr` of `monkeypatch.setattr`."""
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string; an f-string's expressions become the name `x`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(each) or "x" for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_own(dotted: str | None) -> bool:
    """Tell whether a name is ours, and no other package that one of our modules holds."""
    parts = (dotted or "").split(".")
    if parts[0] not in OWN:
        return False
    modules = (Path(ROOT, "src", *parts[: at + 1]) for at, part in enumerate(parts) if part in HELD)
    return all(path.is_dir() or path.with_suffix(".py").exists() for path in modules)


def is_foreign(dotted: str | None) -> bool:
    """Tell whether a name belongs to another package than ours and the standard library."""
    if not dotted or is_own(dotted):
        return False
    return dotted.split(".")[0] not in sys.stdlib_module_names


class BoundNames:
    """The dotted names of what is imported in a file, and of the variables that are assigned such names."""

    def __init__(self, tree: ast.AST, is_rule_file: bool):
        nodes = list(ast.walk(tree))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        parameters = {n.arg for n in nodes if isinstance(n, ast.arg)}
        given = SNAKEMAKE_OBJECTS if is_rule_file else SNAKEMAKE_PARAMETERS & parameters - stored
        self.names = {name: name for name in given}
        for node in nodes:
            self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for each in names:
                    first = each.name.split(".")[0]
                    self.names[each.asname or first] = each.name if each.asname else first
            case ast.ImportFrom(names=names):
                module = "gradrank" if node.level else node.module
                self.names |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._rename(name, value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self._rename(name, value)
            case ast.For(target=ast.Name(id=name), iter=value):
                self._rename(name, value)
            case ast.comprehension(target=ast.Name(id=name), iter=value):
                self._rename(name, value)

    def _rename(self, name: str, value: ast.AST) -> None:
        if origin := self.origin(value):
            self.names[name] = origin

    def origin(self, node: ast.AST, through_calls: bool = False) -> str | None:
        """Return the dotted name that an expression stands for, else None; `f().x` has one only `through_calls`."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(value=value, attr=attr):
                base = self.origin(value, through_calls)
                return base and f"{base}.{attr}"
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if self.origin(value) == "sys.modules":
                return key
            case ast.Subscript(value=value) if through_calls:
                return self.origin(value, through_calls)
            case ast.Call(func=ast.Name(id="getattr"), args=[value, key, *_]):
                base = self.origin(value, through_calls)
                return base and f"{base}.{key.value if isinstance(key, ast.Constant) else 'any'}"
            case ast.Call(
                func=ast.Name(id="vars" | "type" | "iter" | "next" | "list" | "set" | "sorted"), args=[value, *_]
            ):
                return self.origin(value, through_calls)
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if called(func) in IMPORTERS:
                return name
            case ast.Call(func=func) if through_calls:
                return self.origin(func, through_calls)
        return None
