"""LETOR and SVMlight text to arrays: one pass over the bytes, every token checked, compiled.

Buffers are what they are in `tokens`.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.text.fixed_width import is_usual, usual_values
from gradrank.data.text.tokens import (
    COLON,
    EXACT,
    HASH,
    NEAR,
    NEWLINE,
    NINE,
    NOT_A_NUMBER,
    ONE,
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
    short_decimal,
    six_places,
    skip_blanks,
    to_float32,
    token_end,
    unsigned,
)

QID, DOCID, INC, PROB = (np.uint64(int.from_bytes(key, "little")) for key in (b"qid:", b"docid", b"inc", b"prob"))
OK, BAD_QID, BAD_GRADE, BAD_NUMBER, BAD_VALUE, SHORT_ROW, LATE_IS_FULL, RARE_VALUE = range(8)
HIGHEST_GRADE = 31  # gains are 2^grade - 1; LightGBM's table of gains ends here too


@compiled("u1[:], i8, b1, b1, i8[:,:] out", nogil=True)
def heads(buffer, i, text_ids, numbers, runs):
    """Reads `<grade> qid:<query>` of each line of the whole lines from i on: the runs of rows of one query.

    runs: (capacity, 5) int64, filled with query id, start of the first row's line, rows, and the bytes of the id, start
    and end; len(buffer) // 8 + 1 of them are enough. text_ids: ids may be any text and differ by their bytes; their
    column is then 0. numbers: find the highest feature number of these rows, else 0.
    Returns (code, position, runs filled, highest number), position being the byte that code complains of.
    """
    count = highest = 0
    while i < len(buffer):
        line, i = i, skip_blanks(buffer, i)
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            i = line_end(buffer, i) + 1
            continue
        i = skip_blanks(buffer, token_end(buffer, i))
        start, i = i, past(buffer, i, QID, 4)
        if i < 0:
            return BAD_QID, start, count, highest
        value, end = (0, token_end(buffer, i)) if text_ids else unsigned(buffer, i)
        if end == i or not ends_token(buffer[end]):
            return BAD_QID, start, count, highest
        if text_ids:
            same = count > 0 and same_bytes(buffer, (runs[count - 1, 3], runs[count - 1, 4]), (i, end))
        else:
            same = count > 0 and runs[count - 1, 0] == value
            same = same and runs[count - 1, 4] - runs[count - 1, 3] == end - i  # 7 and 07 are two ids
        if not same:
            runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3], runs[count, 4] = (value, line, 0, i, end)
            count += 1
        runs[count - 1, 2] += 1
        if numbers:
            highest = max(highest, last_number(buffer, end))
        i = line_end(buffer, end) + 1
    return OK, 0, count, highest


@compiled(
    "u1[:], i8, b1, u1[:], u1[:], u8[:], f4[:,:] out, i2[:] out, u1[:] out, i4[:] out, f8[:,:] out, i8[:,:] out",
    nogil=True,
)
def rows(buffer, i, sparse, least, spread, places, columns, labels, docids, ends, estimates, late):
    """Reads the rows of the whole lines from i on.

    columns: (d, n) float32, all zero if sparse; labels: (n,) int16; docids: uint8, as long as the buffer, filled with
    the docids' bytes one after the other, and ends: (n + 1,) int32 beginning with 0, with where each ends, nowhere
    further without one; estimates: (2, n) float64, inc and prob, NaN without one. `NULL` becomes NaN in `columns`.
    Dense rows must number their features 1..d; sparse ones may leave some out, which are 0.

    least, spread, places: the arrays of `usual_form` for dense rows, of no features for others.

    late: (capacity, 4) int64, filled with the few numbers whose rounding needs more than 64 bits, as (column,
    row, start, end), with column d for `inc` and d + 1 for `prob`.

    Returns (code, position, number, nulls, late_count): number is that of the last good feature before the
    byte at `position` that `code` complains of; nulls counts the NULL values.
    """
    # Not the literal 0: Numba would compile what is called with it twice, for literals and for other numbers.
    row = nulls = late_count = np.int64(0)
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
        number = np.int64(0)
        if is_usual(buffer, end, least, spread):
            usual_values(buffer, end, places, columns, row)
            end, number = end + len(least), len(places)
        code, i, number, nulls = features(buffer, end, number, sparse, columns, row, nulls)
        while code == RARE_VALUE:
            value, end, rounding = decimal(buffer, i)
            if rounding == NOT_A_NUMBER:
                return BAD_VALUE, i, number, nulls, late_count
            if rounding == NEAR and may_round_otherwise(value):
                late_count = noted(late, late_count, number - 1, row, i, end)
            columns[number - 1, row] = to_float32(value)
            code, i, number, nulls = features(buffer, end, number, sparse, columns, row, nulls)
        if code != OK:
            return code, i, number, nulls, late_count
        docid, numbers, i = comment(buffer, i)
        ends[row + 1] = copied(buffer, docid, docids, ends[row])
        for k in range(2):
            estimates[k, row], rounding = estimate(buffer, numbers[k])
            if rounding == NEAR:
                late_count = noted(late, late_count, len(columns) + k, row, numbers[k][0], numbers[k][1])
        row += 1
        i = line_end(buffer, i) + 1
    return OK, 0, 0, nulls, late_count


@compiled()
def noted(late, count, column, row, start, end):
    """Writes one row of `late`, and returns how many there are then."""
    late[count, 0], late[count, 1], late[count, 2], late[count, 3] = column, row, start, end
    return count + 1


@compiled()
def features(buffer, i, last, sparse, columns, row, nulls):
    """Reads a row's features after number `last`, from i on: (code, position, number, nulls), as `rows` has them.

    With OK, `position` is that of the row's comment or end; with RARE_VALUE, that of the value of feature
    `number`, left to the caller for its form.
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
        last = number
        millionths = six_places(buffer, at)
        if millionths >= 0:
            columns[np.uint64(number - 1), row] = millionths / 1e6  # rounds once
            at += np.uint64(8)
            continue
        value, end = short_decimal(buffer, at)
        if end > at:
            columns[np.uint64(number - 1), row] = value
            at = end
        elif is_null(buffer, np.int64(at)):
            columns[np.uint64(number - 1), row] = np.nan
            nulls += 1
            at += np.uint64(4)
        else:
            return RARE_VALUE, np.int64(at), number, nulls
    return OK if sparse or last == len(columns) else SHORT_ROW, np.int64(at), last, nulls


@compiled()
def comment(buffer, i):
    """The row's `#docid = <id> inc = <x> prob = <p>`, which may stand at i: (docid, (inc, prob), position behind them),
    each the start and end of its word, -1 and -1 without one."""
    docid, i = field(buffer, i + 1, DOCID, np.int64(5)) if buffer[i] == HASH else ((-1, -1), i)
    inc, i = field(buffer, i, INC, np.int64(3))
    prob, i = field(buffer, i, PROB, np.int64(4))
    return docid, (inc, prob), i


@compiled()
def copied(buffer, span, target, at):
    """Copies the bytes of a span to target[at:]: where they end there."""
    to = np.uint64(at)
    for k in range(np.uint64(span[0]), np.uint64(span[1])):
        target[to] = buffer[k]
        to += ONE
    return np.int32(to)


@compiled()
def estimate(buffer, span):
    """The number at a span of a comment: (float64, NaN if it is none; rounding as of `decimal`)."""
    if span[0] < 0:
        return np.nan, EXACT
    value, end = short_decimal(buffer, np.uint64(span[0]))
    if end == np.uint64(span[1]):
        return value, EXACT
    value, _, rounding = decimal(buffer, span[0])
    return (np.nan if rounding == NOT_A_NUMBER else value), rounding


@compiled("f4[:,:] out, i8[:], b1", nogil=True)
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
