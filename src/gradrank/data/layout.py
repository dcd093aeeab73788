"""Where a collection's parts and folds are on disk. Imports nothing heavy: workflows ask at every start.

Three layouts are recognised, in the folder given or in the only folder below it that has one:

- `five_fold`: `S1.txt`..`S5.txt`, or `Fold1`..`Fold5` with train.txt, vali.txt and test.txt, or both (LETOR).
  Without S files a part is the test file of the one fold that tests on it.
- `one_fold`: train.txt, vali.txt and test.txt: parts 1, 2 and 3, one fold.
- `single_file`: one SVMlight file with qid. Its queries are divided into five parts, rotated like LETOR's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gradrank.errors import GradrankError

SPLITS = ("train", "vali", "test")
# Fold k trains on parts k, k+1, k+2, validates on k+3 and tests on k+4 (Qin and Liu 2013, table 2).
ROTATION = [
    {"train": [1, 2, 3], "vali": [4], "test": [5]},
    {"train": [2, 3, 4], "vali": [5], "test": [1]},
    {"train": [3, 4, 5], "vali": [1], "test": [2]},
    {"train": [4, 5, 1], "vali": [2], "test": [3]},
    {"train": [5, 1, 2], "vali": [3], "test": [4]},
]
DEEPEST = 3
EXPECTED = (
    "expected S1.txt to S5.txt, or Fold1 to Fold5 with train.txt, vali.txt and test.txt each, "
    "or train.txt, vali.txt and test.txt, or the path of one SVMlight file with qid"
)


@dataclass(frozen=True)
class Layout:
    """A collection on disk.

    sources: the file that holds each part; with `single_file` all five parts are in the same one.
    copies: files that repeat parts, each with the parts it must consist of, in order.
    folds: for each fold the parts of its train, vali and test split.
    """

    kind: Literal["five_fold", "one_fold", "single_file"]
    sources: dict[int, Path]
    copies: dict[Path, list[int]]
    folds: list[dict[str, list[int]]]

    @property
    def files(self) -> list[Path]:
        """Every file that parsing reads."""
        return [*dict.fromkeys(self.sources.values()), *self.copies]


def find_layout(path: Path | str) -> Layout:
    """The layout of the collection at `path`, a folder or one file.

    Raises GradrankError where nothing, or more than one collection, is found, or a file of one is missing.
    """
    path = Path(path)
    if path.is_file():
        return Layout("single_file", dict.fromkeys(range(1, 6), path), {}, ROTATION)
    if not path.is_dir():
        raise GradrankError(f"{path}: there is no such file or folder")
    found = _search(path, DEEPEST)
    if not found:
        names = ", ".join(sorted(entry.name for entry in path.iterdir())[:12]) or "nothing"
        raise GradrankError(f"{path}: no collection here: {EXPECTED}; found {names}")
    if len(found) > 1:
        folders = ", ".join(str(folder) for folder, _ in found)
        raise GradrankError(f"{path}: holds more than one collection; give the path of one of {folders}")
    return found[0][1]


def _search(folder: Path, depth: int) -> list[tuple[Path, Layout]]:
    layout = _five_fold(folder) or _one_fold(folder)
    if layout is not None:
        return [(folder, layout)]
    if depth == 0:
        return []
    below = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return [found for entry in below for found in _search(entry, depth - 1)]


def _five_fold(folder: Path) -> Layout | None:
    stored = {part: folder / f"S{part}.txt" for part in range(1, 6)}
    splits = {
        folder / f"Fold{k}" / f"{split}.txt": fold[split]
        for k, fold in enumerate(ROTATION, start=1)
        for split in SPLITS
    }
    copies = {path: parts for path, parts in splits.items() if path.is_file()}
    if not any(path.is_file() for path in stored.values()):
        if not copies:
            return None
        stored = {parts[0]: path for path, parts in sorted(splits.items()) if path.name == "test.txt"}
        copies = {path: parts for path, parts in splits.items() if path.name != "test.txt"}
    missing = [str(path.relative_to(folder)) for path in [*stored.values(), *copies] if not path.is_file()]
    if missing:
        raise GradrankError(f"{folder}: a five-fold collection without {', '.join(missing)}; {EXPECTED}")
    return Layout("five_fold", dict(sorted(stored.items())), copies, ROTATION)


def _one_fold(folder: Path) -> Layout | None:
    files = [folder / f"{split}.txt" for split in SPLITS]
    if not all(path.is_file() for path in files):
        return None
    return Layout("one_fold", dict(enumerate(files, start=1)), {}, [{"train": [1], "vali": [2], "test": [3]}])


def check_copies(layout: Layout) -> None:
    """Raise GradrankError where a fold's file is not, byte for byte, the parts that it should consist of."""
    for copy, parts in layout.copies.items():
        line = 1
        with copy.open("rb") as stream:
            for part in parts:
                with layout.sources[part].open("rb") as original:
                    while block := original.read(1 << 20):
                        other = stream.read(len(block))
                        if other != block:
                            raise _not_a_copy(layout, copy, line + _lines_alike(block, other))
                        line += block.count(b"\n")
            if stream.read(1):
                raise _not_a_copy(layout, copy, line)


def _lines_alike(block: bytes, other: bytes) -> int:
    alike = next((i for i, (a, b) in enumerate(zip(block, other, strict=False)) if a != b), len(other))
    return block.count(b"\n", 0, alike)


def _not_a_copy(layout: Layout, copy: Path, line: int) -> GradrankError:
    parts = " + ".join(str(layout.sources[part]) for part in layout.copies[copy])
    return GradrankError(f"{copy}: line {line}: differs from {parts}, which this file of a fold must repeat")
