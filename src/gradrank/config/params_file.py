"""params.yaml as text: read so that each fault of the YAML is named by its line and column.

A key given twice is a fault here: YAML's readers, Snakemake's among them, take the last one without a word.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gradrank.base.errors import GradrankError

MOST_VALUES = 100_000


def read(path: Path | str) -> dict[str, Any]:
    """The mapping that a YAML file holds. Raises GradrankError naming the file, and line and column where known."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise GradrankError(f"{path}: no such file; run in the project's folder") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise GradrankError(f"{path}, line {line}: not UTF-8 text; store the file as UTF-8") from None
    if Path(path).suffix == ".json":
        text = text.replace("\t", " ")  # the one thing of JSON that is not YAML
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        if _size(root, {}) > MOST_VALUES:
            raise GradrankError(f"{path}: more than {MOST_VALUES:,} values, with what its aliases (`*name`) repeat")
        twice = _twice(root) or _misread(root)
        values = None if twice or not root else yaml.SafeLoader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise GradrankError(f"{path}, {_fault(error)}") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise GradrankError(f"{path}, line {line}: a character that YAML has not: {chr(error.character)!r}") from None
    except RecursionError:
        raise GradrankError(f"{path}: not YAML of parameters: nested too deeply") from None
    except ValueError as error:  # of a date or number that is none
        raise GradrankError(f"{path}: a value that cannot be read: {error}; put it in quotes") from None
    if twice:
        raise GradrankError("\n".join([f"{path}:", *(f"  {fault}" for fault in twice)]))
    if not isinstance(values, dict):
        raise GradrankError(f"{path}: expected keys and their values, such as `seed: 2005`")
    return values


def _size(node: yaml.Node | None, known: dict[int, float]) -> float:
    """How many values a node stands for, aliases written out; infinite of one that holds itself."""
    if id(node) not in known:
        known[id(node)] = math.inf  # until it is known: whoever asks meanwhile is inside of it
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = (each if isinstance(each, tuple) else (each,) for each in inside)
        known[id(node)] = 1 + sum(_size(each, known) for pair in pairs for each in pair)
    return known[id(node)]


def _twice(root: yaml.Node | None) -> list[str]:
    """`models.lambdamart: given in line 3 and again in line 9`, of each key that a mapping has more than once."""
    waiting, seen, faults = [("", root)], set(), []
    while waiting:
        prefix, node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(f"{prefix}{number}.", each) for number, each in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            waiting += [(f"{prefix}{key.value}.", value) for key, value in node.value]
            faults += [(line, f"{prefix}{text}") for line, text in _twice_in(node)]
    return [text for _, text in sorted(faults)]


def _misread(root: yaml.Node | None) -> list[str]:
    """Numbers that YAML 1.1 takes for others than they seem to be: 1:30 is 90, and 010 is 8."""
    faults, waiting, seen = [], [root] if root else [], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif node.tag.endswith((":int", ":float")) and re.search(r":|^[-+]?0[0-9_]+$", node.value):
            line = node.start_mark.line + 1
            faults.append((line, f"line {line}: YAML reads {node.value} as another number; write a plain one"))
    return [text for _, text in sorted(faults)]


def _twice_in(mapping: yaml.MappingNode) -> Iterator[tuple[int, str]]:
    """Of one mapping: the line where a key comes again, and what to say of it."""
    first: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (key.tag, key.value) in first:
            yield (
                line,
                f"{key.value}: given in line {first[key.tag, key.value]} and again in line {line}; "
                "keep one of them, with what both hold",
            )
        first.setdefault((key.tag, key.value), line)


def _fault(error: yaml.MarkedYAMLError) -> str:
    """`line 3, column 7: not YAML: expected ':'`, and what began earlier and is not complete."""
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    context = f" ({error.context}" if error.context else ""
    if context and error.context_mark and error.context_mark.line != mark.line:
        context += f" that begins in line {error.context_mark.line + 1}"
    return f"{where}not YAML: {error.problem or 'unreadable'}{context}{')' if context else ''}"
