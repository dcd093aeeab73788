"""Parsing of rows in LETOR's usual form, ` 1:0.031310 2:0.666667 ..`.

Such a row has all features in ascending order, separated by single spaces. Each value has one digit before the point
and six digits after it. The number of features therefore determines the position of every byte after the query id. All
bytes are checked at once, in vector registers, and the values are read from known positions.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.text.tokens import eight_digits, ends_token, word_at

DIGITS = (0, 2, 3, 4, 5, 6, 7)  # positions of the digits in a value such as 0.031310


class FixedWidthForm(NamedTuple):
    """The bytes of the d features of a row in the usual form.

    Parameters
    ----------
    least, spread
        (bytes,) uint8. Each byte must be from `least` to `least + spread`.
    places
        (d,) uint64 positions at which the values start.
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
    """Return True if the bytes from byte i on are the features of a row in the usual form."""
    at, length = np.uint64(i), np.uint64(len(least))
    if at + length >= len(buffer) or not ends_token(buffer[at + length]):
        return False
    other = np.uint8(0)
    for k in range(length):  # uint8, because fewer integers of a larger type fit into a vector register
        other = np.uint8(other | np.uint8(np.uint8(buffer[at + k] - least[k]) > spread[k]))
    return other == 0


@compiled()
def usual_values(buffer, i, places, columns, row):
    """Read the values of a row in the usual form, from byte i on, into column `row` of `columns`, (d, n) float32."""
    at, row = np.uint64(i), np.uint64(row)
    for column in range(np.uint64(len(places))):
        columns[column, row] = millionths(word_at(buffer, at + places[column])) / np.float32(1e6)


@compiled()
def millionths(word):
    """Return a value such as 0.031310 in millionths, as float32. word: the eight bytes of the value.

    A number of seven digits and 10^6 are both exact in float32, so their quotient is rounded once. The result is the
    same as for a quotient in float64 that is rounded to float32, because float64 has more than twice as many digits
    (Figueroa 1995, "When is double rounding innocuous?").
    """
    point = np.uint64(0xFFFF)
    return np.float32(np.int64(eight_digits((word & ~point) | ((word << np.uint64(8)) & point))))
