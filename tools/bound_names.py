"""Resolution of the names in a file to the dotted name of a module, or of an object in a module."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = {"gradrank", "snakemake_logger_plugin_gradrank"}
OWN |= {path.stem for folder in ("tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")}
# Names of other packages that our modules import: `our_module.torch.cuda` belongs to torch.
IMPORTED = {"dvc", "lightgbm", "llvmlite", "mlflow", "np", "numba", "numpy", "pandas", "pd", "pl", "plugin", "polars"}
IMPORTED |= {"psutil", "pyarrow", "pydantic", "rich", "scipy", "sklearn", "snakemake", "torch", "typer", "xdist"}
# Objects of Snakemake: global names of a rule file, and parameters of Python functions that receive them.
SNAKEMAKE_OBJECTS = {"workflow", "rules", "rule", "shell", "dag", "scheduler", "logger", "checkpoints"}
SNAKEMAKE_PARAMETERS = {"workflow", "dag", "scheduler", "rule"}
IMPORTERS = {"__import__", "import_module", "importorskip"}


def called(func: ast.AST) -> str:
    """Return the last name of a called function, such as `setattr` for `monkeypatch.setattr`."""
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string, with `x` in place of an f-string's expressions; None if the node is not a string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) or "x" for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_own(dotted: str | None) -> bool:
    """Return whether a name belongs to this project, and not to another package that one of its modules imports."""
    parts = (dotted or "").split(".")
    if parts[0] not in OWN:
        return False
    modules = (Path(ROOT, "src", *parts[: at + 1]) for at, part in enumerate(parts) if part in IMPORTED)
    return all(path.is_dir() or path.with_suffix(".py").exists() for path in modules)


def is_foreign(dotted: str | None) -> bool:
    """Return whether a name belongs to a package that is neither this project nor the standard library."""
    if not dotted or is_own(dotted):
        return False
    return dotted.split(".")[0] not in sys.stdlib_module_names


class BoundNames:
    """The dotted names of the imports of a file, and of the variables to which imported objects are assigned."""

    def __init__(self, tree: ast.AST, is_rule_file: bool):
        nodes = list(ast.walk(tree))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        parameters = {n.arg for n in nodes if isinstance(n, ast.arg)}
        predefined = SNAKEMAKE_OBJECTS if is_rule_file else SNAKEMAKE_PARAMETERS & parameters - stored
        self.names = {name: name for name in predefined}
        for node in nodes:
            self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.split(".")[0]
                    self.names[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom(names=names):
                module = "gradrank" if node.level else node.module
                self.names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
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
        """Return the dotted name of an expression, or None if unknown. `f().x` has a name only with `through_calls`."""
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
