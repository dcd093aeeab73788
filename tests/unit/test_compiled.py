"""Machine code is never older than the sources that it is made of, wherever the package and its user live."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gradrank import compiled
from gradrank.data.tokens import skip_blanks
from gradrank.errors import GradrankError

# millionths calls gradrank.data.tokens.eight_digits, which is another file's.
READ = """
import numpy as np
from gradrank.data.usual_form import millionths
print(millionths(np.frombuffer(b"0.031310", np.uint64)[0]))
"""
RIGHT, OTHER = "31310.0", "4310.0"


@pytest.fixture
def package(tmp_path) -> Path:
    """A copy of the package's sources."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(compiled.PACKAGE, tmp_path / "copy" / "gradrank", ignore=ignored))


def start(program: str, package: Path, **environment) -> subprocess.Popen:
    """`program` on that copy, which it does not write bytecode into; a variable that is None is unset."""
    changed = os.environ | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    kept = {key: str(value) for key, value in changed.items() if value is not None}
    return subprocess.Popen([sys.executable, "-c", program], env=kept, text=True, stdout=subprocess.PIPE)


def output(process: subprocess.Popen) -> str:
    text, _ = process.communicate()
    assert process.returncode == 0
    return text.strip()


def test_an_edited_callee_in_another_file_changes_the_result_and_back(package, tmp_path):
    kept, callee = tmp_path / "cache", package / "data" / "tokens.py"
    source = callee.read_text()

    def read() -> str:
        return output(start(READ, package, NUMBA_CACHE_DIR=kept))

    assert read() == RIGHT
    callee.write_text(source.replace("10_000 * 2**32", "1_000 * 2**32"))
    assert read() == OTHER
    callee.write_text(source)
    before = {path: path.stat().st_mtime_ns for path in kept.glob("*/*.code")}
    assert before and read() == RIGHT
    assert {path: path.stat().st_mtime_ns for path in kept.glob("*/*.code")} == before  # nothing anew


def test_jobs_that_compile_at_the_same_time_for_different_types_stay_apart(package, tmp_path):
    """Numba's own index lets the later of two writers own the file of the earlier."""
    program = (
        "import numpy as np\nfrom gradrank.data.tokens import skip_blanks\n"
        "print(skip_blanks(np.array([32] * 5 + [65], '{0}'), 0))"  # machine code for other numbers stops elsewhere
    )
    kinds = ("u1", "i4", "i8")
    for _ in range(2):  # compiling, then reading what the others left
        jobs = [start(program.format(kind), package, NUMBA_CACHE_DIR=tmp_path) for kind in kinds * 2]
        assert [output(job) for job in jobs] == ["5"] * len(jobs)
    (folder,) = tmp_path.glob("gradrank-*")
    assert len(list(folder.glob("*skip_blanks-*"))) == len(kinds)
    assert all(path.suffix == ".code" for path in folder.iterdir())


def test_a_damaged_file_is_compiled_again(package, tmp_path):
    assert output(start(READ, package, NUMBA_CACHE_DIR=tmp_path)) == RIGHT
    for path in tmp_path.glob("*/*.code"):
        path.write_bytes(path.read_bytes()[:100])
    assert output(start(READ, package, NUMBA_CACHE_DIR=tmp_path)) == RIGHT


def test_a_checkout_that_cannot_be_written_and_a_home_that_does_not_exist(package, tmp_path):
    temporary, home = tmp_path / "temporary", tmp_path / "no" / "home"
    temporary.mkdir()
    before = sorted(package.rglob("*"))
    for path in [package, *before]:
        path.chmod(path.stat().st_mode & 0o555)
    there = {"HOME": home, "TMPDIR": temporary, "NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None}
    assert output(start(READ, package, **there)) == RIGHT
    assert sorted(package.rglob("*")) == before
    assert not home.exists()
    (own,) = temporary.iterdir()
    (folder,) = own.iterdir()
    assert own.name == f"gradrank-{os.getuid()}"
    assert [path.stat().st_mode & 0o777 for path in (own, folder)] == [0o700, 0o700]
    assert list(folder.glob("gradrank.data.tokens.eight_digits-*.code"))


def test_the_folder_is_in_the_users_cache_and_the_users_alone(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "gradrank").mkdir(mode=0o777)
    folder = compiled.folder.__wrapped__()
    assert folder == tmp_path / "gradrank" / compiled.digest()
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}


def test_a_folder_of_another_user_or_a_link_is_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    with pytest.raises(GradrankError, match=r"gradrank-54321: .*another user's; set NUMBA_CACHE_DIR"):
        compiled.folder.__wrapped__()
    monkeypatch.undo()
    (tmp_path / "link").symlink_to(tmp_path / "gradrank-54321")
    with pytest.raises(GradrankError, match="link"):
        compiled._private(tmp_path / "link")


def test_a_chosen_folder_that_cannot_be_made_is_an_error_that_says_so(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(GradrankError, match=r"NUMBA_CACHE_DIR: .*set it to a folder that you can write"):
        compiled.folder.__wrapped__()


def test_a_new_folder_replaces_those_that_nobody_used_for_long(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    now = time.time()
    for name, days in (("gradrank-old", 31), ("gradrank-recent", 29), ("another", 99)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (now, now - days * 24 * 3600))
    folder = compiled.folder.__wrapped__()
    assert {path.name for path in tmp_path.iterdir()} == {folder.name, "gradrank-recent", "another"}


def test_settings_of_numba_are_in_the_digest(monkeypatch):
    before = compiled.digest()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert compiled.digest() == before
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert compiled.digest() != before


@cache
def sources() -> dict[str, ast.Module]:
    paths = sorted(compiled.PACKAGE.rglob("*.py"))
    names = [".".join(path.relative_to(compiled.PACKAGE.parent).with_suffix("").parts) for path in paths]
    return {name: ast.parse(path.read_text()) for name, path in zip(names, paths, strict=True)}


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(each).partition("(")[0] for each in function.decorator_list}


def compiled_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if "compiled" in decorators(function)]


def calls_across_files() -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """((module, function), (module, function)) of each call of a compiled function by one of another file."""
    trees = sources()
    known = {(module, each.name) for module, tree in trees.items() for each in compiled_functions(tree)}
    return [
        ((module, function.name), (node.module, alias.name))
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in known
        for function in compiled_functions(tree)
        if any(isinstance(each, ast.Name) and each.id == alias.name for each in ast.walk(function))
    ]


def test_every_such_callee_is_found():
    """Every call of a compiled function of another file, as an edit of the callee must reach the caller."""
    found = {(caller, name) for (caller, _), (_, name) in calls_across_files()}
    assert {("gradrank.learning.fusing", "order"), ("gradrank.data.scan", "to_float32")} < found
    assert len(found) > 15


def test_only_this_decorator_compiles():
    for module, tree in sources().items():
        imported = {
            name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
        }
        assert module == "gradrank.compiled" or "numba" not in imported, module


def test_all_that_compiled_functions_use_is_in_the_digest():
    """A name from another module of the package is that of a compiled source, and so a change of it is seen."""
    trees = sources()
    marked = {module for module, tree in trees.items() if compiled_functions(tree)}
    assert marked
    for module in marked:
        assert compiled.MARK.decode() in "\n" + ast.unparse(trees[module])
        origin = {
            alias.asname or alias.name: node.module
            for node in trees[module].body
            if isinstance(node, ast.ImportFrom) and node.module.startswith("gradrank")
            for alias in node.names
        }
        for function in compiled_functions(trees[module]):
            body = [node for statement in function.body for node in ast.walk(statement)]
            used = {node.id for node in body if isinstance(node, ast.Name)} & set(origin)
            assert {origin[name] for name in used} <= marked, (module, function.name)


def test_lent_arrays_are_neither_kept_nor_lost():
    text = np.full(1000, ord(" "), np.uint8)
    text[-1] = ord("\n")
    before = sys.getrefcount(text)
    assert [skip_blanks(text, start) for start in range(999)] == [999] * 999
    assert sys.getrefcount(text) == before
