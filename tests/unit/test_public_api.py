"""The public API has docstrings with examples that run, and ships its types."""

import doctest
from pathlib import Path

import pytest

import gradrank

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
