"""Functions that Numba compiles: their arguments, their signatures, and the files in the digest of their cache."""

import ast
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from gradrank.base.compiled import CompiledFunction, compiled
from gradrank.base.processor import MARK, PACKAGE


@compiled()
def doubled(x):
    return 2.0 * x


@compiled("f8[:], i8, f8[:] out")
def fill(values, shift, out):
    for i in range(len(values)):
        out[i] = doubled(values[i]) + shift


ARGUMENTS = {
    "as stated": np.arange(3.0),
    "integers": np.arange(3),
    "single precision": np.arange(3, dtype=np.float32),
    "not contiguous": np.arange(6.0)[::2] / 2.0,
    "booleans": np.array([False, True, True]),
    "a list": [0.0, 1.0, 2.0],
}


@pytest.mark.parametrize("values", ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_that_are_only_read_are_converted(values):
    out = np.zeros(3)
    fill(values, 1, out)
    np.testing.assert_array_equal(out, 2.0 * np.asarray(values, float) + 1.0)


def test_read_only_arrays_are_accepted():
    values, out = np.arange(3.0), np.zeros(3)
    values.flags.writeable = False
    fill(values, 0, out)
    np.testing.assert_array_equal(out, [0.0, 2.0, 4.0])


def test_an_array_that_is_written_to_is_never_copied():
    """For an output of another type, the function is compiled again, as Numba does without a signature."""
    out = np.zeros(3, np.float32)
    fill(np.arange(3.0), 0, out)
    np.testing.assert_array_equal(out, [0.0, 2.0, 4.0])
    spaced = np.zeros(6)
    fill(np.arange(3.0), 0, spaced[::2])
    np.testing.assert_array_equal(spaced, [0.0, 0.0, 2.0, 0.0, 4.0, 0.0])


def test_a_wrong_number_of_arguments_is_an_error():
    with pytest.raises(ValueError, match="argument"):
        fill(np.arange(3.0), 0)


# Each function runs interpreted, and then compiled because its elements are used up.
BOTH = """
import sys
import numpy as np
from gradrank.base import compiled
from gradrank.data.order import order
from gradrank.measures import ranking
random, highest = np.random.default_rng(0), 4
sizes = random.integers(1, 80, 40)
offsets = np.append(0, np.cumsum(sizes))
grades = random.integers(0, highest + 1, offsets[-1])
kinds = {
    "numbers": random.normal(size=len(grades)),
    "ties": np.round(random.normal(size=len(grades))),
    "extremes": random.choice([0.0, -0.0, np.inf, 5e-324, 1e308, -1.0, 1 / 3], len(grades)),
}
arguments = [(values, offsets) for values in kinds.values()]
def results():
    for name, function in functions.items():
        for each in [(grades, offsets, highest)] if name == "sorted_grades" else arguments:
            yield function(*each).tobytes()
functions = {name: each for name, each in vars(ranking).items() if getattr(each, "interpreted", 0)} | {"order": order}
with np.errstate(all="ignore"):
    interpreted = list(results())
    assert "numba" not in sys.modules
    for function in functions.values():
        function.interpreted = 0
    assert list(results()) == interpreted and "numba" in sys.modules
print(len(functions), len(interpreted))
"""


def test_interpreted_and_compiled_functions_return_equal_bytes():
    done = subprocess.run([sys.executable, "-W", "error", "-c", BOTH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    functions, results = map(int, done.stdout.split())
    assert functions > 4 and results > functions


def test_after_the_elements_for_python_the_function_is_compiled():
    """Training calls `order` once per step, so an interpreted `order` must not stay."""
    program = (
        "import sys, numpy as np; from gradrank.data.order import order\n"
        "scores, offsets = np.zeros(10_000), np.arange(0, 10_001, 10)\n"
        "order(scores, offsets); assert 'numba' not in sys.modules\n"
        "for _ in range(20):\n    order(scores, offsets)\n"
        "assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_every_module_of_compiled_functions_imports_no_numba():
    names = [name for name, tree in sources().items() if compiled_functions(tree)]
    assert len(names) > 20
    program = f"import sys, {', '.join(names)}; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@cache
def sources() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in paths]
    return {name: ast.parse(path.read_text()) for name, path in zip(names, paths, strict=True)}


def decorated(function: ast.FunctionDef) -> ast.Call | None:
    """Return the call of `compiled` that decorates the function, or None."""
    calls = [node for node in function.decorator_list if isinstance(node, ast.Call)]
    return next((call for call in calls if ast.unparse(call.func) == "compiled"), None)


def compiled_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and decorated(node)]


def names_in(nodes: list[ast.stmt]) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return {local name: (module, name)} of all names that a module imports from the package."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gradrank")
        for alias in node.names
    }


def test_functions_that_python_calls_state_their_signature():
    """A function without a signature would be compiled in every process."""
    trees = sources()
    without = {
        (module, each.name)
        for module, tree in trees.items()
        for each in compiled_functions(tree)
        if not decorated(each).args
    }
    for module, tree in trees.items():
        known = imported(tree) | {each.name: (module, each.name) for each in compiled_functions(tree)}
        inside = {id(node) for each in compiled_functions(tree) for node in ast.walk(each)}
        called = {
            known[node.id]
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id in known and id(node) not in inside
        }
        assert not called & without, module


def test_signatures_name_every_parameter():
    for module, tree in sources().items():
        namespace = __import__(module, fromlist=["*"]) if compiled_functions(tree) else None
        for each in compiled_functions(tree):
            function = getattr(namespace, each.name)
            assert isinstance(function, CompiledFunction)
            if function.parameters is not None:
                assert len(function.parameters) == len(each.args.args), (module, each.name)


def test_the_digest_covers_all_names_that_compiled_functions_use():
    """Names from other modules of the package come from files with MARK, which the digest covers."""
    trees = sources()
    marked = {module for module, tree in trees.items() if compiled_functions(tree)}
    for module in marked:
        assert MARK.decode() in "\n" + ast.unparse(trees[module])
        origin = {name: source for name, (source, _) in imported(trees[module]).items()}
        for function in compiled_functions(trees[module]):
            used = names_in(function.body) & set(origin)
            assert {origin[name] for name in used} <= marked, (module, function.name)
