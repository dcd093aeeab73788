"""Where a collection's parts and folds are on disk. Imports nothing heavy: workflows ask at every start.

Three layouts are recognised, in the folder given or in the only folder below it that has one:

- `five_fold`: `S1.txt`..`S5.txt`, or `Fold1`..`Fold5` with a training, validation and test file each, or both (LETOR).
  Without S files a part is the test file of the one fold that tests on it.
- `one_fold`: a training, a validation and a test file: parts 1, 2 and 3, one fold.
- `single_file`: one file. Its queries are divided into five parts, rotated like LETOR's.

A file is text (.txt, .svm, .letor, .libsvm, .dat) or a table (.parquet, .csv, .tsv), packed or not (.gz, .xz, .zst).
Its name may be any of NAMES, in any letter case: LETOR 3.0 has trainingset.txt where LETOR 4.0 has train.txt. Without a
validation file one is held out: in five folds the part that the rotation validates on, which the training file then
holds too; in one fold a quarter of the training file's queries.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from pathlib import Path
from typing import Literal

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import PACKED, blocks, lines, plain_name

SPLITS = ("train", "vali", "test")
NAMES = {
    "train": ("train", "training", "trainingset"),
    "vali": ("vali", "valid", "val", "validation", "validationset", "dev"),
    "test": ("test", "testing", "testset"),
}
TEXT, TABLES = (".txt", ".svm", ".letor", ".libsvm", ".dat"), (".parquet", ".csv", ".tsv")
# Fold k trains on parts k, k+1, k+2, validates on k+3 and tests on k+4 (Qin and Liu 2013, table 2).
ROTATION = [
    {"train": [1, 2, 3], "vali": [4], "test": [5]},
    {"train": [2, 3, 4], "vali": [5], "test": [1]},
    {"train": [3, 4, 5], "vali": [1], "test": [2]},
    {"train": [4, 5, 1], "vali": [2], "test": [3]},
    {"train": [5, 1, 2], "vali": [3], "test": [4]},
]
ONE_FOLD = [{"train": [1], "vali": [2], "test": [3]}]
# Of a training file's queries three quarters are part 1 and one is part 2, as in LETOR's folds.
HELD_OUT = [1, 1, 1, 2]
DEEPEST = 3
EXPECTED = (
    "expected S1.txt to S5.txt, or Fold1 to Fold5 with train.txt, vali.txt and test.txt each, "
    "or train.txt, vali.txt and test.txt, or the path of one file. Of the names "
    + "; ".join(f"{split}: {', '.join(names)}" for split, names in NAMES.items())
    + f" any is accepted, in any letter case, with {', '.join((*TEXT, *TABLES))}, each also packed: {', '.join(PACKED)}"
)


@dataclass(frozen=True)
class Layout:
    """A collection on disk.

    sources: the file that holds each part; several parts may be in one.
    copies: files that repeat parts, each with the parts it must consist of, in order (`in_order`) or in any.
    folds: for each fold the parts of its train, vali and test split.
    slots: into what parts the queries of a file with several are divided, equal shares each.
    note: what was decided that the user may not expect.
    """

    kind: Literal["five_fold", "one_fold", "single_file"]
    sources: dict[int, Path]
    copies: dict[Path, list[int]]
    folds: list[dict[str, list[int]]]
    slots: list[int]
    in_order: bool = True
    note: str | None = None

    @property
    def files(self) -> list[Path]:
        """Every file that parsing reads."""
        return [*dict.fromkeys(self.sources.values()), *self.copies]


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name, or Parquet by its first bytes."""
    return plain_name(path).suffix.lower() in TABLES or _begins_as_parquet(path)


def _begins_as_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1"


def find_layout(path: Path | str) -> Layout:
    """The layout of the collection at `path`, a folder or one file.

    Raises GradrankError where nothing, or more than one collection, is found, a file of one is missing, or a file of
    text holds too few queries to be divided.
    """
    path = Path(path)
    if path.is_file():
        _check_queries(path, 5)
        return Layout("single_file", dict.fromkeys(range(1, 6), path), {}, ROTATION, [1, 2, 3, 4, 5])
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


def _check_queries(path: Path, needed: int) -> None:
    """Raise GradrankError where a text file has fewer queries; reads it no further than to the last that is needed."""
    if is_table(path):
        return
    seen: set[bytes] = set()
    for line in lines(path):
        tokens = line.partition(b"#")[0].split(maxsplit=2)
        seen |= set(tokens[1:2])
        if len(seen) >= needed:
            return
    if seen:
        found = "1 query" if len(seen) == 1 else f"{len(seen)} queries"
        raise GradrankError(
            f"{path}: {found}; dividing a file into {'five parts' if needed == 5 else 'two'} takes at "
            f"least {needed}: give more queries, or files for training, validation and test"
        )


def _search(folder: Path, depth: int) -> list[tuple[Path, Layout]]:
    layout = _five_fold(folder) or _one_fold(folder)
    if layout is not None:
        return [(folder, layout)]
    if depth == 0:
        return []
    below = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return [found for entry in below for found in _search(entry, depth - 1)]


def _named(folder: Path, suffixes: tuple[str, ...], *names: str) -> Path | None:
    """The only file of a folder with one of these names and suffixes; None without any."""
    found = [
        path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else ())
        if plain_name(path).suffix.lower() in suffixes
        and plain_name(path).stem.lower().replace("_", "").replace("-", "") in names
        and (path.is_file() or path.is_symlink())
    ]
    if gone := [path for path in found if not path.is_file()]:
        raise GradrankError(f"{gone[0]}: a link to a file that does not exist. Fix: repair the link, or delete it")
    if len(found) > 1:
        raise GradrankError(
            f"{folder}: {' and '.join(path.name for path in found)} may each be the same part; keep one"
        )
    return found[0] if found else None


def _five_fold(folder: Path) -> Layout | None:
    stored = {part: _named(folder, (*TEXT, *TABLES), f"s{part}") for part in range(1, 6)}
    folders = {path.name.lower(): path for path in folder.iterdir() if path.is_dir()}
    folders = {k: folders[f"fold{k}"] for k in range(1, 6) if f"fold{k}" in folders}
    splits = {
        (k, split): path
        for k in folders
        for split in SPLITS
        if (path := _named(folders[k], (*TEXT, *TABLES), *NAMES[split]))
    }
    if not any(stored.values()) and not folders:
        return None
    if folders and not splits and not any(stored.values()):
        first = next(iter(folders.values()))
        names = ", ".join(sorted(entry.name for entry in first.iterdir())[:12]) or "nothing"
        raise GradrankError(f"{first}: no training, validation or test file here: {EXPECTED}; found {names}")
    held_out = bool(splits) and not any(split == "vali" for _, split in splits)
    wanted = [split for split in SPLITS if not (held_out and split == "vali")]
    missing = []
    if splits:
        missing = [f"Fold{k}/{split}.txt" for k in range(1, 6) for split in wanted if (k, split) not in splits]
    if any(stored.values()):
        missing = [f"S{part}.txt" for part, path in stored.items() if path is None] + missing
    if missing:
        raise GradrankError(f"{folder}: a five-fold collection without {', '.join(missing)}; {EXPECTED}")
    copies = {path: _parts_of(k, split, held_out) for (k, split), path in splits.items()}
    if not any(stored.values()):
        stored = {ROTATION[k - 1]["test"][0]: splits.pop((k, "test")) for k in folders}
        copies = {path: copies[path] for path in splits.values()}
    note = (
        "the folds have no validation file: fold k validates on the part that fold k-1 tests on, and trains on the "
        "other three of its training file"
    )
    return Layout(
        "five_fold", dict(sorted(stored.items())), copies, ROTATION, [], not held_out, note if held_out else None
    )


def _parts_of(fold: int, split: str, held_out: bool) -> list[int]:
    own = ROTATION[fold - 1]
    return own["train"] + own["vali"] if held_out and split == "train" else own[split]


def _one_fold(folder: Path) -> Layout | None:
    files = [_named(folder, (*TEXT, *TABLES), *NAMES[split]) for split in SPLITS]
    train, vali, test = files
    if train is None or test is None:
        return None
    if vali is not None:
        return Layout("one_fold", {1: train, 2: vali, 3: test}, {}, ONE_FOLD, [])
    _check_queries(train, len(HELD_OUT))
    note = f"no validation file beside {train}: a quarter of its queries, drawn with the seed, is held out as one"
    return Layout("one_fold", {1: train, 2: train, 3: test}, {}, ONE_FOLD, HELD_OUT, note=note)


def differing_line(copy: Path, originals: Sequence[Path]) -> int | None:
    """The first line, from 1, in which a text differs from others one after the other; None where it repeats them."""
    return _first_difference(blocks(copy), chain.from_iterable(map(blocks, originals)))


def check_copies(
    layout: Layout, unit: str = "line", difference: Callable[[Path, Sequence[Path]], int | None] = differing_line
) -> None:
    """Raise GradrankError where a fold's file is not the parts that it should consist of: of text, byte for byte."""
    for copy, parts in layout.copies.items():
        differing = []
        for order in [parts] if layout.in_order else permutations(parts):
            number = difference(copy, [layout.sources[part] for part in order])
            if number is None:
                break
            differing.append(number)
        else:
            named = " + ".join(str(layout.sources[part]) for part in parts)
            raise GradrankError(
                f"{copy}: {unit} {max(differing)}: differs from {named}, which this file of a fold must repeat"
            )


def _first_difference(one: Iterable[bytes], other: Iterable[bytes]) -> int | None:
    """The first line, from 1, in which two texts differ; None where they are the same."""
    line, a, b = 1, b"", b""
    one, other = iter(one), iter(other)
    while True:
        a, b = a or next(one, b""), b or next(other, b"")
        length = min(len(a), len(b))
        if a[:length] != b[:length]:
            alike = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
            return line + a.count(b"\n", 0, alike)
        if length == 0:
            return line if a or b else None
        line += a.count(b"\n", 0, length)
        a, b = a[length:], b[length:]
