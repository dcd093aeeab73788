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
    same_bytes,
    six_places,
    skip_blanks,
    to_float32,
    token_end,
    unsigned,
)

QID, DOCID, INC, PROB = (np.frombuffer(word, np.uint8) for word in (b"qid:", b"docid", b"inc", b"prob"))
OK, BAD_QID, BAD_GRADE, BAD_NUMBER, BAD_VALUE, SHORT_ROW, LATE_IS_FULL, RARE_VALUE = range(8)
ONE = np.uint64(1)
HIGHEST_GRADE = 31  # gains are 2^grade - 1; LightGBM's table of gains ends here too


@compiled(nogil=True)
def heads(buffer, line_starts, qids, last_numbers, names):
    """Reads `<grade> qid:<query>` of each line: qids (lines,) int64, -1 where a line has no row.

    last_numbers: (lines,) int64, filled with the number of each row's last feature (0 without any); may be
    empty, which skips that. names: (lines, 2) int64, filled with the bytes of each query's id, which may then be any
    text: `qids` has the same number for neighbouring rows of one id, 0, 1, ..; empty: ids are whole numbers.
    Returns (code, position), position being the byte that code complains of.
    """
    run, before = -1, (0, 0)
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
        if len(names):
            end = token_end(buffer, i)
            if run < 0 or not same_bytes(buffer, before, (i, end)):
                run += 1
            before = i, end
            names[line] = before
            value = run
        else:
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
    row = nulls = late_count = 0
    i = start
    while i < len(buffer):
        i = skip_blanks(buffer, i)
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            i = line_end(buffer, i) + 1
            continue
        if late_count + len(columns) + 2 > len(late):
            return LATE_IS_FULL, i, 0, nulls, late_count
        value, end, rounding = decimal(buffer, i)
        if rounding != EXACT or not 0 <= value <= HIGHEST_GRADE or value != np.floor(value):
            return BAD_GRADE, i, 0, nulls, late_count
        labels[row] = np.int16(value)
        end = token_end(buffer, skip_blanks(buffer, end))  # past the qid, which `heads` has checked
        code, i, number, nulls = features(buffer, end, 0, sparse, columns, row, nulls)
        while code == RARE_VALUE:
            value, end, rounding = decimal(buffer, i)
            if rounding == NOT_A_NUMBER:
                return BAD_VALUE, i, number, nulls, late_count
            if rounding == NEAR and may_round_otherwise(value):
                late[late_count] = number - 1, row, i, end
                late_count += 1
            columns[number - 1, row] = to_float32(value)
            code, i, number, nulls = features(buffer, end, number, sparse, columns, row, nulls)
        if code != OK:
            return code, i, number, nulls, late_count
        i, late_count = comment(buffer, i, len(columns), docids, inc, prob, row, late, late_count)
        row += 1
        i = line_end(buffer, i) + 1
    return OK, 0, 0, nulls, late_count


@compiled(nogil=True)
def features(buffer, i, last, sparse, columns, row, nulls):
    """Reads a row's features after number `last`, from i on: (code, position, number, nulls), as `rows` has them.

    With OK, `position` is that of the row's comment or end; with RARE_VALUE, that of the value of feature
    `number`, left to the caller for its form. The common forms are written out: a call of a function with a loop
    counts the uses of its arrays, which takes longer than to read a value.
    """
    at, row = np.uint64(i), np.uint64(row)  # unsigned: an index that may be negative costs a test a byte
    while True:
        while buffer[at] == SPACE:
            at += ONE
        if buffer[at] == NEWLINE or buffer[at] == HASH:
            break
        if is_blank(buffer[at]):
            at += ONE
            continue
        first, number = at, 0
        while ZERO <= buffer[at] <= NINE:
            number = number * 10 + (buffer[at] - ZERO)
            at += ONE
        in_order = last < number <= len(columns) if sparse else number == last + 1 <= len(columns)
        if not in_order or buffer[at] != COLON or not 1 <= at - first <= 9:
            return BAD_NUMBER, np.int64(first), last, nulls
        at += ONE
        first, last = at, number
        millionths = six_places(buffer, np.int64(at))
        if millionths >= 0:
            columns[np.uint64(number - 1), row] = millionths / 1e6  # rounds once, as below
            at += np.uint64(8)
            continue
        if is_null(buffer, np.int64(at)):
            columns[np.uint64(number - 1), row] = np.nan
            nulls += 1
            at += np.uint64(4)
            continue
        negative = buffer[at] == MINUS
        if negative:
            at += ONE
        mantissa, start = 0, at
        while ZERO <= buffer[at] <= NINE:
            mantissa = mantissa * 10 + (buffer[at] - ZERO)
            at += ONE
        digits, places = np.int64(at - start), 0
        if buffer[at] == DOT:
            at += ONE
            start = at
            while ZERO <= buffer[at] <= NINE:
                mantissa = mantissa * 10 + (buffer[at] - ZERO)
                at += ONE
            places = np.int64(at - start)
        if not 1 <= digits + places <= 15 or (buffer[at] != SPACE and buffer[at] != NEWLINE):
            return RARE_VALUE, np.int64(first), number, nulls
        value = mantissa / POWERS[places - LEAST_POWER]  # both exact, so that this rounds once
        columns[np.uint64(number - 1), row] = -value if negative else value
    return OK if sparse or last == len(columns) else SHORT_ROW, np.int64(at), last, nulls


@compiled(nogil=True)
def comment(buffer, i, width, docids, inc, prob, row, late, late_count):
    """Reads the row's `#docid = <id> inc = <x> prob = <p>`, which may stand at i: (position, late_count)."""
    docids[row, 0], docids[row, 1], i = field(buffer, i + 1, DOCID) if buffer[i] == HASH else (-1, -1, i)
    for column, key, values in ((width, INC, inc), (width + 1, PROB, prob)):
        start, end, i = field(buffer, i, key)
        values[row] = np.nan
        if start >= 0:
            value, end, rounding = decimal(buffer, start)
            if rounding != NOT_A_NUMBER:
                values[row] = value
            if rounding == NEAR:
                late[late_count] = column, row, start, end
                late_count += 1
    return i, late_count


@compiled(nogil=True)
def fill_missing(columns, offsets, by_mean):
    """NaN becomes the least value of that feature among the query's documents, or their mean; 0 where all are NaN.

    By the least value LETOR's own MIN files are made from its NULL files: the missing values are language-model
    scores of documents without any query term, minus infinity in principle (Qin et al. 2010, section 4).
    """
    for column in range(columns.shape[0]):
        values = columns[column]
        for query in range(len(offsets) - 1):
            least, total, known = np.float32(np.inf), 0.0, 0
            for row in range(offsets[query], offsets[query + 1]):
                if not np.isnan(values[row]):
                    least, total, known = min(least, values[row]), total + values[row], known + 1
            if known == offsets[query + 1] - offsets[query]:
                continue
            filling = np.float32(0)
            if known:
                filling = np.float32(total / known) if by_mean else least
            for row in range(offsets[query], offsets[query + 1]):
                if np.isnan(values[row]):
                    values[row] = filling


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
