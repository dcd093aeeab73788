"""The check that the files of LETOR's folds repeat the files of its parts, so that each part is stored once."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, permutations
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import blocks
from gradrank.data.layout import Rotation


def differing_line(copy: Path, originals: Sequence[Path]) -> int | None:
    """Return the number of the first line that differs from the concatenated originals, or None if no line differs.

    Lines are counted from 1.
    """
    return _first_difference(blocks(copy), chain.from_iterable(map(blocks, originals)))


Difference = Callable[[Path, Sequence[Path]], int | None]


def is_repeated(rotation: Rotation, difference: Difference = differing_line) -> bool:
    """Return True if every file of the folds repeats the parts that `rotation.copies` lists for it.

    difference: a function of a file and its originals. It returns the number of the first unit that differs, or None if
    the file is equal to its originals. The default compares text byte by byte.
    """
    return not any(_differing(rotation, copy, difference) for copy in rotation.copies)


def check_copies(rotation: Rotation, unit: str = "line", difference: Difference = differing_line) -> None:
    """Raise GradrankError if a file of a fold does not repeat its parts.

    unit: the name of what `difference` counts, for the error message. The other arguments are those of `is_repeated`.
    """
    for copy, parts in rotation.copies.items():
        if number := _differing(rotation, copy, difference):
            originals = " + ".join(str(rotation.sources[part]) for part in parts)
            raise GradrankError(
                f"{copy}: {unit} {number}: differs from {originals}, which this file must repeat. Fix: get the "
                "files of the folds and of the parts from the same release"
            )


def _differing(rotation: Rotation, copy: Path, difference: Difference) -> int | None:
    """Return the number of the first unit in which a file differs from its parts, or None if it repeats them.

    If the parts may have any order, it is the highest number over all orders.
    """
    differing: list[int] = []
    parts = rotation.copies[copy]
    for order in [parts] if rotation.in_order else permutations(parts):
        number = difference(copy, [rotation.sources[part] for part in order])
        if number is None:
            return None
        differing.append(number)
    return max(differing)


def _first_difference(first: Iterable[bytes], second: Iterable[bytes]) -> int | None:
    """Return the number of the first line in which two texts differ, counted from 1, or None if they are equal."""
    line, a, b = 1, b"", b""
    blocks_a, blocks_b = iter(first), iter(second)
    while True:
        a, b = a or next(blocks_a, b""), b or next(blocks_b, b"")
        length = min(len(a), len(b))
        if a[:length] != b[:length]:
            equal_bytes = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
            return line + a.count(b"\n", 0, equal_bytes)
        if length == 0:
            return line if a or b else None
        line += a.count(b"\n", 0, length)
        a, b = a[length:], b[length:]
