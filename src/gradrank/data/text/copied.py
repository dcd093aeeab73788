"""Text in the forms of LightGBM and XGBoost, which is copied in the form that data/text/letor.py reads.

The copy differs from the file in these points:

- The sizes of the queries are in a side file, `<file>.query` (LightGBM) or `<file>.group` (XGBoost), with one number of
  rows per line. The copy has a query id in each row, which is the number of the query, counted from 1.
- Features are numbered from 0. The copy has numbers from 1.
- A row has a feature several times or features in any order (`repeated: last`). The copy has the last value of each.
- The rows of a query are apart (`group_rows`). In the copy they are together, in the order of the file.

Each line of the file is a line of the copy, unless rows are grouped, so errors name the line of the file.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import PlainFile, lines
from gradrank.data.text.text_file import BYTE_ORDER_MARK

SIZES = (".query", ".group")  # side files with the number of rows of each query
NOT_READ = {
    ".weight": "weights. Fix: store the data as a table with a column of weights, or move the file",
    ".position": "positions, which no method reads. Fix: move the file away",
    ".init": "initial scores, which no method reads. Fix: move the file away",
}


class TextForm(NamedTuple):
    """The declared form of a text file.

    features_from: the number of the first feature, 0 or 1. keeps_last: whether rows may have features in any order and
    several times; the last value counts. groups_rows: whether the rows of a query may be apart.
    """

    features_from: int = 1
    keeps_last: bool = False
    groups_rows: bool = False


def sizes_file(path: Path) -> Path | None:
    """Return the side file with the sizes of the queries, or None without such a file.

    Raises GradrankError if there are two, or a side file whose values would be lost.
    """
    sides = {suffix: path.with_name(path.name + suffix) for suffix in (*SIZES, *NOT_READ)}
    for suffix, reason in NOT_READ.items():
        if sides[suffix].is_file():
            raise GradrankError(f"{sides[suffix]}: this side file has {reason}")
    found = [sides[suffix] for suffix in SIZES if sides[suffix].is_file()]
    if len(found) > 1:
        raise GradrankError(f"{found[0]} and {found[1]} both have the sizes of queries. Fix: keep one of them")
    return found[0] if found else None


def readable_text(path: Path, form: TextForm, folder: Path | None = None) -> PlainFile:
    """Return a text file in the form that is read: the file, its decompressed copy, or a copy in this form.

    form: the declared form. folder: the folder of copies; None for the temporary folder of the system. Raises
    GradrankError for a malformed side file, and for a row that cannot be copied.
    """
    sizes = sizes_file(path)
    if sizes is None and form.features_from == 1 and not (form.keeps_last or form.groups_rows):
        return PlainFile(path, folder)
    return CopiedFile(path, form, sizes, folder)


class CopiedFile(PlainFile):
    """The copy of a text file. `path` is the user's file, and `file` is the copy."""

    def __init__(self, path: Path, form: TextForm, sizes: Path | None, folder: Path | None = None) -> None:
        """Write the copy of the file `path`. The other arguments are those of `readable_text`."""
        self.path = path
        number, name = tempfile.mkstemp(prefix=".gradrank-", suffix=".partial", dir=folder)
        self.file = Path(name)
        weakref.finalize(self, self.file.unlink, missing_ok=True)
        rows = _rows(path, form, sizes)
        with os.fdopen(number, "wb") as copy:
            copy.writelines(_grouped(rows) if form.groups_rows else (row + b"\n" for _, row in rows))


def _grouped(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Yield the rows in the order of the first rows of their queries. Lines without a row are left out."""
    queries: dict[bytes, list[bytes]] = {}
    for query, row in rows:
        if query:
            queries.setdefault(query, []).append(row)
    for group in queries.values():
        yield from (row + b"\n" for row in group)


def _rows(path: Path, form: TextForm, sizes: Path | None) -> Iterator[tuple[bytes, bytes]]:
    """Yield the query id and the row of each line. The id is empty if the line has no row or no id."""
    queries = None if sizes is None else _queries(sizes)
    shift, number = 1 - form.features_from, 0
    for number, line in enumerate(lines(path), start=1):
        row, mark, comment = line.removeprefix(BYTE_ORDER_MARK).partition(b"#")
        words = row.split()
        if not words:
            yield b"", line
            continue
        where = f"{path}: line {number}"
        has_id = len(words) > 1 and words[1].startswith(b"qid:")
        if queries is not None:
            if has_id:
                raise GradrankError(
                    f"{where}: has a qid, and {sizes} has the sizes of queries. Fix: remove one of them"
                )
            if (query := next(queries, None)) is None:
                raise GradrankError(f"{where}: {sizes} has fewer rows than this file. Fix: correct the sizes")
            words.insert(1, query)
            has_id = True
        features = words[1 + has_id :]
        if form.keeps_last:
            features = _sorted(features, where)
        if shift:
            features = [_shifted(feature, where) for feature in features]
        yield (
            words[1] if has_id else b"",
            b" ".join([*words[: 1 + has_id], *features]) + (b" " + mark + comment if mark else b""),
        )
    if queries is not None and next(queries, None) is not None:
        raise GradrankError(f"{sizes}: has more rows than {path}, which has {number} lines. Fix: correct the sizes")


def _queries(sizes: Path) -> Iterator[bytes]:
    """Yield the query id of each row. sizes: a file with one number of rows per line."""
    for number, line in enumerate(lines(sizes), start=1):
        if not (word := line.strip()):
            continue
        if not word.isdigit() or int(word) < 1:
            raise GradrankError(
                f"{sizes}: line {number}: expected the number of rows of a query, found "
                f"{word.decode(errors='replace')!r}. Fix: write one whole number of at least 1 per line"
            )
        yield from repeat(b"qid:%d" % number, int(word))


def _sorted(features: list[bytes], where: str) -> list[bytes]:
    """Return the features in ascending order, each with its last value."""
    last = {_number(feature, where): feature for feature in features}
    return [last[number] for number in sorted(last)]


def _shifted(feature: bytes, where: str) -> bytes:
    """Return a feature with a number that is higher by 1."""
    return b"%d:%b" % (_number(feature, where) + 1, feature.partition(b":")[2])


def _number(feature: bytes, where: str) -> int:
    number = feature.partition(b":")[0]
    if not number.isdigit():
        raise GradrankError(
            f"{where}: expected <feature>:<value>, found {feature.decode(errors='replace')!r}. Fix: correct the row"
        )
    return int(number)
