"""Digests of source files that ignore comments, docstrings and formatting.

The digest of a Python file covers a canonical form of its syntax tree. This form is the same under every supported
version of Python, whereas the output of `ast.dump` and `ast.unparse` depends on the version. The digest of a YAML file
covers its parsed content. The digest of any other file covers its bytes.
"""

import ast
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gradrank.base.errors import GradrankError

# Fields of the syntax tree that do not change what the code does.
SKIPPED = {"ctx", "kind", "type_comment", "type_ignores"}
STATEMENTS = {"body", "orelse", "finalbody"}
# Names that code uses to read docstrings or sources at run time, in the notation of the canonical form.
DOCSTRING_READERS = {
    "'__doc__'",
    "'getdoc'",
    "'pydoc'",
    "'getsource'",
    "'getsourcelines'",
    "'getcomments'",
    "'findsource'",
    "'model_json_schema'",
    "'use_attribute_docstrings'",
}


class Import(NamedTuple):
    """An import statement. module: None for `import a, b`. level: the number of leading dots."""

    names: tuple[str, ...]
    module: str | None
    level: int


class Source(NamedTuple):
    """The digests and imports of a source file.

    digest: SHA-256 without docstrings. documented: SHA-256 with docstrings. reads_docstrings: True if the code may read
    docstrings at run time, either its own or those of modules that it imports. imports: the import statements that can
    run. Those in a block `if TYPE_CHECKING:` never run.
    """

    digest: str
    documented: str
    reads_docstrings: bool = False
    imports: tuple[Import, ...] = ()


@cache
def read_source(path: Path) -> Source:
    """Return the Source of the file at an absolute path. Raises GradrankError if the file cannot be parsed.

    The result is cached for the life of the process.
    """
    return parse_source(os.path.relpath(path), path.read_bytes())


def parse_source(name: str, content: bytes) -> Source:
    """Return the Source of a file's content. Raises GradrankError with file and line if it cannot be parsed.

    name: name of the file; its suffix determines the format.
    """
    suffix = Path(name).suffix
    if suffix == ".py":
        return _python(name, content)
    if suffix in (".yaml", ".yml"):
        content = _yaml(name, content)
    digest = hashlib.sha256(content).hexdigest()
    return Source(digest, digest)


def _python(name: str, content: bytes) -> Source:
    try:
        tree = ast.parse(content, name)
    except (SyntaxError, ValueError) as error:  # Python 3.11 raises ValueError for a null byte
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", None) or error
        raise GradrankError(f"{name}, line {line}: not valid Python ({reason}). Fix: correct the file") from None
    form = _Form()
    form.write(tree)
    text = " ".join(form.words)
    return Source(
        hashlib.sha256(text.encode()).hexdigest(),
        hashlib.sha256(f"{text}\n{form.docstrings}".encode()).hexdigest(),
        not DOCSTRING_READERS.isdisjoint(form.words),
        tuple(form.imports),
    )


def _yaml(name: str, content: bytes) -> bytes:
    """Return the parsed content as text. Keys stay in order, because code that reads the file may depend on it."""
    try:
        return repr(yaml.safe_load(content)).encode()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise GradrankError(f"{name}, line {line}: not valid YAML. Fix: correct the file") from None


class _Form:
    """The canonical form of a syntax tree: a list of words.

    Empty fields are left out, because different Python versions have different empty fields.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.docstrings: list[tuple[int, int, str]] = []  # (number of words before it, index in its block, text)
        self.imports: list[Import] = []

    def write(self, node: ast.AST) -> None:
        kind = type(node)
        self.words.append(kind.__name__)
        if kind is ast.Constant or kind is ast.MatchSingleton:
            self.words.append(_literal(node.value))  # type: ignore[attr-defined]
            return
        if kind is ast.Import or kind is ast.ImportFrom:
            self.imports.append(_import(node))
        imported = len(self.imports)
        for field in _fields(kind):
            value = getattr(node, field, None)
            if field in STATEMENTS and isinstance(value, list):
                value = [*self._effective(value)]
            elif isinstance(node, ast.JoinedStr):
                value = [*_joined(node.values)]
            if value:
                self.words.append(field)
                self._write_value(value)
            if field == "body" and _is_type_checking(node):
                del self.imports[imported:]
        self.words.append(")")

    def _write_value(self, value: Any) -> None:
        if isinstance(value, ast.AST):
            self.write(value)
        elif isinstance(value, list):
            for each in value:
                self._write_value(each)
            self.words.append("]")
        else:
            self.words.append(_literal(value))

    def _effective(self, block: list[ast.stmt]) -> Iterator[ast.stmt]:
        """Yield the statements that have an effect. `pass` and lone constants, such as docstrings, have none."""
        for place, statement in enumerate(block):
            if type(statement) is ast.Expr and type(statement.value) is ast.Constant:
                self.docstrings.append((len(self.words), place, _literal(statement.value.value)))
            elif type(statement) is not ast.Pass:
                yield statement


def _is_type_checking(node: ast.AST) -> bool:
    """Return whether a node is the statement `if TYPE_CHECKING:`, whose body never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def _fields(kind: type[ast.AST]) -> list[str]:
    return sorted(set(kind._fields) - SKIPPED)


def _literal(value: Any) -> str:
    """Return a value as text. `repr` of a str depends on Python's Unicode tables, and `repr` of a long int fails."""
    return hex(value) if type(value) is int else ascii(value)


def _joined(values: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the parts of an f-string, with adjacent texts merged: Python versions split them differently."""
    text = ""
    for value in values:
        if isinstance(value, ast.Constant):
            text += str(value.value)
            continue
        if text:
            yield ast.Constant(text)
        text = ""
        yield value
    if text:
        yield ast.Constant(text)


def _import(node: Any) -> Import:
    names = tuple(alias.name for alias in node.names)
    return Import(names, getattr(node, "module", None), getattr(node, "level", 0))
