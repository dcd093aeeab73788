"""Parsing of rows in LETOR's usual form, ` 1:0.031310 2:0.666667 ..`.

Such a row has features 1 to d, separated by single spaces, and each value has the form d.dddddd. The position of every
byte after the query id therefore follows from d: all bytes are checked at once, in vector registers, and the values are
read from their positions without searching for their ends.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.text.tokens import eight_digits, ends_token, word_at

DIGITS = (0, 2, 3, 4, 5, 6, 7)  # positions of the digits in a value d.dddddd


class FixedWidthForm(NamedTuple):
    """The bytes of a row's features in the usual form.

    Parameters
    ----------
    least, spread
        (bytes,) uint8: each byte is from `least` to `least + spread`.
    places
        (d,) uint64: the positions at which the values start.
    """

    least: np.ndarray
    spread: np.ndarray
    places: np.ndarray


@cache
def fixed_width_form(width: int) -> FixedWidthForm:
    """Return the usual form of rows with `width` features."""
    numbers = np.arange(1, width + 1)
    lengths = 10 + np.char.str_len(numbers.astype(str))
    text = "".join(f" {number}:0.000000" for number in range(1, width + 1)).encode()
    places = np.cumsum(lengths) - 8
    spread = np.zeros(len(text), np.uint8)
    spread[np.add.outer(places, DIGITS)] = 9
    return FixedWidthForm(np.frombuffer(text, np.uint8), spread, places.astype(np.uint64))


@compiled()
def is_usual(buffer, i, least, spread):
    """Return True if the bytes from i on are the features of a row in the usual form."""
    at, length = np.uint64(i), np.uint64(len(least))
    if at + length >= len(buffer) or not ends_token(buffer[at + length]):
        return False
    other = np.uint8(0)
    for k in range(length):  # accumulated in uint8, because wider integers would fill the vector registers with zeros
        other = np.uint8(other | np.uint8(np.uint8(buffer[at + k] - least[k]) > spread[k]))
    return other == 0


@compiled()
def usual_values(buffer, i, places, columns, row):
    """Read the values of a row in the usual form, from i on, into `columns`, (d, n) float32."""
    at, row = np.uint64(i), np.uint64(row)
    for column in range(np.uint64(len(places))):
        columns[column, row] = millionths(word_at(buffer, at + places[column])) / np.float32(1e6)


@compiled()
def millionths(word):
    """Return the value d.dddddd, eight bytes in one word, in millionths, as float32.

    Seven digits and 10^6 are exact in float32. Their quotient therefore rounds once, to the same float32 as a quotient
    in float64 would, because float64 has more than twice the digits (Figueroa 1995, "When is double rounding
    innocuous?").
    """
    point = np.uint64(0xFFFF)
    return np.float32(np.int64(eight_digits((word & ~point) | ((word << np.uint64(8)) & point))))
