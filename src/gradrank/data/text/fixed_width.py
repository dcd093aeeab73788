"""Rows in LETOR's usual form, ` 1:0.031310 2:0.666667 ..`: features 1 to d, each value d.dddddd, a space before each.

Behind its query id such a row has every byte at a place that is known from d. So all of them are checked at once, in
wide registers, and its values are read from where they stand, without looking for where they end.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.text.tokens import eight_digits, ends_token, word_at

DIGITS = (0, 2, 3, 4, 5, 6, 7)  # of a value d.dddddd


class FixedWidthForm(NamedTuple):
    """The bytes of a row's features: each is at least `least`, by `spread` more at most, both (bytes,) uint8.

    places: (d,) uint64, where the values start.
    """

    least: np.ndarray
    spread: np.ndarray
    places: np.ndarray


@cache
def fixed_width_form(width: int) -> FixedWidthForm:
    numbers = np.arange(1, width + 1)
    lengths = 10 + np.char.str_len(numbers.astype(str))
    text = "".join(f" {number}:0.000000" for number in range(1, width + 1)).encode()
    places = np.cumsum(lengths) - 8
    spread = np.zeros(len(text), np.uint8)
    spread[np.add.outer(places, DIGITS)] = 9
    return FixedWidthForm(np.frombuffer(text, np.uint8), spread, places.astype(np.uint64))


@compiled()
def is_usual(buffer, i, least, spread):
    """Whether the bytes from i on are a row's features in the usual form."""
    at, length = np.uint64(i), np.uint64(len(least))
    if at + length >= len(buffer) or not ends_token(buffer[at + length]):
        return False
    other = np.uint8(0)
    for k in range(length):  # a sum in uint8, for a wider one would fill the registers with zeros
        other = np.uint8(other | np.uint8(np.uint8(buffer[at + k] - least[k]) > spread[k]))
    return other == 0


@compiled()
def usual_values(buffer, i, places, columns, row):
    """Reads the values of a row in the usual form from i on into columns (d, n) float32."""
    at, row = np.uint64(i), np.uint64(row)
    for column in range(np.uint64(len(places))):
        columns[column, row] = millionths(word_at(buffer, at + places[column])) / np.float32(1e6)


@compiled()
def millionths(word):
    """d.dddddd, eight bytes as one word, in millionths, as float32: seven digits and 10^6 are exact there.

    So that their quotient rounds once, to what the float64 would round to: float64 has more than twice the digits
    (Figueroa 1995, When is double rounding innocuous?).
    """
    point = np.uint64(0xFFFF)
    return np.float32(np.int64(eight_digits((word & ~point) | ((word << np.uint64(8)) & point))))
