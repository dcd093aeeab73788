"""The public API has docstrings with examples that run, and ships its types."""

import doctest
import re
from pathlib import Path

import pytest

import gradrank

ROOT = Path(__file__).parents[2]
FUNCTIONS = [name for name in gradrank.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_examples_of_a_function_run(name):
    examples = doctest.DocTestFinder(recurse=False).find(getattr(gradrank, name), name)
    assert any(example.examples for example in examples)
    runner = doctest.DocTestRunner()
    for example in examples:
        assert runner.run(example).failed == 0


def test_the_package_is_marked_as_typed():
    assert (Path(gradrank.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_python_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRADRANK_CACHE", str(tmp_path))
    text = (ROOT / page).read_text(encoding="utf-8")
    ((code, output),) = re.findall("```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    exec(compile(code, page, "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out
    assert "ndcg@10" in printed.lower() and output in ("", printed)
