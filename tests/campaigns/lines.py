"""`python tests/campaigns/lines.py [NUMBER] [--seed S]`: generated lines of LETOR text against an oracle in Python.

Files of some lines are made of good tokens, strange ones and changed bytes. Where the oracle, written from the
documentation of `scan_letor` alone, reads every line, `scan_letor` must read the same values, bit for bit; where it
does not, `scan_letor` must refuse the file with a GradrankError: never another exception, never in silence.
"""

import math
import random
import re
import struct
import sys
from typing import NamedTuple

from small import Campaign

import gradrank
from gradrank.errors import GradrankError

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
COMMENT = re.compile(
    rb"[ \t\r]*docid[ \t\r]*=[ \t\r]*([^ \t\r]+)"
    rb"(?:[ \t\r]*inc[ \t\r]*=[ \t\r]*([^ \t\r]+))?(?:[ \t\r]*prob[ \t\r]*=[ \t\r]*([^ \t\r]+))?"
)
LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
UNSAID = re.compile(
    rb"[0-9]{16,}|[eE][+-]?[0-9]{4,}|[\v\f\x00]|(^|[ \t\r])0[0-9]*:|qid:$|qid:[ \t\r\n#]"
)  # left open


class Row(NamedTuple):
    grade: int
    query: bytes
    docid: str | None
    values: dict[int, float]


class Bad(Exception):
    """A line that is no row."""


def read(text: bytes) -> tuple[list[Row], int]:
    """The rows and the number of features. Raises Bad for a line that is neither a row nor blank nor a comment."""
    lines = [line for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n") if fields(line)]
    if not lines:
        raise Bad("no rows")
    numbers = [int(number) for number, _ in features(fields(lines[0])[2:])]
    rising = all(a < b for a, b in zip([0, *numbers], numbers, strict=False))
    sparse = not numbers or (rising and numbers != list(range(1, len(numbers) + 1)))
    rows = [row(line) for line in lines]
    width = max((max(each.values, default=0) for each in rows), default=0) if sparse else len(numbers)
    for each in rows:
        order = list(each.values)
        if sparse and order != sorted(order):
            raise Bad("not ascending")
        if not sparse and order != list(range(1, width + 1)):
            raise Bad("not 1 to d")
    queries = [each.query for each in rows]
    if not all(map(is_text, queries)):
        raise Bad("a query id that is no UTF-8")
    if text_ids(queries[0]):
        pass
    elif any(map(text_ids, queries)):
        raise Bad("a query id that is no number")
    else:
        queries = [b"%d" % int(query) for query in queries]
    runs = [query for k, query in enumerate(queries) if k == 0 or query != queries[k - 1]]
    if len(set(runs)) < len(runs):
        raise Bad("a query in pieces")
    return rows, width


def fields(line: bytes) -> list[bytes]:
    return re.findall(rb"[^ \t\r]+", line.partition(b"#")[0])


def text_ids(query: bytes) -> bool:
    return not re.fullmatch(rb"0|[1-9][0-9]{0,17}", query)


def row(line: bytes) -> Row:
    found = fields(line)
    if len(found) < 2 or not NUMBER.fullmatch(found[0]) or not re.fullmatch(rb"qid:.+", found[1]):
        raise Bad(line)
    grade = float(found[0])
    if grade != int(grade) if math.isfinite(grade) else True:
        raise Bad("a grade that is not whole")
    if not 0 <= grade <= 31:
        raise Bad("a grade that is too high")
    pairs = features(found[2:])
    values = {int(number): to_float32(value) for number, value in pairs}
    if len(values) < len(pairs):
        raise Bad("a feature twice")
    comment = COMMENT.match(line.partition(b"#")[2])
    try:
        return Row(int(grade), found[1][4:], comment[1].decode() if comment else None, values)
    except UnicodeDecodeError:
        raise Bad("a docid that is no UTF-8") from None


def is_text(query: bytes) -> bool:
    try:
        return bool(query.decode())
    except UnicodeDecodeError:
        return False


def features(tokens: list[bytes]) -> list[tuple[bytes, bytes]]:
    pairs = []
    for token in tokens:
        number, colon, value = token.partition(b":")
        if not re.fullmatch(rb"[0-9]{1,9}", number) or not colon or int(number) == 0:
            raise Bad(token)
        if value != b"NULL" and not NUMBER.fullmatch(value):
            raise Bad(token)
        pairs.append((number, value))
    return pairs


def to_float32(value: bytes) -> float:
    if value == b"NULL":
        return math.nan
    number = float(value)
    return struct.unpack("<f", struct.pack("<f", max(-LARGEST, min(LARGEST, number))))[0]


def number(draw: random.Random) -> str:
    digits = "".join(draw.choices("0123456789", k=draw.choice((1, 1, 2, 3, 6, 9, 15))))
    forms = (
        f"{draw.random():.6f}",
        f"{draw.uniform(-1e4, 1e4):.{draw.randrange(12)}f}",
        digits,
        f"-{digits}.",
        f".{digits}",
        f"{draw.random():.17g}",
        f"{draw.random():.3f}e{draw.randrange(-60, 60)}",
        f"+{digits}E+{draw.randrange(40)}",
        repr(struct.unpack("<d", draw.randbytes(8))[0]),
        repr(struct.unpack("<f", draw.randbytes(4))[0]),
        "NULL",
        "1.8e308",
        f"{draw.choice((1, 3, 5, 16777217))}.{'0' * draw.randrange(9)}{draw.choice(('', 1, 5))}",
    )
    return draw.choice(forms)


STRANGE = (
    "",
    "1",
    "qid:",
    "qid:1",
    ":",
    "1:",
    ":1",
    "nan",
    "1:nan",
    "2:inf",
    "1:0x1",
    "1:1_0",
    "-1:2",
    "1:1:1",
    "null",
)
STRANGE += (
    "1:NULLS",
    "0:1",
    "x",
    "\N{SUPERSCRIPT TWO}:1",
    "1:\N{ARABIC-INDIC DIGIT ONE}",
    "1:--1",
    "1:1e",
    "1:1e+",
)


def generated(draw: random.Random) -> bytes:
    """A file of some rows of some queries, one in three of them with faults."""
    width, sparse, faulty = draw.randrange(1, 7), draw.random() < 0.3, draw.random() < 0.35
    ids = draw.choice((range(1, 99), ("WT01-B01", "a", "b c", "9" * 19, "007"), ("1", "01", "2")))
    lines, query = [], str(draw.choice(ids))
    for _ in range(draw.randrange(1, 9)):
        query = str(draw.choice(ids)) if draw.random() < 0.3 else query
        blank = draw.choice((" ", " ", " ", "  ", "\t"))
        own = [k for k in range(1, width + 1) if not sparse or draw.random() < 0.6]
        tokens = [draw.choice(("0", "1", "2", "31", "2.0", "1e0")), f"qid:{query.replace(' ', '')}"]
        tokens += [f"{k}:{number(draw)}" for k in own]
        if faulty and draw.random() < 0.3:
            tokens[draw.randrange(len(tokens))] = draw.choice(STRANGE)
        comment = draw.choice(
            ("", "", " #docid = GX1-2 inc = 0.5 prob = 1e-3", " # free", "#docid=\N{LATIN SMALL LETTER E}1")
        )
        lines.append(blank.join(tokens) + comment + draw.choice(("", "", " ", "\r")))
        if draw.random() < 0.1:
            lines.append(draw.choice(("", "# only this", " \t")))
    text = "\n".join([*lines, ""]).encode()
    if draw.random() < 0.05:
        text = b"\xef\xbb\xbf" + text
    if faulty and draw.random() < 0.5:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice((b"", draw.randbytes(1), b"\n", b" ", b"#")) + text[at + 1 :]
    return text


def main() -> int:
    campaign = Campaign(__doc__, 100_000)
    path = campaign.folder / "lines.txt"
    while campaign.counts["lines"] < campaign.number:
        text = generated(campaign.draw)
        campaign.counts["lines"] += text.count(b"\n")
        campaign.counts["files"] += 1
        path.write_bytes(text)
        try:
            expected = read(text)
        except Bad:
            expected = None
        try:
            frame = gradrank.scan_letor(path, missing="keep").collect()
        except GradrankError as error:
            campaign.counts["files refused"] += 1
            if expected is not None and not UNSAID.search(text) and text.endswith(b"\n"):
                campaign.fault(f"refused: {error}: {text!r}")
            if str(path) not in str(error):
                campaign.fault(f"no file named: {error}: {text!r}")
        except Exception as error:
            campaign.fault(f"{type(error).__name__}: {error}: {text!r}")
        else:
            if expected is None:
                if not UNSAID.search(text):
                    campaign.fault(f"accepted: {text!r}")
            else:
                compare(campaign, frame, *expected, text)
    return campaign.end()


def compare(campaign: Campaign, frame, rows: list[Row], width: int, text: bytes) -> None:
    ids = frame["query"].to_list() if "query" in frame.columns else frame["qid"].to_list()
    wanted = [row.query.decode() if "query" in frame.columns else int(row.query) for row in rows]
    values = frame.select(frame.columns[frame.columns.index("label") + 1 :]).rows() or [()] * len(frame)
    told = [list(map(bits, own)) for own in values]
    expected = [[bits(row.values.get(k, 0.0)) for k in range(1, width + 1)] for row in rows]
    if (
        ids != wanted
        or frame["label"].to_list() != [row.grade for row in rows]
        or frame["docid"].to_list() != [row.docid for row in rows]
        or (width and told != expected)
    ):
        campaign.fault(f"read otherwise: {text!r}: {frame.rows()} for {rows}")


def bits(value: float) -> bytes:
    return b"NaN" if math.isnan(value) else struct.pack("<f", value)


if __name__ == "__main__":
    sys.exit(main())
