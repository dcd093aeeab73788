"""The digest of a source file depends on its behaviour, but not on its formatting or the version of Python."""

import textwrap
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.code_digest import parse_source

EVERY_SYNTAX = Path(__file__).with_name("every_syntax.txt")


def parsed(text):
    return parse_source("file.py", textwrap.dedent(text).encode())


def test_the_digest_of_every_construct_is_the_same_under_every_python():
    """The values were computed under Python 3.11 to 3.13. If they change, every committed digest is stale."""
    source = parse_source("file.py", EVERY_SYNTAX.read_bytes())
    assert source.digest[:16] == "6b6d0995065400c8"
    assert source.documented[:16] == "ab5e79e215f2c3e8"


SOURCE = '''
"""A module."""
import math

LIMIT = 1000  # a reason


class Scorer:
    """A class."""

    width: int = 16
    """The width of the scorer."""

    def score(self, x, scale=2.0):
        """A method."""
        first = f"{x!r:>10}"
        if x > LIMIT: return None, 'text'
        return math.sqrt(x) * scale, first


class Empty:
    """Nothing else."""
'''
ALIKE = {
    "comment": ("  # a reason", "  # another\n# and more"),
    "module docstring": ('"""A module."""', '"""Another\n\nof three lines."""'),
    "no module docstring": ('"""A module."""', ""),
    "class docstring": ('"""A class."""', "'''Another.'''"),
    "method docstring": ('"""A method."""', ""),
    "attribute docstring": ('"""The width of the scorer."""', ""),
    "docstring-only body": ('"""Nothing else."""', "pass"),
    "ellipsis body": ('"""Nothing else."""', "..."),
    "quotes": ("'text'", '"text"'),
    "implicit concatenation": ("'text'", '("te" "xt")'),
    "digits": ("1000", "1_000"),
    "base": ("16", "0x10"),
    "float": ("2.0", "2.00"),
    "parentheses": ("math.sqrt(x) * scale, first", "((math.sqrt(x)) * scale, first)"),
    "trailing comma": ("scale=2.0)", "scale=2.0,)"),
    "line breaks": ("if x > LIMIT: return None", "if x > LIMIT:\n            return None"),
    "continuation": ("math.sqrt(x) * scale", "math.sqrt(x) \\\n            * scale"),
    "blank lines": ("\n\n\nclass Empty", "\n\n\n\n\nclass Empty"),
    "carriage returns": ("\n", "\r\n"),
    "byte order mark": ('\n"""A module', '\ufeff\n"""A module'),
    "stray pass": ("        first =", "        pass\n        first ="),
}
UNLIKE = {
    "default": ("scale=2.0", "scale=2.5"),
    "constant": ("LIMIT = 1000", "LIMIT = 1001"),
    "type of a constant": ("scale=2.0", "scale=2"),
    "annotation": ("width: int", "width: float"),
    "no annotation": ("width: int =", "width ="),
    "operator": ("x > LIMIT", "x >= LIMIT"),
    "imported name": ("import math", "import cmath as math"),
    "alias": ("import math", "import math as maths"),
    "decorator": ("    def score", "    @staticmethod\n    def score"),
    "order": ("return math.sqrt(x) * scale", "return scale * math.sqrt(x)"),
    "text": ("'text'", "'Text'"),
    "bytes": ("'text'", "b'text'"),
    "conversion": ("{x!r:>10}", "{x!s:>10}"),
    "format": ("{x!r:>10}", "{x!r:<10}"),
    "debugging text": ("{x!r:>10}", "{x = !r:>10}"),
    "precedence": ("math.sqrt(x) * scale", "math.sqrt(x * scale)"),
    "keyword only": ("x, scale", "x, *, scale"),
    "positional only": ("x, scale=2.0", "x, /, scale=2.0"),
    "global": ("        first =", "        global first\n        first ="),
    "async": ("    def score", "    async def score"),
    "generator": ("        return math", "        yield math"),
    "base class": ("class Scorer:", "class Scorer(Base):"),
    "name": ("first", "last"),
    "statements exchanged": ("import math\n\nLIMIT = 1000", "LIMIT = 1000\n\nimport math"),
    "none": ("None, ", "False, "),
    "future": ("import math", "from __future__ import annotations\nimport math"),
}


@pytest.mark.parametrize("edit", ALIKE)
def test_an_edit_without_a_change_of_behaviour_keeps_the_digest(edit):
    old, new = ALIKE[edit]
    assert old in SOURCE
    assert parsed(SOURCE.replace(old, new)).digest == parsed(SOURCE).digest


def test_every_change_of_behaviour_gives_a_digest_of_its_own():
    assert all(old in SOURCE for old, _ in UNLIKE.values())
    digests = {name: parsed(SOURCE.replace(*edit)).digest for name, edit in UNLIKE.items()}
    digests["unchanged"] = parsed(SOURCE).digest
    assert [name for name, found in digests.items() if [*digests.values()].count(found) > 1] == []


PATTERNS = ("None", "False", "True", "0", "_", "name", "[]", "{}", "()", "{'a': None}", "{**rest}", "[*_]", "str()")


def test_patterns_displays_and_parameters_have_different_digests():
    matches = {parsed(f"match x:\n    case {pattern}: y").digest for pattern in PATTERNS}
    assert len(matches) == len(PATTERNS) - 1  # [] and () are the same pattern
    values = ("[]", "()", "{}", "{**a}", "[a]", "(a,)", "{a}", "f'{a}'", "''", "f'a'", "0", "0.0", "False", "None")
    assert len({parsed(f"x = {value}").digest for value in values}) == len(values)
    functions = ("*, a, b=1", "*, a=1, b", "a, *, b=1", "*a, b=1", "**b", "a, b=None", "a, b")
    assert len({parsed(f"x = lambda {each}: 0").digest for each in functions}) == len(functions)


READING = ("summary = __doc__", "text = fit.__doc__", "text = getattr(fit, '__doc__')", "text = inspect.getsource(fit)")
READING += ("import inspect; text = inspect.getdoc(fit)", "from inspect import getdoc as text_of")
READING += ("schema = Params.model_json_schema()",)


@pytest.mark.parametrize("reading", READING)
def test_code_that_reads_docstrings_is_recognised(reading):
    assert parsed(reading).reads_docstrings


def test_code_that_does_not_read_docstrings_is_recognised():
    assert not parsed(SOURCE).reads_docstrings
    assert not parsed('"""Reads __doc__."""  # getdoc').reads_docstrings


@pytest.mark.parametrize("edit", [name for name in ALIKE if name.endswith("docstring")])
def test_docstrings_count_in_the_documented_digest(edit):
    assert parsed(SOURCE.replace(*ALIKE[edit])).documented != parsed(SOURCE).documented


def test_the_place_of_a_docstring_counts_in_the_documented_digest():
    one = 'def f():\n    "text"\ndef g():\n    pass'
    other = 'def f():\n    pass\ndef g():\n    "text"'
    none = 'def f():\n    pass\n    "text"\ndef g():\n    pass'
    assert len({parsed(text).documented for text in (one, other, none)}) == 3
    assert len({parsed(text).digest for text in (one, other, none)}) == 1


@pytest.mark.parametrize(
    ("content", "line"), [(b"x = 1\ny = (\n", 2), (b"x = 1\nif x:\ny\n", 3), (b"x\x00", 1), (b"\nx = '\xff'", None)]
)
def test_invalid_python_is_refused_with_its_line(content, line):
    with pytest.raises(GradrankError, match=r"file\.py, line \d+") as caught:
        parse_source("file.py", content)
    assert line is None or f"line {line}:" in str(caught.value)


def test_yaml_counts_by_its_content():
    old = parse_source("x.yaml", b"a: 1  # one\nb: [1, 2]\n").digest
    assert parse_source("x.yaml", b"# comment\n'a': 1\nb:\n- 1\n- 2\n").digest == old
    others = (b"a: 2\nb: [1, 2]\n", b"b: [1, 2]\na: 1\n", b"a: '1'\nb: [1, 2]\n", b"a: 1\nb: [2, 1]\n")
    assert old not in {parse_source("x.yaml", text).digest for text in others}
    with pytest.raises(GradrankError, match=r"x\.yaml, line 3"):
        parse_source("x.yaml", b"a: 1\nb: [1\n")


def test_other_files_count_by_their_bytes():
    assert parse_source("x.csv", b"a,b\n").digest != parse_source("x.csv", b"a, b\n").digest
