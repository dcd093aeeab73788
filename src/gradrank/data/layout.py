"""Recognition of the files, parts and folds of a collection on disk.

Three layouts are recognised. The files are in the given folder, or in the only folder below it that has such a layout.

- `five_fold`: S1.txt to S5.txt, or folders Fold1 to Fold5, each with a training, validation and test file, or both
  (LETOR). Without the S files, each part is the test file of one fold.
- `one_fold`: a training, a validation and a test file, which are parts 1, 2 and 3 of a single fold.
- `single_file`: one file, whose queries are divided into five parts. The folds rotate as in LETOR.

A file is text (.txt, .svm, .letor, .libsvm, .dat) or a table (.parquet, .csv, .tsv), plain or compressed (.gz, .xz,
.zst). The file name without suffixes is one of NAMES, in any letter case. For example, the training file is
trainingset.txt in LETOR 3.0 and train.txt in LETOR 4.0.

Without a validation file, a validation part is held out. With five folds, this is the part on which LETOR's rotation
validates, and the training file of each fold must contain this part. With one fold, the validation part is a quarter of
the queries of the training file.

Importing this module is fast, because the workflow imports it at every start.
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
# Without a validation file, three quarters of the training queries are part 1 and one quarter is part 2, as in LETOR.
HELD_OUT = [1, 1, 1, 2]
DEEPEST = 3  # levels of subfolders that are searched
EXPECTED = (
    "expected S1.txt to S5.txt, or Fold1 to Fold5 with train.txt, vali.txt and test.txt each, "
    "or train.txt, vali.txt and test.txt, or the path of one file. Accepted names, in any letter case: "
    + "; ".join(f"{split}: {', '.join(names)}" for split, names in NAMES.items())
    + f"; with the suffix {', '.join((*TEXT, *TABLES))}, and if compressed {', '.join(PACKED)}"
)


@dataclass(frozen=True)
class Layout:
    """The files of a collection.

    Parameters
    ----------
    kind
        The layout, as described at the top of this module.
    sources
        A dict from part number to the file that contains the part. One file may contain several parts.
    copies
        A dict from each file that repeats parts to the numbers of the parts that the file must repeat.
    folds
        One dict per fold, from the splits `train`, `vali` and `test` to part numbers.
    slots
        One part number per slot. The queries of a file that contains several parts are divided into equal shares, one
        per slot, and each share goes to the part in its slot.
    in_order
        True if the files in `copies` repeat their parts in the listed order, False if the order may differ.
    note
        A sentence about a decision that the user may not expect.
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
        """All files that parsing reads."""
        return [*dict.fromkeys(self.sources.values()), *self.copies]


def is_table(path: Path) -> bool:
    """Return True if a file has the suffix of a table or begins as a Parquet file."""
    return plain_name(path).suffix.lower() in TABLES or _begins_as_parquet(path)


def _begins_as_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1"


def find_layout(path: Path | str) -> Layout:
    """Return the layout of the collection at `path`, a folder or a single file.

    Raises GradrankError if no collection or more than one is found, if one of its files is missing, or if a text file
    has too few queries to be divided.
    """
    path = Path(path)
    if path.is_file():
        _check_queries(path, 5)
        return Layout("single_file", dict.fromkeys(range(1, 6), path), {}, ROTATION, [1, 2, 3, 4, 5])
    if not path.is_dir():
        raise GradrankError(f"{path}: no such file or folder. Fix: correct the path")
    layouts = _search(path, DEEPEST)
    if not layouts:
        raise GradrankError(f"{path}: no collection here: {EXPECTED}; found {_first_names(path)}")
    if len(layouts) > 1:
        folders = ", ".join(str(folder) for folder, _ in layouts)
        raise GradrankError(f"{path}: more than one collection. Fix: give the path of one of {folders}")
    return layouts[0][1]


def _first_names(folder: Path) -> str:
    """Return the names of the first files in a folder as text for an error message."""
    return ", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing"


def _check_queries(path: Path, needed: int) -> None:
    """Raise GradrankError if a text file has fewer queries than `needed`.

    Reading stops as soon as enough queries are found. Tables and files without any query are not checked here.
    """
    if is_table(path):
        return
    qids: set[bytes] = set()
    for line in lines(path):
        tokens = line.partition(b"#")[0].split(maxsplit=2)
        qids |= set(tokens[1:2])
        if len(qids) >= needed:
            return
    if qids:
        count = "1 query" if len(qids) == 1 else f"{len(qids)} queries"
        raise GradrankError(
            f"{path}: {count}, but dividing a file into {'five' if needed == 5 else 'two'} parts needs at least "
            f"{needed}. Fix: add queries, or give separate files for training, validation and test"
        )


def _search(folder: Path, depth: int) -> list[tuple[Path, Layout]]:
    """Return the collections found, as tuples of folder and layout.

    If `folder` itself is not a collection, its subfolders are searched, down to `depth` levels.
    """
    layout = _five_fold(folder) or _one_fold(folder)
    if layout is not None:
        return [(folder, layout)]
    if depth == 0:
        return []
    below = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return [layout for entry in below for layout in _search(entry, depth - 1)]


def _named(folder: Path, suffixes: tuple[str, ...], *names: str) -> Path | None:
    """Return the only file of a folder with one of these names and suffixes, or None if there is no such file.

    Raises GradrankError if there are several such files, or if the file is a broken link.
    """
    matches = [
        path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else ())
        if plain_name(path).suffix.lower() in suffixes
        and plain_name(path).stem.lower().replace("_", "").replace("-", "") in names
        and (path.is_file() or path.is_symlink())
    ]
    if broken := [path for path in matches if not path.is_file()]:
        raise GradrankError(f"{broken[0]}: a link to a file that does not exist. Fix: repair the link, or delete it")
    if len(matches) > 1:
        raise GradrankError(
            f"{folder}: {' and '.join(path.name for path in matches)} may each be the same part. Fix: keep one of them"
        )
    return matches[0] if matches else None


def _five_fold(folder: Path) -> Layout | None:
    """Return the layout of a folder with files S1 to S5 or folders Fold1 to Fold5, or None if it has neither.

    Raises GradrankError if some of these files are missing.
    """
    part_files = {part: _named(folder, (*TEXT, *TABLES), f"s{part}") for part in range(1, 6)}
    folders = {path.name.lower(): path for path in folder.iterdir() if path.is_dir()}
    folders = {k: folders[f"fold{k}"] for k in range(1, 6) if f"fold{k}" in folders}
    splits = {
        (k, split): path
        for k in folders
        for split in SPLITS
        if (path := _named(folders[k], (*TEXT, *TABLES), *NAMES[split]))
    }
    has_parts = any(part_files.values())
    if not has_parts and not folders:
        return None
    if folders and not splits and not has_parts:
        first = next(iter(folders.values()))
        raise GradrankError(
            f"{first}: no training, validation or test file here: {EXPECTED}; found {_first_names(first)}"
        )
    held_out = bool(splits) and not any(split == "vali" for _, split in splits)
    wanted = [split for split in SPLITS if not (held_out and split == "vali")]
    missing = []
    if splits:
        missing = [f"Fold{k}/{split}.txt" for k in range(1, 6) for split in wanted if (k, split) not in splits]
    if has_parts:
        missing = [f"S{part}.txt" for part, path in part_files.items() if path is None] + missing
    if missing:
        raise GradrankError(f"{folder}: this five-fold collection lacks {', '.join(missing)}: {EXPECTED}")
    copies = {path: _parts_of(k, split, held_out) for (k, split), path in splits.items()}
    sources = {part: path for part, path in sorted(part_files.items()) if path is not None}
    if not has_parts:
        sources = {ROTATION[k - 1]["test"][0]: splits.pop((k, "test")) for k in folders}
        copies = {path: copies[path] for path in splits.values()}
    note = (
        "the folds have no validation file: fold k validates on the part that fold k-1 tests on, and trains on the "
        "other three of its training file"
    )
    return Layout(
        "five_fold", dict(sorted(sources.items())), copies, ROTATION, [], not held_out, note if held_out else None
    )


def _parts_of(fold: int, split: str, held_out: bool) -> list[int]:
    """Return the parts in the file of a split. If `held_out`, the training file also contains the validation part."""
    parts = ROTATION[fold - 1]
    return parts["train"] + parts["vali"] if held_out and split == "train" else parts[split]


def _one_fold(folder: Path) -> Layout | None:
    """Return the layout of a folder with a training and a test file, or None if one of the two is missing."""
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
    """Return the number of the first line that differs from the concatenated originals, or None if no line differs.

    Lines are counted from 1.
    """
    return _first_difference(blocks(copy), chain.from_iterable(map(blocks, originals)))


def check_copies(
    layout: Layout, unit: str = "line", difference: Callable[[Path, Sequence[Path]], int | None] = differing_line
) -> None:
    """Raise GradrankError if a file of a fold does not repeat the parts that `layout.copies` lists for it.

    Parameters
    ----------
    unit
        The name of what `difference` counts, for the error message.
    difference
        A function of a file and its originals. It returns the number of the first unit that differs, or None if the
        file is equal to its originals. The default compares text byte by byte.
    """
    for copy, parts in layout.copies.items():
        differing: list[int] = []
        for order in [parts] if layout.in_order else permutations(parts):
            number = difference(copy, [layout.sources[part] for part in order])
            if number is None:
                break
            differing.append(number)
        else:
            originals = " + ".join(str(layout.sources[part]) for part in parts)
            raise GradrankError(
                f"{copy}: {unit} {max(differing)}: differs from {originals}, which this file must repeat. Fix: get the "
                "files of the folds and of the parts from the same release"
            )


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
