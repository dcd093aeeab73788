"""`import gradrank` is fast and changes nothing, whatever was imported before or is imported after it."""

import os
import subprocess
import sys

import pytest

from gradrank.base.processor import PINS

NUMERIC = ("numpy", "torch", "lightgbm")
# Describe everything that an import could change for other packages.
STATE = """
import logging, os, random, signal, sys, threading, warnings
def state():
    pools = []
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_info
        pools = sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())
    torch = sys.modules.get("torch")
    threads = None if torch is None else (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
    errors = None if "numpy" not in sys.modules else sys.modules["numpy"].geterr()
    return (dict(os.environ), list(warnings.filters), pools, threads, errors, threading.active_count(),
            list(logging.getLogger().handlers), list(sys.meta_path), list(sys.path_hooks), signal.getsignal(2),
            random.getstate(), sys.excepthook, {name for name in sys.modules if not name.startswith("gradrank")})
"""
# Modules of the standard library that `import gradrank` itself may load.
OWN = {"importlib", "typing", "_typing"}


def run(code: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in PINS}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


ORDERS = [(), *((name,) for name in NUMERIC), NUMERIC, NUMERIC[::-1]]


@pytest.mark.parametrize("first", ORDERS, ids=" ".join)
def test_importing_gradrank_after_other_packages_changes_nothing(first):
    imports = "".join(f"import {name}\n" for name in first)
    run(
        f"import warnings; warnings.simplefilter('default')\n{imports}{STATE}before = state()\nimport gradrank\n"
        "after = state()\nassert before[:-1] == after[:-1], (before[:-1], after[:-1])\n"
        "new = {name.partition('.')[0] for name in after[-1] - before[-1]}\n"
        f"assert new <= {OWN!r}, new"
    )


@pytest.mark.parametrize("name", NUMERIC)
def test_packages_that_are_imported_after_gradrank_have_their_own_settings(name):
    show = f"{STATE}print(state()[:-1][2:5])"
    prefix = "import warnings; warnings.simplefilter('default')\n"
    assert run(f"{prefix}import gradrank\nimport {name}\n{show}") == run(f"{prefix}import {name}\n{show}")


def test_the_public_names_are_listed_before_they_are_imported():
    check = (
        "import gradrank, sys; assert set(gradrank.__all__) <= set(dir(gradrank)); assert 'numpy' not in sys.modules"
    )
    run(check)


def test_the_library_needs_no_module_that_only_unix_has(tmp_path):
    for name in ("fcntl", "resource", "termios"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no module {name}')\n")
    run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import gradrank, numpy\n"
        "X, y, qid = numpy.arange(40.0).reshape(20, 2), [0, 1, 2, 0] * 5, numpy.repeat(range(5), 4)\n"
        "ranker = gradrank.Ranker('regression', random_state=0).fit(X, y, qid=qid)\n"
        "gradrank.evaluate(y, ranker.predict(X), qid=qid), gradrank.models(), gradrank.load_dataset, gradrank.compare\n"
        "try:\n    import fcntl\nexcept ImportError:\n    pass\nelse:\n    raise AssertionError('fcntl was imported')\n"
    )
