"""LETOR and SVMlight text to arrays: one pass over the bytes, every token checked, compiled.

A buffer is a uint8 array that ends with a newline, so that no loop over a token can leave it. All is in one
file because Numba's cache on disk does not notice a change to a function that another file defines.
"""

import numpy as np

from gradrank.compiled import compiled

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, MINUS, DOT, ZERO, NINE, COLON, EQUALS = b"\t\n\r #+-.09:="
LOWER_E, UPPER_E, CAPITAL_N, CAPITAL_U, CAPITAL_L = b"eENUL"
QID, DOCID, INC, PROB = (np.frombuffer(word, np.uint8) for word in (b"qid:", b"docid", b"inc", b"prob"))

OK, BAD_QID, BAD_GRADE, BAD_NUMBER, BAD_VALUE, SHORT_ROW, LATE_IS_FULL = range(7)
EXACT, NEAR, NOT_A_NUMBER = range(3)
HIGHEST_GRADE = 31  # gains are 2^grade - 1; LightGBM's table of gains ends here too
LARGEST = np.float32(np.finfo(np.float32).max)
SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)
LEAST_POWER, GREATEST_POWER = -330, 308
POWERS = np.array([float(f"1e{power}") for power in range(LEAST_POWER, GREATEST_POWER + 1)])


@compiled(nogil=True)
def heads(buffer, line_starts, qids, last_numbers):
    """Reads `<grade> qid:<number>` of each line: qids (lines,) int64, -1 where a line has no row.

    last_numbers: (lines,) int64, filled with the number of each row's last feature (0 without any); may be
    empty, which skips that. Returns (code, position), position being the byte that code complains of.
    """
    for line in range(len(line_starts)):
        i = _skip_blanks(buffer, line_starts[line])
        qids[line] = -1
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            continue
        i = _skip_blanks(buffer, _token_end(buffer, i))
        start = i
        i = _after(buffer, i, QID)
        if i < 0:
            return BAD_QID, start
        value, end = _digits(buffer, i)
        if end == i or not _ends_token(buffer[end]):
            return BAD_QID, start
        qids[line] = value
        if len(last_numbers):
            last_numbers[line] = _last_number(buffer, end)
    return OK, 0


@compiled(nogil=True)
def rows(buffer, start, sparse, columns, labels, docids, inc, prob, late):
    """Reads the rows of the whole lines from `start` on.

    columns: (d, n) float32, all zero if sparse; labels: (n,) int16; docids: (n, 2) int64, the bytes of each
    docid, start -1 without one; inc, prob: (n,) float64, NaN without one. `NULL` becomes NaN in `columns`.
    Dense rows must number their features 1..d; sparse ones may leave some out, which are 0.

    late: (capacity, 4) int64, filled with the few numbers whose rounding needs more than 64 bits, as (column,
    row, start, end), with column d for `inc` and d + 1 for `prob`.

    Returns (code, position, number, nulls, late_count): number is that of the last good feature before the
    byte at `position` that `code` complains of; nulls counts the NULL values.
    """
    width = columns.shape[0]
    row = nulls = late_count = 0
    i = start
    while i < len(buffer):
        i = _skip_blanks(buffer, i)
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            i = _line_end(buffer, i) + 1
            continue
        if late_count + width + 2 > len(late):
            return LATE_IS_FULL, i, 0, nulls, late_count
        value, end, rounding = _number(buffer, i)
        if rounding != EXACT or not 0 <= value <= HIGHEST_GRADE or value != np.floor(value):
            return BAD_GRADE, i, 0, nulls, late_count
        labels[row] = np.int16(value)
        i = _token_end(buffer, _skip_blanks(buffer, end))  # past the qid, which `heads` has checked
        last = 0
        while (
            True
        ):  # over the features; written out, since calls for the common case take three times as long
            while buffer[i] == SPACE:
                i += 1
            if buffer[i] == NEWLINE or buffer[i] == HASH:
                break
            if _is_blank(buffer[i]):
                i += 1
                continue
            first, number = i, 0
            while ZERO <= buffer[i] <= NINE:
                number = number * 10 + (buffer[i] - ZERO)
                i += 1
            in_order = last < number <= width if sparse else number == last + 1 <= width
            if not in_order or buffer[i] != COLON or not 1 <= i - first <= 9:
                return BAD_NUMBER, first, last, nulls, late_count
            i += 1
            first = i
            millionths = _six_places(buffer, i)
            if millionths >= 0:
                columns[number - 1, row] = millionths / 1e6  # rounds once, as below
                last = number
                i += 8
                continue
            negative = buffer[i] == MINUS
            if negative:
                i += 1
            mantissa, digits, places = 0, -i, 0
            while ZERO <= buffer[i] <= NINE:
                mantissa = mantissa * 10 + (buffer[i] - ZERO)
                i += 1
            digits += i
            if buffer[i] == DOT:
                i += 1
                places = -i
                while ZERO <= buffer[i] <= NINE:
                    mantissa = mantissa * 10 + (buffer[i] - ZERO)
                    i += 1
                places += i
                digits += places
            if 1 <= digits <= 15 and (buffer[i] == SPACE or buffer[i] == NEWLINE):
                value = mantissa / POWERS[places - LEAST_POWER]  # both exact, so that this rounds once
                columns[number - 1, row] = -value if negative else value
            elif _is_null(buffer, first):
                columns[number - 1, row] = np.nan
                nulls += 1
                i = first + 4
            else:
                value, i, rounding = _number(buffer, first)
                if rounding == NOT_A_NUMBER:
                    return BAD_VALUE, first, number, nulls, late_count
                if rounding == NEAR and _may_round_otherwise(value):
                    late[late_count] = number - 1, row, first, i
                    late_count += 1
                columns[number - 1, row] = _to_float32(value)
            last = number
        if not sparse and last < width:
            return SHORT_ROW, i, last, nulls, late_count
        docids[row, 0], docids[row, 1], i = _field(buffer, i + 1, DOCID) if buffer[i] == HASH else (-1, -1, i)
        for column, key, values in ((width, INC, inc), (width + 1, PROB, prob)):
            first, end, i = _field(buffer, i, key)
            values[row] = np.nan
            if first >= 0:
                value, end, rounding = _number(buffer, first)
                if rounding != NOT_A_NUMBER:
                    values[row] = value
                if rounding == NEAR:
                    late[late_count] = column, row, first, end
                    late_count += 1
        row += 1
        i = _line_end(buffer, i) + 1
    return OK, 0, 0, nulls, late_count


@compiled(nogil=True)
def fill_nulls(columns, offsets):
    """NaN becomes the least value of that feature among the query's documents, or 0 where all are NaN.

    That is how LETOR's own MIN files are made from its NULL files: the missing values are language-model
    scores of documents without any query term, minus infinity in principle (Qin et al. 2010, section 4).
    """
    for column in range(columns.shape[0]):
        values = columns[column]
        for query in range(len(offsets) - 1):
            least = np.float32(np.inf)
            missing = 0
            for row in range(offsets[query], offsets[query + 1]):
                if np.isnan(values[row]):
                    missing += 1
                elif values[row] < least:
                    least = values[row]
            if missing == 0:
                continue
            if missing == offsets[query + 1] - offsets[query]:
                least = np.float32(0)
            for row in range(offsets[query], offsets[query + 1]):
                if np.isnan(values[row]):
                    values[row] = least


@compiled(nogil=True)
def gather(buffer, spans):
    """The bytes of the spans one after the other, and their (n + 1,) int32 offsets."""
    offsets = np.zeros(len(spans) + 1, np.int32)
    for k in range(len(spans)):
        offsets[k + 1] = offsets[k] + spans[k, 1] - spans[k, 0]
    data = np.empty(offsets[-1], np.uint8)
    for k in range(len(spans)):
        for i in range(spans[k, 1] - spans[k, 0]):
            data[offsets[k] + i] = buffer[spans[k, 0] + i]
    return data, offsets


@compiled(nogil=True)
def _six_places(buffer, i):
    """The millionths of a value `d.dddddd` at i, LETOR's usual form; -1 if anything else stands there.

    The eight bytes are checked and added up as one 64-bit word (Lemire 2021, Number parsing at a gigabyte
    per second).
    """
    if i + 8 >= len(buffer):
        return -1
    at, word = np.uint64(i), np.uint64(0)  # unsigned: an index that may be negative costs a test a byte
    for k in range(8):
        word |= np.uint64(buffer[at + np.uint64(k)]) << np.uint64(8 * k)
    point = (word >> np.uint64(8)) & np.uint64(0xFF)
    digits = (word & ~np.uint64(0xFFFF)) | ((word & np.uint64(0xFF)) << np.uint64(8)) | np.uint64(ZERO)
    threes, mask = np.uint64(0x3030303030303030), np.uint64(0xF0F0F0F0F0F0F0F0)
    all_digits = digits & mask == threes and (digits + np.uint64(0x0606060606060606)) & mask == threes
    after = buffer[at + np.uint64(8)]
    if point != DOT or not all_digits or (after != SPACE and after != NEWLINE):
        return -1
    pairs = ((digits & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)
    eight = ((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)
    return np.int64(eight)


@compiled(nogil=True)
def _number(buffer, i):
    """A decimal number at i: (float64, end, rounding).

    EXACT is what float(text) gives: an integer up to 2^53 times or over a power of ten up to 10^22 rounds
    once (Clinger 1990). NEAR is within 4 units in the last place of it. NOT_A_NUMBER is anything else.
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
            if mantissa < np.uint64(10**18):  # 19 digits fit 64 bits; a float64 hardly sees the others
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
        exponent, end = _digits(buffer, i)
        known = end > i
        power += -exponent if down else exponent
        i = end
    if not known or not _ends_token(buffer[i]):
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


@compiled(nogil=True)
def _may_round_otherwise(value):
    """Whether a float64 a few units away could round to another float32.

    float32 drops 29 bits: only half-way patterns matter; outside float32's normal range the answer is yes.
    """
    if not SMALLEST_NORMAL < abs(value) < LARGEST:
        return True
    low = np.array([value]).view(np.int64)[0] & ((1 << 29) - 1)
    return abs(low - (1 << 28)) <= 16


@compiled(nogil=True)
def _to_float32(value):
    """The nearest finite float32: values beyond its range become the largest one, with their sign."""
    if value > LARGEST:
        return LARGEST
    if value < -LARGEST:
        return -LARGEST
    return np.float32(value)


@compiled(nogil=True)
def _digits(buffer, i):
    """(value, end) of an unsigned integer, not more than 18 digits of it; end == i if there is none."""
    value, most = 0, i + 18
    while ZERO <= buffer[i] <= NINE and i < most:
        value = value * 10 + (buffer[i] - ZERO)
        i += 1
    return value, i


@compiled(nogil=True)
def _field(buffer, i, key):
    """`key = token` at i, in a comment: (start and end of the token, or -1 and -1; where to read on)."""
    at = _after(buffer, _skip_blanks(buffer, i), key)
    if at < 0:
        return -1, -1, i
    at = _skip_blanks(buffer, at)
    if buffer[at] != EQUALS:
        return -1, -1, i
    start = _skip_blanks(buffer, at + 1)
    end = start
    while not _is_blank(buffer[end]) and buffer[end] != NEWLINE:
        end += 1
    return (start, end, end) if end > start else (-1, -1, i)


@compiled(nogil=True)
def _last_number(buffer, i):
    """The number of a row's last feature, 0 without any; `rows` checks them all later."""
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
    return _digits(buffer, start)[0]


@compiled(nogil=True)
def _after(buffer, i, word):
    """The position after `word` if it stands at i, else -1."""
    for k in range(len(word)):
        if buffer[i + k] != word[k]:
            return -1
    return i + len(word)


@compiled(nogil=True)
def _is_null(buffer, i):
    return (
        buffer[i] == CAPITAL_N
        and buffer[i + 1] == CAPITAL_U
        and buffer[i + 2] == CAPITAL_L
        and buffer[i + 3] == CAPITAL_L
        and _ends_token(buffer[i + 4])
    )


@compiled(nogil=True)
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled(nogil=True)
def _ends_token(byte):
    return byte in (SPACE, NEWLINE, HASH, TAB, RETURN)


@compiled(nogil=True)
def _skip_blanks(buffer, i):
    while _is_blank(buffer[i]):
        i += 1
    return i


@compiled(nogil=True)
def _token_end(buffer, i):
    while not _ends_token(buffer[i]):
        i += 1
    return i


@compiled(nogil=True)
def _line_end(buffer, i):
    while buffer[i] != NEWLINE:
        i += 1
    return i
