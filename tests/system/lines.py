"""`python tests/system/lines.py [NUMBER] [--seed S]`: generated lines of LETOR text whose values are known.

Each file is written from values in varying forms. `scan_letor` must read the same values, bit for bit. A file with one
fault must be refused with a GradrankError that names the file. A file with one random change of a byte must be read or
refused, without any other exception.
"""

import math
import random
import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

from campaign import Campaign

import gradrank
from gradrank.base.errors import GradrankError

LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
GRADES = {"0": 0, "1": 1, "2": 2, "31": 31, "2.0": 2, "1e0": 1}
COMMENTS = {"": None, " # free": None, " #docid = GX1-2 inc = 0.5 prob = 1e-3": "GX1-2", "#docid=\xe91": "\xe91"}
BAD_GRADES = ("x", "-1", "32", "0.5", "nan", "1e9", "--1")
BAD_QUERIES = ("qid", "quid:1", "1", "qid 1")
BAD_FEATURES = (
    ":", "1:", ":1", "1:nan", "2:inf", "1:0x1", "1:1_0", "-1:2", "1:1:1", "0:1", "x", "1:NULLS", "null", "1:--1",
    "1:1e", "1:1e+", "\N{SUPERSCRIPT TWO}:1", "1:\N{ARABIC-INDIC DIGIT ONE}",
)  # fmt: skip


class Row(NamedTuple):
    grade: int
    query: str
    docid: str | None
    values: list[float]


def number(draw: random.Random) -> str:
    digits = "".join(draw.choices("0123456789", k=draw.choice((1, 2, 3, 6, 9, 15))))
    forms = (
        f"{draw.random():.6f}", f"{draw.uniform(-1e4, 1e4):.{draw.randrange(12)}f}", f"-{digits}.", f".{digits}",
        "NULL", f"{draw.random():.17g}", f"{draw.random():.3f}e{draw.randrange(-60, 60)}",
        f"+{digits}E+{draw.randrange(40)}", repr(struct.unpack("<f", draw.randbytes(4))[0]), "1.8e308",
        f"{draw.choice((1, 3, 16777217))}.{'0' * draw.randrange(9)}{draw.choice(('', 1, 5))}",
    )  # fmt: skip
    text = draw.choice(forms)
    return "0" if text in ("nan", "inf", "-inf") else text


def as_float32(token: str) -> float:
    if token == "NULL":
        return math.nan
    return struct.unpack("<f", struct.pack("<f", max(-LARGEST, min(LARGEST, float(token)))))[0]


def generated(draw: random.Random) -> tuple[list[str], list[Row]]:
    """Return the lines of a file of some queries, and its rows."""
    width, sparse = draw.randrange(2, 7), draw.random() < 0.3
    ids = draw.choice((draw.sample(range(1, 99), 4), ("WT01-B01", "a", "9" * 19, "b7")))
    lines, rows = [], []
    for query in map(str, ids):
        for _ in range(draw.randrange(1, 4)):
            grade, comment = draw.choice(list(GRADES)), draw.choice(list(COMMENTS))
            # The first row shows that rows are sparse, and the last column shows the number of features.
            features = [k for k in range(1, width + 1) if not sparse or k == width or (rows and draw.random() < 0.6)]
            tokens = {k: number(draw) for k in features}
            blank = draw.choice((" ", "  ", "\t"))
            line = blank.join([grade, f"qid:{query}", *(f"{k}:{token}" for k, token in tokens.items())])
            lines.append(line + comment + draw.choice(("", " ", "\r")))
            values = [as_float32(tokens.get(k, "0")) for k in range(1, width + 1)]
            rows.append(Row(GRADES[grade], query, COMMENTS[comment], values))
    return lines, rows


def with_fault(draw: random.Random, lines: Sequence[str]) -> list[str]:
    """Return the lines with one token replaced by an invalid one."""
    number, place = draw.randrange(len(lines)), draw.choice((0, 1, 2))
    tokens = lines[number].partition("#")[0].split()
    tokens[place] = draw.choice((BAD_GRADES, BAD_QUERIES, BAD_FEATURES)[place])
    return [*lines[:number], " ".join(tokens), *lines[number + 1 :]]


def main() -> int:
    campaign = Campaign(__doc__, 100_000)
    path = campaign.folder / "lines.txt"
    while campaign.counts["lines"] < campaign.number:
        lines, rows = generated(campaign.draw)
        kind = campaign.draw.choice(("right", "faulty", "garbled"))
        text = "\n".join([*(with_fault(campaign.draw, lines) if kind == "faulty" else lines), ""]).encode()
        if kind == "garbled":
            at = campaign.draw.randrange(len(text))
            text = text[:at] + campaign.draw.choice((b"", campaign.draw.randbytes(1), b"\n")) + text[at + 1 :]
        campaign.counts["lines"] += len(lines)
        campaign.counts[kind] += 1
        path.write_bytes(text)
        try:
            frame = gradrank.scan_letor(path, missing="keep").collect()
        except GradrankError as error:
            if kind == "right" or str(path) not in str(error):
                campaign.fault(f"{kind}: {error}: {text!r}")
        except Exception as error:
            campaign.fault(f"{kind}: {type(error).__name__}: {error}: {text!r}")
        else:
            if kind == "faulty" or (kind == "right" and read(frame) != list(map(comparable, rows))):
                campaign.fault(f"{kind}: read as {frame.rows()}: {text!r}")
    return campaign.end()


def read(frame) -> list[tuple]:
    ids = frame["query" if "query" in frame.columns else "qid"].to_list()
    values = frame.select(frame.columns[frame.columns.index("label") + 1 :]).rows()
    columns = (frame["label"], map(str, ids), frame["docid"], map(list, values))
    return [comparable(Row(*row)) for row in zip(*columns, strict=True)]


def comparable(row: Row) -> tuple:
    return *row[:3], [b"NaN" if math.isnan(value) else struct.pack("<f", value) for value in row.values]


if __name__ == "__main__":
    sys.exit(main())
