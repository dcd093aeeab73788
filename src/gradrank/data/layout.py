"""Recognition of the files and folds of a collection on disk.

Four layouts are recognised. The files are in the given folder, or in the only folder below it that has such a layout.

- `parts`: S1.txt to S5.txt, which are the parts of LETOR's rotation. Folders Fold1 to Fold5 may repeat the parts.
- `folds`: folders Fold1 to FoldK, each with a training file, a test file and perhaps a validation file.
- `one_fold`: a training file, a test file and perhaps a validation file of a single fold.
- `single_file`: one file, whose queries are divided into folds, at random or by a column.

A file is text (.txt, .svm, .letor, .libsvm, .dat) or a table (.parquet, .csv, .tsv, JSON lines as .jsonl or .ndjson,
Feather as .feather or .arrow), plain or compressed (.gz, .xz, .zst). The file name without suffixes is one of NAMES, in
any letter case. For example, the training file is trainingset.txt in LETOR 3.0 and train.txt in LETOR 4.0. In one_fold,
the suffix can be the name instead, as in LightGBM's rank.train.

The division of the queries into parts is in data/fold_parts.py. Importing this module is fast, because the workflow
imports it at every start.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import PACKED, check_form, lines, plain_name, readable_path

SPLITS = ("train", "vali", "test")
NAMES = {
    "train": ("train", "training", "trainingset"),
    "vali": ("vali", "valid", "val", "validation", "validationset", "dev"),
    "test": ("test", "testing", "testset"),
}
TEXT, TABLES = (
    (".txt", ".svm", ".letor", ".libsvm", ".dat"),
    (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".feather", ".arrow"),
)
FOLDS = 5  # number of folds into which a single file is divided by default
DEEPEST = 3  # levels of subfolders that are searched
EXPECTED = (
    "expected S1.txt to S5.txt, or Fold1, Fold2 and so on with train.txt, vali.txt and test.txt each, "
    "or train.txt, vali.txt and test.txt, or the path of one file. Accepted names, in any letter case: "
    + "; ".join(f"{split}: {', '.join(names)}" for split, names in NAMES.items())
    + f"; with the suffix {', '.join((*TEXT, *TABLES))}, and if compressed {', '.join(PACKED)}"
)


class FoldOptions(NamedTuple):
    """How a user's own data are divided into folds and parts.

    Parameters
    ----------
    folds
        The number of folds into which a single file is divided at random. None means FOLDS.
    fold
        The column of a single table whose values are the test folds.
    validation
        The share of the training queries that is held out in each fold without a validation file. With None, the
        share is `held_out.HELD_OUT`, unless a whole part is left to validate on.
    header
        False if CSV and TSV files have no header. `fold` is then the number of a column.
    """

    folds: int | None = None
    fold: str | None = None
    validation: float | None = None
    header: bool = True


def rotation(folds: int, first: int) -> list[dict[str, list[int]]]:
    """Return the parts of each fold for a rotation over as many parts as folds (at least 3).

    Fold 1 tests on part `first`, fold 2 on the next part, and so on. A fold validates on the part before its test part,
    and trains on all other parts.
    """

    def part(number: int) -> int:
        return (number - 1) % folds + 1

    tests = [part(first + fold) for fold in range(folds)]
    return [
        {"train": [part(test + k) for k in range(1, folds - 1)], "vali": [part(test - 1)], "test": [test]}
        for test in tests
    ]


# Fold k trains on parts k, k+1, k+2, validates on k+3 and tests on k+4 (Qin and Liu 2013, table 2).
ROTATION = rotation(5, 5)


@dataclass(frozen=True)
class Rotation:
    """The files of LETOR's rotation.

    Parameters
    ----------
    sources
        A dict from part number to the file that contains the part.
    copies
        A dict from each file that repeats parts to the numbers of the parts that the file must repeat.
    in_order
        True if the files in `copies` repeat their parts in the listed order, False if the order may differ.
    """

    sources: dict[int, Path]
    copies: dict[Path, list[int]]
    in_order: bool = True


@dataclass(frozen=True)
class Layout:
    """The files of a collection.

    Parameters
    ----------
    kind
        The layout, as described at the top of this module.
    files
        All files that parsing reads.
    folds
        The number of folds.
    splits
        One dict per fold, from the splits `train`, `vali` and `test` to files. A fold without a validation file has no
        `vali`. Empty for `parts` and `single_file`.
    rotation
        The files as a rotation: of `parts`, whose files must repeat it, and of five `folds`, whose files may repeat it.
    fold_values
        The values of the column `fold`, one per fold. None without this column.
    """

    kind: Literal["parts", "folds", "one_fold", "single_file"]
    files: list[Path]
    folds: int
    splits: list[dict[str, Path]] = field(default_factory=list)
    rotation: Rotation | None = None
    fold_values: list[str] | None = None


def is_table(path: Path) -> bool:
    """Return True if a file has the suffix of a table or begins as a Parquet file."""
    return plain_name(path).suffix.lower() in TABLES or _begins_as_parquet(path)


def _begins_as_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1"


def find_layout(path: Path | str, options: FoldOptions = FoldOptions()) -> Layout:  # noqa: B008 - immutable
    """Return the layout of the collection at `path`, a folder or a single file.

    Raises GradrankError if no collection or more than one is found, if one of its files is missing, if a text file has
    too few queries to be divided, or if `options` do not apply to the layout.
    """
    path = readable_path(path)
    if path.is_file():
        check_form(path)
        return _single_file(path, options)
    if not path.is_dir():
        raise GradrankError(f"{path}: no such file or folder. Fix: correct the path")
    layouts = _search(path, DEEPEST)
    if not layouts:
        raise GradrankError(f"{path}: no collection here: {EXPECTED}; found {_first_names(path)}")
    if len(layouts) > 1:
        folders = ", ".join(str(folder) for folder, _ in layouts)
        raise GradrankError(f"{path}: more than one collection. Fix: give the path of one of {folders}")
    layout = layouts[0][1]
    if options.folds is not None or options.fold is not None:
        raise GradrankError(
            f"{path}: `folds` and `fold` divide a single file, but this folder has separate files. Fix: remove the "
            "setting, or give the path of one file"
        )
    if options.validation is not None and all("vali" in files for files in layout.splits):
        raise GradrankError(
            f"{path}: `validation` is a share of the training queries to hold out, but every fold has a validation "
            "part. Fix: remove the setting, or the validation files"
        )
    return layout


def _single_file(path: Path, options: FoldOptions) -> Layout:
    if options.fold is None:
        folds = options.folds or FOLDS
        _check_queries(path, folds)
        return Layout("single_file", [path], folds)
    if options.folds is not None:
        raise GradrankError(
            f"{path}: both `folds` and `fold` are given. Fix: give a number of folds, or the column that has them"
        )
    if not is_table(path):
        raise GradrankError(
            f"{path}: `fold` names a column, but this file is text, which has no column names. Fix: set `folds`, the "
            "number of folds"
        )
    from gradrank.data.tables.fold_column import fold_values

    values = fold_values(path, options.fold, options.header)
    return Layout("single_file", [path], len(values), fold_values=values)


def _first_names(folder: Path) -> str:
    """Return the names of the first files in a folder as text for an error message."""
    return ", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing"


def _check_queries(path: Path, needed: int) -> None:
    """Raise GradrankError if a text file has fewer queries than `needed`.

    Reading stops as soon as enough queries are found. Tables and files without any query are not checked here.
    """
    if is_table(path) or any(path.with_name(path.name + suffix).is_file() for suffix in (".query", ".group")):
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
            f"{path}: {count}, but dividing this file into {needed} parts needs at least {needed}. Fix: add queries, "
            "or give separate files for training, validation and test"
        )


def _search(folder: Path, depth: int) -> list[tuple[Path, Layout]]:
    """Return the collections found, as tuples of folder and layout.

    If `folder` itself is not a collection, its subfolders are searched, down to `depth` levels.
    """
    layout = _folds(folder) or _one_fold(folder)
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


def _with_suffix(folder: Path, split: str) -> Path | None:
    """Return the only file of a folder whose suffix names a split, such as LightGBM's rank.train. None without one."""
    suffixes = {f".{name}" for name in NAMES[split]}
    found = [path for path in folder.iterdir() if path.is_file() and plain_name(path).suffix.lower() in suffixes]
    return found[0] if len(found) == 1 else None


def _folds(folder: Path) -> Layout | None:
    """Return the layout of a folder with files S1 to S5 or folders Fold1 to FoldK, or None if it has neither.

    Raises GradrankError if some of these files are missing.
    """
    part_files = {part: _named(folder, (*TEXT, *TABLES), f"s{part}") for part in range(1, 6)}
    has_parts = any(part_files.values())
    numbered = (
        (re.fullmatch(r"fold([1-9]\d*)", path.name.lower()), path) for path in folder.iterdir() if path.is_dir()
    )
    folders = dict(sorted((int(match[1]), path) for match, path in numbered if match))
    if not has_parts and not folders:
        return None
    splits = {
        k: {split: path for split in SPLITS if (path := _named(folders[k], (*TEXT, *TABLES), *NAMES[split]))}
        for k in folders
    }
    if folders and not any(splits.values()) and not has_parts:
        first = next(iter(folders.values()))
        raise GradrankError(
            f"{first}: no training, validation or test file here: {EXPECTED}; found {_first_names(first)}"
        )
    missing = []
    if any(splits.values()):
        last = max(5, *splits) if has_parts else max(splits)
        needed = ((k, split) for k in range(1, last + 1) for split in ("train", "test"))
        missing = [f"Fold{k}/{split}.txt" for k, split in needed if split not in splits.get(k, {})]
    if has_parts:
        missing = [f"S{part}.txt" for part, path in part_files.items() if path is None] + missing
    if missing:
        raise GradrankError(f"{folder}: this collection lacks {', '.join(missing)}: {EXPECTED}")
    files = list(splits.values()) if any(splits.values()) else []
    if has_parts:
        return _parts(folder, {part: path for part, path in part_files.items() if path is not None}, files)
    every = [file for split in SPLITS for fold in files if (file := fold.get(split))]
    if len(files) == 1:
        return Layout("one_fold", list(files[0].values()), 1, files)
    return Layout("folds", every, len(files), files, _rotation(files))


def _parts(folder: Path, sources: dict[int, Path], files: Sequence[dict[str, Path]]) -> Layout:
    """Return the layout of S1 to S5, and of the files of five folds if there are any."""
    rotation = Rotation(sources, {})
    if files:
        repeated = _rotation(files)
        if repeated is None:
            raise GradrankError(
                f"{folder}: S1.txt to S5.txt are the parts of five folds, which all have a validation file or all have "
                "none; the folders differ from this. Fix: keep S1.txt to S5.txt, or the folders"
            )
        tests = {path: [part] for part, path in repeated.sources.items()}
        rotation = Rotation(sources, repeated.copies | tests, repeated.in_order)
    return Layout("parts", [*sources.values(), *rotation.copies], 5, [], rotation)


def _rotation(files: Sequence[Mapping[str, Path]]) -> Rotation | None:
    """Return the files of five folds as LETOR's rotation, if either all folds have a validation file or none has one.

    Without validation files, the training file of a fold also contains the part on which the rotation validates.
    """
    with_vali = {"vali" in fold for fold in files}
    if len(files) != len(ROTATION) or len(with_vali) > 1:
        return None
    held_out = not with_vali.pop()
    sources = {parts["test"][0]: fold["test"] for fold, parts in zip(files, ROTATION, strict=True)}
    copies = {}
    for fold, parts in zip(files, ROTATION, strict=True):
        copies[fold["train"]] = parts["train"] + (parts["vali"] if held_out else [])
        if not held_out:
            copies[fold["vali"]] = parts["vali"]
    return Rotation(dict(sorted(sources.items())), copies, not held_out)


def _one_fold(folder: Path) -> Layout | None:
    """Return the layout of a folder with a training and a test file, or None if one of the two is missing."""
    files = {split: path for split in SPLITS if (path := _named(folder, (*TEXT, *TABLES), *NAMES[split]))}
    if not files:
        files = {split: path for split in SPLITS if (path := _with_suffix(folder, split))}
    if "train" not in files or "test" not in files:
        return None
    if "vali" not in files:
        _check_queries(files["train"], 2)
    return Layout("one_fold", list(files.values()), 1, [files])
