"""Which files of the package a stage's result depends on: the closure of its imports, and the tables it reads.

Code behind a command line is invisible to Snakemake, so every rule has one digest of these files among its params:
files as input would be hashed for every waiting job in each round of scheduling. The imports are read from the syntax
tree, in functions too, without importing anything; the package's own __init__ (its version number) is left out. Who
imports a folder by its name, as registries do that find its modules by theirs, depends on each of them.
"""

import ast
import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

from gradrank.errors import GradrankError
from gradrank.files import OWN_MODELS, sha256

PACKAGE = Path(__file__).parents[1]
WORKFLOW = (PACKAGE / "project/workflow").resolve()  # of a checkout: workflow/
IMPORT = re.compile(r"^[ \t]*(?:from [\w.]+ )?import (?:\([^()]*\)|[^()\\;\n]+)$", re.MULTILINE)
WORD = re.compile(r"\bimport\b")

# What each stage runs, and files that it reads which are no Python. Rule, command and stage have one name; `train`,
# `tune`, `refit` and `score_trials` have their model's module besides; the studies' stages have their study's page, or
# its experiments.
PUBLISHED = "evaluation/literature/*.csv"
NAMED = "src/gradrank"  # PACKAGE in the names of files
STAGES: dict[str, tuple[str, ...]] = {
    "fetch": ("gradrank.data.fetch",),
    "generate": ("gradrank.data.synthetic",),
    "parse": ("gradrank.data.parse",),
    "pairs": ("gradrank.data.pair_files",),
    "train": ("gradrank.learning.job",),
    "import_scores": ("gradrank.evaluation.import_scores",),
    "evaluate_folds": ("gradrank.evaluation.evaluate",),
    "tune": ("gradrank.tuning.trials",),
    "select": ("gradrank.tuning.selection",),
    "freeze": ("gradrank.tuning.freeze",),
    "choices": ("gradrank.tuning.choices",),
    "refit": ("gradrank.tuning.refits",),
    "evaluate_refits": ("gradrank.tuning.evaluate_refits",),
    "score_trials": ("gradrank.tuning.score_trials",),
    "summary": ("gradrank.report.tables.summary", PUBLISHED),
    "study": ("gradrank.studies.kit.writing", PUBLISHED, "studies/*/*.csv"),
    "study_job": (),
    "report": ("gradrank.report.document", "report/pages/*.[!p]*", "evaluation/literature/*.bib"),
    "provenance": ("gradrank.pipeline.provenance",),
    "study_provenance": ("gradrank.pipeline.study_provenance",),
    "snapshot": ("gradrank.pipeline.snapshot",),
    "track": ("gradrank.tracking.runs", "gradrank.predict"),
}


@cache
def code(stage: str, *modules: str) -> str:
    """`code=` and a digest of `stage_files`: what a rule has among its params, the same wherever a checkout lies."""
    return digest(stage_files(stage, *modules))


def digest(paths: Iterable[str]) -> str:
    """`code=` and a digest of these files and their names.

    Snakemake gives a reason by values, not by names: so the value itself says that it is code.
    """
    lines = sorted(f"{os.path.relpath(named(path), NAMED)} {_sha256(path)}" for path in set(paths))
    return f"code={hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:16]}"


_sha256 = cache(sha256)  # a file is in the closures of dozens of models


@cache
def named(path: str) -> str:
    """What a source is called wherever the package lies: as in a checkout; one's own by its place in this folder."""
    for folder, name in ((WORKFLOW, "workflow"), (PACKAGE, NAMED)):
        inside = os.path.relpath(path, folder)
        if not inside.startswith(os.pardir):
            return f"{name}/{inside}"
    return os.path.relpath(path)


def stage_files(stage: str, *modules: str) -> list[str]:
    """Sorted paths, from the working folder, of all that a stage and these modules depend on.

    Raises GradrankError for a module that does not exist and a pattern that no file matches.
    """
    patterns = [part for part in STAGES[stage] if "/" in part]
    read = {pattern: sorted(map(os.path.relpath, PACKAGE.glob(pattern))) for pattern in patterns}
    if missing := [pattern for pattern, paths in read.items() if not paths]:
        raise GradrankError(f"{', '.join(missing)}: no such file in {PACKAGE}; was it moved?")
    return sorted({*sources(*set(STAGES[stage]) - set(patterns), *modules), *chain(*read.values())})


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
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imported = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [node.module, *imported, *chain(*map(_modules, imported))]
    return [file for name in names for file in _files(name)]


def _tree(path: Path) -> ast.Module:
    """A file's syntax tree; only of its import statements where a look at the lines tells them from all else.

    To parse everything is a fifth of what Snakemake's start takes, and every job on a cluster starts it twice.
    """
    text = path.read_text(encoding="utf-8")
    statements = [found[0].strip() for found in IMPORT.finditer(text)]
    if len(statements) == len(WORD.findall(text)):
        with suppress(SyntaxError):  # a sentence
            return ast.parse("\n".join(statements))
    return ast.parse(text, str(path))


def _modules(package: str) -> list[str]:
    """The modules of one of the project's packages; none of what is no package."""
    init = _file(package)
    if init is None or init.name != "__init__.py":
        return []
    return [f"{package}.{path.stem}" for path in sorted(init.parent.glob("*.py")) if path != init]


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
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    # The registry makes a user's own files modules of gradrank.models.
    own = OWN_MODELS.joinpath(*rest[1:]).with_suffix(".py")
    return own if rest[0] == "models" and own.is_file() else None
