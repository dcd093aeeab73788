"""Compiled parsing of LETOR and SVMlight text into arrays. One pass over the bytes parses and checks every token.

The functions read from buffers, which are described in data/text/tokens.py.
"""

import numpy as np

from gradrank.base.compiled import compiled
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
    is_usual,
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
    usual_values,
)

QID, DOCID, INC, PROB = (np.uint64(int.from_bytes(key, "little")) for key in (b"qid:", b"docid", b"inc", b"prob"))
OK, BAD_QID, BAD_GRADE, BAD_NUMBER, BAD_VALUE, SHORT_ROW, LATE_IS_FULL, RARE_VALUE = range(8)


@compiled("u1[:], i8, b1, b1, i8[:,:] out", nogil=True)
def heads(buffer, i, text_ids, numbers, runs):
    """Read `<grade> qid:<query>` in each line from byte i on, and find the runs of rows with the same query id.

    Parameters
    ----------
    buffer
        The bytes of whole lines.
    text_ids
        True if query ids may be any text. The ids are then compared byte by byte, and the column of ids in `runs` is 0.
    numbers
        True to find the highest feature number.
    runs
        (capacity, 5) int64 output, one row per run. The columns are the query id, the start of the first line, the
        number of rows, and the start and the end of the bytes of the query id. A capacity of len(buffer) // 8 + 1
        suffices.

    Returns
    -------
    tuple
        OK or an error code, the position of the error, the number of runs, and the highest feature number (0 unless
        `numbers` is True).
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
    "u1[:], i8, b1, u1[:], u1[:], u8[:], f8[:], i8, "
    "f4[:,:] out, i2[:] out, u1[:] out, i4[:] out, f8[:,:] out, i8[:,:] out",
    nogil=True,
)
def rows(buffer, i, sparse, least, spread, places, edges, highest, columns, labels, docids, ends, estimates, late):
    """Read the rows of whole lines from byte i on.

    Dense rows have the features 1 to d. Sparse rows may leave features out. Omitted features are 0. `NULL` becomes NaN.

    least, spread, places: the result of `fixed_width_form`, called with width 0 if rows are sparse. edges: (k,) float64
    edges of grades; empty if labels are grades. highest: the highest grade, where labels are grades.

    Outputs: columns, the (d, n) float32 features, all 0 on entry if rows are sparse. labels, the (n,) int16 grades.
    docids, the concatenated bytes of the document ids, as long as the buffer. ends, the (n+1,) int32 ends of the ids in
    `docids`, with 0 as first element on entry. estimates, the (2, n) float64 values of inc and prob, NaN if absent.
    late, (capacity, 4) int64, the few numbers whose rounding needs more than 64 bits: the column (d for inc, d + 1 for
    prob, d + 2 for the label), the row, and the start and the end of the number's bytes.

    Returns OK or an error code, the position of the error, the number of the last valid feature before it, the number
    of NULL values, and the number of rows in `late`.
    """
    # With a literal 0, Numba would compile the called functions twice, for literals and for other integers.
    row = nulls = late_count = np.int64(0)
    while i < len(buffer):
        i = skip_blanks(buffer, i)
        if buffer[i] == NEWLINE or buffer[i] == HASH:
            i = line_end(buffer, i) + 1
            continue
        if late_count + len(columns) + 3 > len(late):
            return LATE_IS_FULL, i, 0, nulls, late_count
        value, end, rounding = decimal(buffer, i)
        labels[row] = grade(value, rounding, edges, highest)
        if labels[row] < 0:
            return BAD_GRADE, i, 0, nulls, late_count
        if rounding == NEAR:
            late_count = noted(late, late_count, len(columns) + 2, row, i, end)
        end = token_end(buffer, skip_blanks(buffer, end))  # skip the qid, which `heads` has checked
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
def grade(value, rounding, edges, highest):
    """Return the grade of a label with the rounding of `decimal`, or -1 if it has none.

    edges, highest: as in `rows`.
    """
    if len(edges) == 0:
        is_grade = rounding == EXACT and 0 <= value <= highest and value == np.floor(value)
        return np.int16(value) if is_grade else np.int16(-1)
    if rounding == NOT_A_NUMBER or not np.isfinite(value):
        return np.int16(-1)
    reached = 0
    for edge in edges:
        reached += edge <= value
    return np.int16(reached)


@compiled()
def noted(late, count, column, row, start, end):
    """Append a row to `late`, and return the new number of rows."""
    late[count, 0], late[count, 1], late[count, 2], late[count, 3] = column, row, start, end
    return count + 1


@compiled()
def features(buffer, i, last, sparse, columns, row, nulls):
    """Read the features of a row after feature number `last`, from byte i on.

    Returns the code, the position, the feature number and the number of NULL values, as in `rows`. If the code is OK,
    the position is that of the comment or of the end of the row. If the code is RARE_VALUE, the position is that of a
    value in a rare form, which the caller must parse.
    """
    at, row = np.uint64(i), np.uint64(row)  # unsigned, because a signed index costs one test per byte
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
            columns[np.uint64(number - 1), row] = millionths / 1e6  # the result is rounded once
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
    """Read the comment `#docid = <id> inc = <x> prob = <p>` of a row, if there is such a comment at byte i.

    Returns docid, (inc, prob), and the position after these words. docid, inc and prob are spans: the (start, end) of a
    word, or (-1, -1) if the word is absent.
    """
    docid, i = field(buffer, i + 1, DOCID, np.int64(5)) if buffer[i] == HASH else ((-1, -1), i)
    inc, i = field(buffer, i, INC, np.int64(3))
    prob, i = field(buffer, i, PROB, np.int64(4))
    return docid, (inc, prob), i


@compiled()
def copied(buffer, span, target, at):
    """Copy the bytes of a span (start, end) to target[at:], and return the end of the copy in `target`."""
    to = np.uint64(at)
    for k in range(np.uint64(span[0]), np.uint64(span[1])):
        target[to] = buffer[k]
        to += ONE
    return np.int32(to)


@compiled()
def estimate(buffer, span):
    """Return the number in a span (start, end) of a comment, and its rounding as in `decimal`.

    The number is NaN if the span is absent or does not contain a number.
    """
    if span[0] < 0:
        return np.nan, EXACT
    value, end = short_decimal(buffer, np.uint64(span[0]))
    if end == np.uint64(span[1]):
        return value, EXACT
    value, _, rounding = decimal(buffer, span[0])
    return (np.nan if rounding == NOT_A_NUMBER else value), rounding


@compiled("f4[:,:] out, i8[:], b1", nogil=True)
def fill_missing(columns, offsets, by_mean):
    """Replace NaN by the lowest value of the feature in the query or, if `by_mean`, by the mean of the feature.

    If all values of the feature in the query are NaN, they are replaced by 0.

    columns: (d, n) features, changed in place. offsets: (q+1,) offsets of the queries.

    In LETOR's MIN files, the missing values of the NULL files are replaced by the lowest value. The missing values are
    language-model scores of documents without any query term, which are minus infinity in principle (Qin et al. 2010,
    section 4).
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
