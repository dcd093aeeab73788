"""Compiled parsing of the tokens of LETOR and SVMlight text: numbers, words, blanks, and rows of fixed width.

A buffer is a uint8 array that ends with a newline. Every loop over a token stops at this newline. The buffer is a view
of a longer array, so that up to SPARE bytes after its end may be read. The values of these bytes do not matter.

LETOR's usual form is ` 1:0.031310 2:0.666667 ..`. Such a row has all features in ascending order, separated by single
spaces. Each value has one digit before the point and six digits after it. The number of features therefore determines
the position of every byte after the query id. All bytes are checked at once, in vector registers, and the values are
read from known positions.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, MINUS, DOT, ZERO, NINE, COLON, EQUALS = b"\t\n\r #+-.09:="
LOWER_E, UPPER_E, CAPITAL_N, CAPITAL_U, CAPITAL_L = b"eENUL"
SPARE = 32
EXACT, NEAR, NOT_A_NUMBER = range(3)
LARGEST = np.float32(np.finfo(np.float32).max)
SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)
LEAST_POWER, GREATEST_POWER = -330, 308
ONE = np.uint64(1)
POWERS = np.array([float(f"1e{power}") for power in range(LEAST_POWER, GREATEST_POWER + 1)])


@compiled()
def word_at(buffer, at):
    """Return the eight bytes from position `at` on as a uint64.

    at: uint64, because a signed index would cost one test per byte.
    """
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(buffer[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@compiled()
def eight_digits(word):
    """Return the number with eight decimal digits. word: one digit per byte, with the last digit in the highest byte.

    Only the lower four bits of each byte count. Three multiplications combine the digits (Lemire 2021, "Number parsing
    at a gigabyte per second").
    """
    pairs = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)
    return ((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)


@compiled()
def six_places(buffer, at):
    """Read a number of the form `d.dddddd`, which is usual in LETOR, at position `at`.

    Returns the number in millionths, or -1 if there is no such number.
    """
    word, point = word_at(buffer, at), np.uint64(0xFF00)
    digits = (word & ~np.uint64(0xFFFF)) | ((word << np.uint64(8)) & point) | np.uint64(ZERO)
    threes, mask = np.uint64(0x3030303030303030), np.uint64(0xF0F0F0F0F0F0F0F0)
    all_digits = digits & mask == threes and (digits + np.uint64(0x0606060606060606)) & mask == threes
    after = buffer[at + np.uint64(8)]
    if word & point != np.uint64(DOT << 8) or not all_digits or (after != SPACE and after != NEWLINE):
        return -1
    return np.int64(eight_digits(digits))


@compiled()
def short_decimal(buffer, at):
    """Read a number of at most 15 digits, without an exponent, at position `at`.

    Returns the number as float64 and the position after it. The position is `at` if there is no such number.
    """
    negative, start = buffer[at] == MINUS, at
    if negative:
        at += ONE
    mantissa, first = 0, at
    while ZERO <= buffer[at] <= NINE:
        mantissa = mantissa * 10 + (buffer[at] - ZERO)
        at += ONE
    digits, places = at - first, np.uint64(0)
    if buffer[at] == DOT:
        at += ONE
        first = at
        while ZERO <= buffer[at] <= NINE:
            mantissa = mantissa * 10 + (buffer[at] - ZERO)
            at += ONE
        places = at - first
    if not ONE <= digits + places <= np.uint64(15) or (buffer[at] != SPACE and buffer[at] != NEWLINE):
        return 0.0, start
    value = mantissa / POWERS[places + np.uint64(-LEAST_POWER)]  # both are exact, so the quotient is rounded once
    return -value if negative else value, at


@compiled()
def decimal(buffer, i):
    """Read a decimal number at byte i. Returns the value as float64, the position after it, and the rounding.

    The rounding is EXACT if the value certainly equals float(text): an integer up to 2^53 is multiplied or divided by a
    power of ten up to 10^22, and the result is rounded once (Clinger 1990). The rounding is NEAR if the value
    is within 4 units in the last place of float(text). It is NOT_A_NUMBER if there is no decimal number.
    """
    negative = buffer[i] == MINUS
    if negative or buffer[i] == PLUS:
        i += 1
    mantissa, power, digits, dropped = np.uint64(0), 0, 0, 0
    point = False
    while ZERO <= buffer[i] <= NINE or (buffer[i] == DOT and not point):
        if buffer[i] == DOT:
            point = True
        else:
            digits += 1
            power -= point
            if mantissa < np.uint64(10**18):  # 19 digits fit into 64 bits; further digits hardly change a float64
                mantissa = mantissa * np.uint64(10) + np.uint64(buffer[i] - ZERO)
            else:
                dropped += 1
        i += 1
    power += dropped
    known = digits > 0
    if known and (buffer[i] == LOWER_E or buffer[i] == UPPER_E):
        i += 1
        down = buffer[i] == MINUS
        if down or buffer[i] == PLUS:
            i += 1
        exponent, end = unsigned(buffer, i)
        known = end > i
        power += -exponent if down else exponent
        i = end
    if not known or not ends_token(buffer[i]):
        return 0.0, i, NOT_A_NUMBER
    rounding = EXACT
    if mantissa == 0 or power < LEAST_POWER - 20:
        value = 0.0
    elif power > GREATEST_POWER:
        value = np.inf
    elif dropped == 0 and mantissa <= np.uint64(1 << 53) and abs(power) <= 22:
        value = float(mantissa)
        value = value * POWERS[power - LEAST_POWER] if power >= 0 else value / POWERS[-power - LEAST_POWER]
    else:
        value = float(mantissa) * POWERS[max(power - LEAST_POWER, 0)]
        rounding = NEAR
    return -value if negative else value, i, rounding


@compiled()
def may_round_otherwise(value):
    """Return True if a float64 within a few units in the last place of `value` could round to a different float32.

    Also return True if `value` is outside the range of normal float32 numbers.
    """
    if not SMALLEST_NORMAL < abs(value) < LARGEST:
        return True
    return np.float32(value * (1 - 2.0**-49)) != np.float32(value * (1 + 2.0**-49))


@compiled()
def to_float32(value):
    """Return the nearest finite float32. Values beyond the range become the largest float32 with the same sign."""
    if value > LARGEST:
        return LARGEST
    if value < -LARGEST:
        return -LARGEST
    return np.float32(value)


@compiled()
def unsigned(buffer, i):
    """Read an unsigned integer of at most 18 digits at byte i.

    Returns the value and the position after it. The position is i if there are no digits.
    """
    value, most = 0, i + 18
    while ZERO <= buffer[i] <= NINE and i < most:
        value = value * 10 + (buffer[i] - ZERO)
        i += 1
    return value, i


@compiled()
def field(buffer, i, key, length):
    """Read `key = token` at byte i of a comment.

    key: the bytes of the key as a uint64. length: the number of these bytes.

    Returns the (start, end) of the token, or (-1, -1) if it is absent, and the position at which to continue.
    """
    at = past(buffer, skip_blanks(buffer, i), key, length)
    if at < 0:
        return (-1, -1), i
    at = skip_blanks(buffer, at)
    if buffer[at] != EQUALS:
        return (-1, -1), i
    start = skip_blanks(buffer, at + 1)
    end = start
    while not is_blank(buffer[end]) and buffer[end] != NEWLINE:
        end += 1
    return ((start, end), end) if end > start else ((-1, -1), i)


@compiled()
def last_number(buffer, i):
    """Return the number of the last feature of a row, or 0 if the row has no features.

    Nothing is checked, because `rows` later checks all feature numbers.
    """
    colon = -1
    while buffer[i] != NEWLINE and buffer[i] != HASH:
        if buffer[i] == COLON:
            colon = i
        i += 1
    if colon < 0:
        return 0
    start = colon
    while ZERO <= buffer[start - 1] <= NINE:
        start -= 1
    return unsigned(buffer, start)[0]


@compiled()
def past(buffer, i, key, length):
    """Return the position after the key if the key is at byte i, otherwise -1.

    key: the bytes of the key as a uint64. length: the number of these bytes.
    """
    other = (word_at(buffer, np.uint64(i)) ^ key) << np.uint64(64 - 8 * length)
    return i + length if other == 0 else -1


@compiled()
def same_bytes(buffer, one, other):
    """Return True if two spans (start, end) have the same bytes."""
    if one[1] - one[0] != other[1] - other[0]:
        return False
    for k in range(one[1] - one[0]):  # noqa: SIM110 - Numba has no generators
        if buffer[one[0] + k] != buffer[other[0] + k]:
            return False
    return True


@compiled()
def is_null(buffer, i):
    """Return True if the token at byte i is NULL."""
    return (
        buffer[i] == CAPITAL_N
        and buffer[i + 1] == CAPITAL_U
        and buffer[i + 2] == CAPITAL_L
        and buffer[i + 3] == CAPITAL_L
        and ends_token(buffer[i + 4])
    )


@compiled()
def is_blank(byte):
    """Return True for a space, a tab or a carriage return."""
    return byte in (SPACE, TAB, RETURN)


@compiled()
def ends_token(byte):
    """Return True for a byte that cannot be part of a token."""
    return byte in (SPACE, NEWLINE, HASH, TAB, RETURN)


@compiled()
def skip_blanks(buffer, i):
    """Return the position of the first byte, from byte i on, that is not a blank."""
    while is_blank(buffer[i]):
        i += 1
    return i


@compiled()
def token_end(buffer, i):
    """Return the position after the token at byte i."""
    while not ends_token(buffer[i]):
        i += 1
    return i


@compiled()
def line_end(buffer, i):
    """Return the position of the first newline from byte i on."""
    at, step, length = np.uint64(i), np.uint64(64), np.uint64(len(buffer))
    while at + step <= length:
        found = np.uint8(0)
        for k in range(step):  # without an early exit, because this loop is then vectorised
            found = np.uint8(found | np.uint8(buffer[at + k] == NEWLINE))
        if found:
            break
        at += step
    while buffer[at] != NEWLINE:
        at += np.uint64(1)
    return np.int64(at)


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
