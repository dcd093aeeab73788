"""Code digests: the source files that the result of a stage depends on, and their digest.

Snakemake does not know which code a command line runs, so every rule has one code digest among its params. Source files
are not inputs of the rules, because Snakemake would hash them for every waiting job in each round of scheduling. A
stage depends on the modules that it imports, whether at the top of a file or inside functions. Imports are read from
the syntax trees; no module is imported for this. `gradrank/__init__.py` is left out, because it has the version number.
Models, losses, scorers and studies are looked up by name at run time, so they are not found as imports. Callers
therefore pass the modules of the models, losses, scorers and studies that they use (see `training_modules`). Packages
of other distributions that add models or losses are treated like this package: the digest covers the modules that are
imported.

A digest ignores comments, docstrings and formatting. The digest of a Python file covers a canonical form of its syntax
tree. This form is the same under every supported version of Python, whereas the output of `ast.dump` and `ast.unparse`
depends on the version. The digest of a YAML file covers its parsed content. The digest of any other file covers its
bytes.
"""

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.extensions import code_folders
from gradrank.base.files import OWN_MODELS

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


PACKAGE = Path(__file__).parents[2]
WORKFLOW = (PACKAGE / "bench/config/project/workflow").resolve()  # workflow/ of a checkout

# The modules that each stage runs, and patterns of other files that it reads. A stage has the same name as its rule and
# its command. For some stages, callers add the modules of models (train, tune, refit, divisions, study, study_job,
# report) and of the study (study, study_job).
PUBLISHED = "bench/literature/*.csv"
STUDIES = "studies"  # a folder of a project, and the package that its studies are imported from
NAMED = "src/gradrank"  # replaces the path of PACKAGE in file names
STAGES: dict[str, tuple[str, ...]] = {
    "fetch": ("gradrank.data.sources.fetch",),
    "generate": ("gradrank.data.sources.synthetic",),
    "parse": ("gradrank.data.parse",),
    "pairs": ("gradrank.data.pair_files",),
    "train": ("gradrank.bench.folds.job",),
    "import_scores": ("gradrank.bench.folds.score_exchange",),
    "evaluate_folds": ("gradrank.bench.folds.evaluate",),
    "tune": ("gradrank.bench.tuning.trials",),
    "choices": ("gradrank.bench.tuning.choices",),
    "refit": ("gradrank.bench.tuning.refits",),
    "divisions": ("gradrank.bench.tuning.divisions",),
    "pack": ("gradrank.bench.parts",),
    "summary": ("gradrank.bench.report.tables.summary", "gradrank.bench.provenance.records", PUBLISHED),
    "explanations": ("gradrank.bench.report.explanations",),
    "study": ("gradrank.bench.studies.writing", "gradrank.bench.provenance.study_records", PUBLISHED),
    "study_job": (),
    "report": (
        "gradrank.bench.report.document",
        "bench/report/pages/*.[!p]*",
        "training/literature/*.bib",
        "training/losses/*.py",  # the page Methods names every loss in this folder
    ),
    "collect": ("gradrank.bench.provenance.records", "gradrank.bench.report.dvc_plots"),
    "track": ("gradrank.bench.tracking.runs", "gradrank.ranker.predict"),
}


def studies_folder() -> Path | None:
    """Return the folder studies/ with code of the working folder, else of this checkout, or None if there is neither.

    A folder studies/ of the working folder may have only the settings of studies in other packages.
    """
    folders = (Path(STUDIES), PACKAGE.parents[1] / STUDIES)
    return next((each for each in folders if any(chain(each.glob("*.py"), each.glob("*/__init__.py")))), None)


def _folders() -> dict[str, Path]:
    """Return a dict from name to folder of the packages, besides gradrank, whose code results depend on."""
    studies = studies_folder()
    return code_folders() | ({STUDIES: studies} if studies is not None else {})


@cache
def code_digest(stage: str, *modules: str) -> str:
    """Return the digest of all code that a stage and `modules` depend on: 16 hexadecimal digits.

    It does not depend on the folder of the checkout.
    """
    return digest(stage_files(stage, *modules))


def digest(paths: Iterable[str]) -> str:
    """Return a digest of the names and the content of files: 16 hexadecimal digits.

    Comments and formatting are ignored. Docstrings are ignored unless one of the files reads docstrings at run time.
    """
    sources = {os.path.relpath(named(path), NAMED): read_source(Path(path).absolute()) for path in set(paths)}
    documented = any(source.reads_docstrings for source in sources.values())
    lines = [f"{name} {source.documented if documented else source.digest}" for name, source in sorted(sources.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@cache
def named(path: str) -> str:
    """Return the path of a source file relative to the checkout, or to the working folder for a user's own file.

    The path of a file of another distribution begins with its top-level package, wherever the package is installed.
    """
    extensions = ((folder, package) for package, folder in _folders().items())
    for folder, name in ((WORKFLOW, "workflow"), (PACKAGE, NAMED), *extensions):
        inside = os.path.relpath(path, folder)
        if not inside.startswith(os.pardir):
            return f"{name}/{inside}"
    return os.path.relpath(path)


def stage_files(stage: str, *modules: str) -> list[str]:
    """Return the sorted paths of all files that a stage and `modules` depend on.

    The paths are relative to the working folder. Raises GradrankError if a module does not exist or no file matches a
    pattern.
    """
    patterns = [part for part in STAGES[stage] if "/" in part]
    read = {pattern: sorted(map(os.path.relpath, PACKAGE.glob(pattern))) for pattern in patterns}
    if missing := [pattern for pattern, paths in read.items() if not paths]:
        raise GradrankError(
            f"{', '.join(missing)}: no such file in {PACKAGE}. Fix: correct STAGES in bench/config/code_digest.py"
        )
    return sorted(
        {
            *sources(*set(STAGES[stage]) - set(patterns), *modules),
            *chain(*read.values()),
            *chain(*(_read_by(stage, module) for module in modules)),
        }
    )


def _read_by(stage: str, module: str) -> list[str]:
    """Return the sorted paths of the files next to a module of a study that the stage can read.

    The page and the jobs of a study can read CSV files. Only the page reads templates, so a change of its text reruns
    no job.
    """
    path = module_file(module)
    if path is None or module.partition(".")[0] == "gradrank":
        return []
    patterns = ("*.csv", "*.jinja") if stage == "study" else ("*.csv",)
    return sorted(os.path.relpath(file) for pattern in patterns for file in path.parent.glob(pattern))


def sources(*modules: str) -> list[str]:
    """Return the sorted paths of modules such as "gradrank.bench.folds.job" and of all modules that they import.

    Paths are relative to the working folder. Raises GradrankError if a module does not exist. Without this check, a
    misspelt module would be left out of the digest, and changes of its code would not rerun anything.
    """
    visited: set[Path] = set()
    if missing := [module for module in modules if module_file(module) is None]:
        raise GradrankError(
            f"{', '.join(missing)}: no such module in {PACKAGE} or in a package that "
            "extends gradrank. Fix: correct the name"
        )
    waiting = [path for module in modules for path in module_files(module)]
    while waiting:
        path = waiting.pop()
        if path not in visited:
            visited.add(path)
            waiting += imported_files(path)
    start = str(Path.cwd())
    return sorted(_relative(path, start) for path in visited)


_relative = cache(os.path.relpath)  # called for a dozen files in each of thousands of jobs


@cache
def imported_files(path: Path) -> list[Path]:
    """Return the files of the project modules that a file imports."""
    statements = read_source(path.absolute()).imports
    return [file for statement in statements for name in _names(statement, path) for file in module_files(name)]


def _names(statement: Import, path: Path) -> Iterator[str]:
    """Yield all possible module names: `order` in `from gradrank.data import order` may be a module or a function."""
    module = statement.module or ""
    if statement.level:
        package = _module(path).split(".")[: -statement.level]
        module = ".".join([*package, *filter(None, [module])])
    if module:
        yield module
    yield from (f"{module}.{name}" if module else name for name in statement.names)


def _module(path: Path) -> str:
    """Return the dotted name of a source file. The last part is `__init__` for a package."""
    for package, folder in {"gradrank": PACKAGE, **_folders()}.items():
        inside = Path(os.path.relpath(path, folder))
        if inside.parts[0] != os.pardir:
            return ".".join([package, *inside.with_suffix("").parts])
    own = "models" / path.relative_to(OWN_MODELS)
    return ".".join(["gradrank", *own.with_suffix("").parts])


@cache
def module_files(module: str) -> list[Path]:
    """Return the files that run when a module is imported: its own file and the `__init__` of its packages.

    The list is empty for a module that belongs neither to this package nor to a package that extends it.
    """
    if module_file(module) is None:
        return []
    parts = module.split(".")
    ancestors = (module_file(".".join(parts[:depth])) for depth in range(1, len(parts) + 1))
    return [path for path in ancestors if path is not None]


@cache
def module_file(module: str) -> Path | None:
    """Return the file of a module; None for `gradrank`, for a function and for a module of another package."""
    root, *rest = module.split(".")
    folder = PACKAGE if root == "gradrank" and rest else _folders().get(root)
    if folder is None:
        return None
    places = [folder.joinpath(*rest)]
    if root == "gradrank" and rest[0] == "models":  # the registry adds a user's own files to gradrank.models
        places.append(OWN_MODELS.joinpath(*rest[1:]))
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in files if file.is_file()), None)
