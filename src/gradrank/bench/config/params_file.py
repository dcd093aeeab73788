"""Reader of params.yaml and of the settings of studies that reports faults in the YAML with their line and column.

A duplicate key is an error here. Other YAML readers, including Snakemake's, silently use the last value.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gradrank.base.errors import GradrankError

MOST_VALUES = 100_000


def read(path: Path | str, may_be_empty: bool = False) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    may_be_empty: whether a file without values is an empty mapping.
    Raises GradrankError if the file cannot be read. The message has the file and, if known, the line and the column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise GradrankError(f"{path}: no such file. Fix: run the command in the project's folder") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise GradrankError(f"{path}, line {line}: not UTF-8 text. Fix: save the file as UTF-8") from None
    if Path(path).suffix == ".json":
        text = text.replace("\t", " ")  # JSON allows tabs between values, but YAML does not
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        if _size(root, {}) > MOST_VALUES:
            raise GradrankError(
                f"{path}: more than {MOST_VALUES:,} values, including values that aliases (`*name`) repeat"
            )
        faults = _duplicate_keys(root) or _ambiguous_numbers(root)
        values = None if faults or not root else yaml.SafeLoader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise GradrankError(f"{path}, {_fault(error)}") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise GradrankError(
            f"{path}, line {line}: YAML does not allow the character {chr(error.character)!r}"
        ) from None
    except RecursionError:
        raise GradrankError(f"{path}: nested too deeply") from None
    except ValueError as error:  # an impossible date or number
        raise GradrankError(f"{path}: a value cannot be read ({error}). Fix: put it in quotes") from None
    if faults:
        raise GradrankError("\n".join([f"{path}:", *(f"  {fault}" for fault in faults)]))
    if root is None and may_be_empty:
        return {}
    if not isinstance(values, dict):
        raise GradrankError(f"{path}: expected keys and their values, such as `seed: 2005`")
    return values


def _size(node: yaml.Node | None, sizes: dict[int, float]) -> float:
    """Return the number of values in a node, with every alias written out; infinity if the node contains itself."""
    if id(node) not in sizes:
        sizes[id(node)] = math.inf  # used if the recursion meets the same node again
        items = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = (item if isinstance(item, tuple) else (item,) for item in items)
        sizes[id(node)] = 1 + sum(_size(child, sizes) for pair in pairs for child in pair)
    return sizes[id(node)]


def _duplicate_keys(root: yaml.Node | None) -> list[str]:
    """Return one message per duplicate key, such as `models.lambdamart: given in line 3 and again in line 9`."""
    waiting, visited, faults = [("", root)], set(), []
    while waiting:
        prefix, node = waiting.pop()
        if id(node) in visited:  # an alias
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(f"{prefix}{number}.", item) for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            waiting += [(f"{prefix}{key.value}.", value) for key, value in node.value]
            faults += [(line, f"{prefix}{text}") for line, text in _duplicate_keys_of(node)]
    return [text for _, text in sorted(faults)]


def _ambiguous_numbers(root: yaml.Node | None) -> list[str]:
    """Return a fault for each number that YAML 1.1 does not read as a decimal number: 1:30 is 90, and 010 is 8."""
    faults, waiting, visited = [], [root] if root else [], set()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif node.tag.endswith((":int", ":float")) and re.search(r":|^[-+]?0[0-9_]+$", node.value):
            line = node.start_mark.line + 1
            faults.append(
                (line, f"line {line}: YAML does not read {node.value} as a decimal number; write a plain number")
            )
    return [text for _, text in sorted(faults)]


def _duplicate_keys_of(mapping: yaml.MappingNode) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for each duplicate key of one mapping."""
    first: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (key.tag, key.value) in first:
            yield (
                line,
                f"{key.value}: given in line {first[key.tag, key.value]} and again in line {line}; merge both into one",
            )
        first.setdefault((key.tag, key.value), line)


def _fault(error: yaml.MarkedYAMLError) -> str:
    """Return a message such as `line 3, column 7: not YAML: expected ':'`.

    If the parser reports which construct it was reading, the message says in which line this construct begins.
    """
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    context = f" ({error.context}" if error.context else ""
    if context and mark and error.context_mark and error.context_mark.line != mark.line:
        context += f" that begins in line {error.context_mark.line + 1}"
    return f"{where}not YAML: {error.problem or 'unreadable'}{context}{')' if context else ''}"
