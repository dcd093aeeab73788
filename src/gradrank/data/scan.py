"""LETOR and SVMlight text to arrays: one pass over the bytes, every token checked, compiled.

A buffer is a uint8 array that ends with a newline, so that no loop over a token can leave it.
"""

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.tokens import (
    COLON,
    DOT,
    EXACT,
    HASH,
    LEAST_POWER,
    MINUS,
    NEAR,
    NEWLINE,
    NINE,
    NOT_A_NUMBER,
    POWERS,
    SPACE,
    ZERO,
    decimal,
    ends_token,
    field,
    is_blank,
    is_null,
    last_number,
    line_end,
    may_round_otherwise,
    past,
    six_places,
    skip_blanks,
    to_float32,
    token_end,
    unsigned,
)

QID, DOCID, INC, PROB = (np.frombuffer(word, np.uint8) for word in (b"qid:", b"docid", b"inc", b"prob"))
OK, BAD_QID, BAD_GRADE, BAD_NUMBER, BAD_VALUE, SHORT_ROW, LATE_IS_FULL = range(7)
HIGHEST_GRADE = 31  # gains are 2^grade - 1; LightGBM's table of gains ends here too


@compiled(nogil=True)
def heads(buffer, line_starts, qids, last_numbers):
    """Reads `<grade> qid:<number>` of each line: qids (lines,) int64, -1 where a line has no row.

    last_numbers: (lines,) int64, filled with the number of each row's last feature (0 without any); may be
    empty, which skips that. Returns (code, position), position being the byte that code complains of.
    """
    for line in range(len(line_starts)):
        i = skip_blanks(buffer, line_starts[line])
        qids[line] = -1
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            continue
        i = skip_blanks(buffer, token_end(buffer, i))
        start = i
        i = past(buffer, i, QID)
        if i < 0:
            return BAD_QID, start
        value, end = unsigned(buffer, i)
        if end == i or not ends_token(buffer[end]):
            return BAD_QID, start
        qids[line] = value
        if len(last_numbers):
            last_numbers[line] = last_number(buffer, end)
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
        i = skip_blanks(buffer, i)
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            i = line_end(buffer, i) + 1
            continue
        if late_count + width + 2 > len(late):
            return LATE_IS_FULL, i, 0, nulls, late_count
        value, end, rounding = decimal(buffer, i)
        if rounding != EXACT or not 0 <= value <= HIGHEST_GRADE or value != np.floor(value):
            return BAD_GRADE, i, 0, nulls, late_count
        labels[row] = np.int16(value)
        i = token_end(buffer, skip_blanks(buffer, end))  # past the qid, which `heads` has checked
        last = 0
        while (
            True
        ):  # over the features; written out, since calls for the common case take three times as long
            while buffer[i] == SPACE:
                i += 1
            if buffer[i] == NEWLINE or buffer[i] == HASH:
                break
            if is_blank(buffer[i]):
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
            millionths = six_places(buffer, i)
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
            elif is_null(buffer, first):
                columns[number - 1, row] = np.nan
                nulls += 1
                i = first + 4
            else:
                value, i, rounding = decimal(buffer, first)
                if rounding == NOT_A_NUMBER:
                    return BAD_VALUE, first, number, nulls, late_count
                if rounding == NEAR and may_round_otherwise(value):
                    late[late_count] = number - 1, row, first, i
                    late_count += 1
                columns[number - 1, row] = to_float32(value)
            last = number
        if not sparse and last < width:
            return SHORT_ROW, i, last, nulls, late_count
        docids[row, 0], docids[row, 1], i = field(buffer, i + 1, DOCID) if buffer[i] == HASH else (-1, -1, i)
        for column, key, values in ((width, INC, inc), (width + 1, PROB, prob)):
            first, end, i = field(buffer, i, key)
            values[row] = np.nan
            if first >= 0:
                value, end, rounding = decimal(buffer, first)
                if rounding != NOT_A_NUMBER:
                    values[row] = value
                if rounding == NEAR:
                    late[late_count] = column, row, first, end
                    late_count += 1
        row += 1
        i = line_end(buffer, i) + 1
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
