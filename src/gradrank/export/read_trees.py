"""Trees, and JSON texts, that were read from the files of other programs, with clear errors.

Only readers use this module. It shares no code with the writers, so that an error of one does not hide in the other.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gradrank.base.errors import GradrankError

TOO_LARGE = 2.0**128 - 2.0**103  # the smallest number that is infinite as float32
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?")


class Malformed(GradrankError):
    """A file that is not of its format."""


@dataclass(frozen=True)
class ReadLeaf:
    """A leaf: the value of the documents that reach it."""

    value: np.float32


@dataclass(frozen=True)
class ReadSplit:
    """An inner node. left, right: the unparsed children."""

    feature: int
    threshold: np.float32
    left: Any
    right: Any
    missing_left: bool = False


@dataclass(frozen=True)
class ReadTree:
    """A tree in arrays. Node 0 is the root.

    feature: (m,) columns of the features; -1 for a leaf. threshold, value: (m,) float32. left, right: (m,) numbers of
    the children. missing_left: (m,) bool.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray

    @staticmethod
    def of(root: Any, parse: Callable[[Any], ReadLeaf | ReadSplit]) -> "ReadTree":
        """Build from the unparsed root and a function that parses one node."""
        rows: list[list[Any]] = [[]]
        stack = [(root, 0)]
        while stack:
            unparsed, number = stack.pop()
            node = parse(unparsed)
            if isinstance(node, ReadLeaf):
                rows[number] = [-1, 0.0, -1, -1, False, node.value]
                continue
            left, right = len(rows), len(rows) + 1
            rows[number] = [node.feature, node.threshold, left, right, node.missing_left, 0.0]
            rows += [[], []]
            stack += [(node.left, left), (node.right, right)]
        types = (np.intp, np.float32, np.intp, np.intp, np.bool_, np.float32)
        return ReadTree(*(np.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)))

    def outputs(self, features: np.ndarray, goes_left: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the (n,) float32 values of the leaves that (n, d) float32 features reach.

        goes_left: function of (k,) values and of the (k,) thresholds of their nodes. A missing value (NaN) does not ask
        this function.
        """
        node = np.zeros(len(features), np.intp)
        rows = np.flatnonzero(self.feature[node] >= 0)
        while len(rows):
            at = node[rows]
            values = features[rows, self.feature[at]]
            left = np.where(np.isnan(values), self.missing_left[at], goes_left(values, self.threshold[at]))
            node[rows] = np.where(left, self.left[at], self.right[at])
            rows = rows[self.feature[node[rows]] >= 0]
        return self.value[node]


def float32_of(text: str, what: str) -> np.float32:
    """Return a decimal number, which may end with the suffix f of Java, as float32. Raises Malformed."""
    if not NUMBER.fullmatch(text):
        raise Malformed(f"{what} is {text!r}, not a number")
    return finite_float32(float(text.rstrip("fFdD")), what)


def finite_float32(number: float, what: str) -> np.float32:
    """Return the number as float32. Raises Malformed if it is not finite."""
    if not abs(number) < TOO_LARGE:
        raise Malformed(f"{what} is outside of the range of float32, or not a number")
    return np.float32(number)


def parsed_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises Malformed if the text is not JSON, contains NaN or an infinite number, repeats a key in an object, or is
    nested too deeply.
    """
    try:
        return json.loads(path.read_text("utf-8"), parse_constant=_refuse, object_pairs_hook=_unique)
    except RecursionError:
        raise Malformed("the values are nested too deeply") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(f"not a JSON text ({error})") from None
    except ValueError as error:  # an integer of more than 4300 digits
        raise Malformed(str(error)) from None


def shown(value: Any) -> str:
    """Return a short text about a JSON value for an error message."""
    return f"a {type(value).__name__}" if isinstance(value, (dict, list)) else repr(value)[:60]


def _refuse(constant: str) -> NoReturn:
    raise Malformed(f"{constant} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(result := dict(pairs)) < len(pairs):
        raise Malformed("a key occurs twice in an object")
    return result
