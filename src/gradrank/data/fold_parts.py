"""Division of the queries of a collection into parts, and the parts of each fold.

Every split of a fold is a union of parts, and every part is stored once.

- LETOR's rotation (five folds whose files repeat one another) and five files S1 to S5 are five parts.
- A training, a validation and a test file of a single fold are parts 1, 2 and 3.
- Otherwise, the parts are found by content. Each test file is a part, whose queries keep their order. A training or
  validation file whose queries are exactly those of other parts is stored as these parts. Its queries then have the
  order of the parts, which differs from the file only if the file mixes the queries of several parts, or changes the
  order within a part. Any other file is a part of its own. Equal files are stored once.

Queries are equal if they have the same id and the same rows in the same order. Within a fold, a query id must not be in
two files. Different folds may share queries, and may have different rows for one id. Files of a single fold may each
number their queries from 1, so an id in two of them is an error only if the rows are equal (data/checks.py).

Without a validation file, queries are held out for validation (data/fold_parts.py):

- of folds whose training files consist of the test files of other folds, and of a single file that is divided into
  three folds or more: a whole part. Fold k validates on the part that fold k-1 tests on.
- otherwise, or if the user gives a share: a share of the training queries, in file order. Fold k draws them with the
  seed s + k - 1, so that the folds hold out different queries, and fold 1 those of `gradrank.Ranker.fit` with seed s.

`gradrank.Ranker.fit`, parsing and `gradrank inspect` use the same default share and the same draw.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.layout import ROTATION, FoldOptions, Layout, Rotation, rotation
from gradrank.data.tables.fold_column import folds_of_queries
from gradrank.data.tables.table import DataTable
from gradrank.data.text.letor import chunks, map_ahead
from gradrank.data.text.text_file import TextFile

HELD_OUT = 0.2  # share of the training queries
DRAWN, TEST_PART, ONE_PART = "drawn", "test_part", "one_part"  # how the validation part was chosen


def draw_held_out(queries: int, seed: int, share: float = HELD_OUT) -> np.ndarray:
    """Return a (q,) mask of the queries that are held out: at least one, and not all.

    queries: the number of training queries, at least 2. share: the share to hold out, between 0 and 1.
    """
    mask = np.zeros(queries, dtype=bool)
    count = min(queries - 1, max(1, round(share * queries)))
    mask[np.random.default_rng(seed).permutation(queries)[:count]] = True
    return mask


def describe_held_out(
    choice: str, folds: Sequence[int], held: Sequence[int], trained: Sequence[int], share: float | None = None
) -> dict[str, Any]:
    """Return the entry `held_out` of collection.json.

    choice: DRAWN, TEST_PART or ONE_PART. folds: the numbers of the folds without a validation file. held, trained: for
    each of these folds, the numbers of queries that are held out and that are left for training. share: the requested
    share; None if no share was requested.
    """
    shares = [round(count / (count + left), 4) for count, left in zip(held, trained, strict=True)]
    described = {"choice": choice, "folds": list(folds), "queries": list(held), "shares": shares}
    return described if share is None else described | {"share": share}


def held_out_sentence(description: Mapping[str, Any] | None) -> str | None:
    """Return a sentence about the queries that are held out for validation; None if no queries are held out.

    description: the content of collection.json, or None.
    """
    held = (description or {}).get("held_out")
    if held is None:
        return None
    queries, shares = held["queries"], held["shares"]
    folds = len((description or {})["folds"])
    count = f"{_span([f'{count:,}' for count in queries], queries)} {'query' if queries == [1] else 'queries'}"
    share = f"{_span([f'{share:.0%}' for share in shares], shares)} of the training queries"
    per_fold = f" of each of {len(queries)} folds" if len(queries) > 1 else ""
    if held["choice"] == TEST_PART:
        how = "each fold validates on the part that the fold before tests on"
    elif held["choice"] == ONE_PART:
        how = f"each fold validates on one of the {folds} parts of the file"
    else:
        how = "they are drawn with the seed"
    which = f" (folds {', '.join(map(str, held['folds']))})" if len(held["folds"]) < folds else ""
    return f"No validation file{which}: {share}{per_fold} are held out for validation ({count}); {how}."


def _span(texts: Sequence[str], values: Sequence[float]) -> str:
    """Return the text of the lowest and of the highest value, or one text if both are equal."""
    low, high = texts[values.index(min(values))], texts[values.index(max(values))]
    return low if low == high else f"{low} to {high}"


Source = TextFile | DataTable
Sources = Mapping[Path, Source]  # key: a file
MOST_NAMED = 3  # maximum number of queries named in a note
# Pairs of splits that must not share a query, with what a fold would do otherwise.
SEPARATE = {
    ("train", "test"): "test on a query that it trains on",
    ("vali", "test"): "test on a query that it selects its model with",
    ("train", "vali"): "select its model on a query that it trains on",
}


class Part(NamedTuple):
    """The queries of one part: the file that contains them, and their ascending positions in that file."""

    source: Source
    queries: np.ndarray


class Division(NamedTuple):
    """The parts of a collection and its folds.

    Parameters
    ----------
    parts
        A dict from part number to part.
    folds
        One dict per fold, from the splits `train`, `vali` and `test` to part numbers.
    held_out
        The entry `held_out` of collection.json (see `describe_held_out`); None if all folds have validation files.
    is_new
        A dict from part number to a (q,) mask of the queries that no earlier part contains.
    notes
        Decisions that the user may not expect.
    """

    parts: dict[int, Part]
    folds: list[dict[str, list[int]]]
    held_out: dict[str, Any] | None
    is_new: dict[int, np.ndarray]
    notes: list[str]


def divide(
    layout: Layout, repeated: Rotation | None, sources: Sources, options: FoldOptions, seed: int, width: int
) -> Division:
    """Divide the queries of a collection into parts.

    Parameters
    ----------
    layout
        The files.
    repeated
        The rotation, if the files are one.
    sources
        The queries of each file. With a rotation, only the files of its parts.
    options
        The settings of the user.
    seed
        The seed with which a single file is divided, and with which queries are held out.
    width
        The number of features, from which the memory for reading is estimated.

    Raises GradrankError if a query is in two files of a fold, and if a file has too few queries to be divided.
    """
    if repeated is not None:
        return _rotated(repeated, sources)
    if layout.kind == "one_fold":
        return _one_fold({split: sources[file] for split, file in layout.splits[0].items()}, options, seed)
    if layout.kind == "single_file":
        (source,) = sources.values()
        return _single_file(source, layout.folds, options, seed)
    return _by_content(layout.splits, sources, options, seed, width)


def division_text(sources: Sources, divided: Division) -> str | None:
    """Return the part number of each query in file order as text: one digit per query, or numbers between blanks.

    If a query is in several parts, it is the number of its test part. None if each part is a whole file.
    """
    parts = divided.parts
    if len(parts) == len(sources):
        return None
    if not all(is_new.all() for is_new in divided.is_new.values()):
        parts = {number: parts[number] for fold in divided.folds for number in fold["test"]}
    numbers = []
    for source in sources.values():
        part_of_query = np.zeros(len(source.qids), np.int64)
        for number, part in parts.items():
            if part.source is source:
                part_of_query[part.queries] = number
        numbers += part_of_query.tolist()
    return ("" if max(numbers) < 10 else " ").join(map(str, numbers))


def tests_overlap(divided: Division) -> bool:
    """Return True if a query id is in the test parts of several folds."""
    tests = (divided.parts[number] for fold in divided.folds for number in fold["test"])
    ids = np.concatenate([part.source.qids[part.queries] for part in tests])
    return len(np.unique(ids)) < len(ids)


def _whole(source: Source) -> Part:
    return Part(source, np.arange(len(source.qids)))


def _rotated(repeated: Rotation, sources: Sources) -> Division:
    """Return the five parts of LETOR's rotation. Raises GradrankError if two parts contain the same query id."""
    parts = {number: _whole(sources[file]) for number, file in repeated.sources.items()}
    for number, part in parts.items():
        for other in list(parts.values())[: number - 1]:
            for query in np.flatnonzero(np.isin(part.source.qids, other.source.qids))[:1]:
                raise part.source.error_at(
                    query,
                    f"query {part.source.ids[query]} is in {other.source.path} too. Fix: keep each query in one part",
                )
    held_out = None if repeated.in_order else _held_parts(TEST_PART, parts, ROTATION)
    return Division(parts, ROTATION, held_out, _all_new(parts), [])


def _one_fold(sources: Mapping[str, Source], options: FoldOptions, seed: int) -> Division:
    train, held_out = _whole(sources["train"]), None
    if "vali" in sources:
        vali = _whole(sources["vali"])
    else:
        train, vali = _hold_out(train, options, seed, 1)
        held_out = _drawn([1], [train], [vali], options)
    parts = {1: train, 2: vali, 3: _whole(sources["test"])}
    return Division(parts, [{"train": [1], "vali": [2], "test": [3]}], held_out, _all_new(parts), [])


def _single_file(source: Source, folds: int, options: FoldOptions, seed: int) -> Division:
    """Divide a file at random or by a column. Raises GradrankError if it has fewer queries than folds."""
    if options.fold is not None and isinstance(source, DataTable):
        of_queries = folds_of_queries(source, options.fold, options.header)
        shares = [np.flatnonzero(of_queries == fold) for fold in range(folds)]
    else:
        count = len(source.qids)
        if count < folds:
            raise GradrankError(
                f"{source.path}: {count} queries, but dividing it into {folds} parts needs at least {folds}. "
                "Fix: add queries, or give separate files for training, validation and test"
            )
        shares = [np.sort(share) for share in np.array_split(np.random.default_rng(seed).permutation(count), folds)]
    parts = {number: Part(source, share) for number, share in enumerate(shares, start=1)}
    if folds > 2 and options.validation is None:
        rotated = rotation(folds, first=folds if options.fold is None else 1)
        return Division(parts, rotated, _held_parts(ONE_PART, parts, rotated), _all_new(parts), [])
    splits = []
    for number, test in parts.items():
        rest = np.sort(np.concatenate([part.queries for other, part in parts.items() if other != number]))
        train, vali = _hold_out(Part(source, rest), options, seed, number)
        splits.append({"train": train, "vali": vali, "test": test})
    trained, held = ([fold[split] for fold in splits] for split in ("train", "vali"))
    keys = {Path(source.path): np.arange(len(source.qids))}
    return _stored(splits, keys, _drawn(range(1, folds + 1), trained, held, options), [])


def _by_content(
    files: Sequence[Mapping[str, Path]], sources: Sources, options: FoldOptions, seed: int, width: int
) -> Division:
    """Divide the files of several folds into parts by their content."""
    splits = [{split: _whole(sources[file]) for split, file in fold.items()} for fold in files]
    for number, fold in enumerate(splits, start=1):
        _check_separate(number, fold)
    keys, notes = _keys(sources, width)
    lacking = [k for k, fold in enumerate(splits) if "vali" not in fold]
    if not lacking:
        return _stored(splits, keys, None, notes)
    whole = options.validation is None and len(lacking) == len(splits) and _train_on_tests(splits, keys)
    for k in lacking:
        if whole:
            vali = splits[k - 1]["test"]
            is_held = np.isin(_keys_of(splits[k]["train"], keys), _keys_of(vali, keys))
            train = Part(splits[k]["train"].source, np.flatnonzero(~is_held))
        else:
            train, vali = _hold_out(splits[k]["train"], options, seed, k + 1)
        splits[k] |= {"train": train, "vali": vali}
    trained, held = ([splits[k][split] for k in lacking] for split in ("train", "vali"))
    numbers = [k + 1 for k in lacking]
    if whole:
        held_out = describe_held_out(TEST_PART, numbers, _sizes(held), _sizes(trained))
    else:
        held_out = _drawn(numbers, trained, held, options)
    return _stored(splits, keys, held_out, notes)


def _check_separate(number: int, fold: Mapping[str, Part]) -> None:
    """Raise GradrankError if two files of a fold contain the same query id."""
    for (first, second), mistake in SEPARATE.items():
        if first in fold and second in fold:
            a, b = fold[first].source, fold[second].source
            for query in np.flatnonzero(np.isin(b.qids, a.qids))[:1]:
                raise b.error_at(
                    query,
                    f"query {b.ids[query]} is in {a.path} too, so fold {number} would {mistake}. Fix: remove the query "
                    "from one of the two files",
                )


def _keys(sources: Sources, width: int) -> tuple[dict[Path, np.ndarray], list[str]]:
    """Return one number per query of each file, which is equal for equal queries, and notes.

    A note names the query ids that have different rows in different files.
    """
    numbers: dict[tuple[int, bytes], int] = {}
    files_of: dict[int, dict[bytes, str]] = {}  # key: a query number; value: the first file with each content
    names: dict[int, Any] = {}
    keys = {}
    for file, source in sources.items():
        every = map_ahead(source.digests, chunks(source, np.arange(len(source.qids)), width))
        digests = [digest for chunk in every for digest in chunk]
        pairs = list(zip(source.qids.tolist(), digests, strict=True))
        keys[file] = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
        for (qid, digest), name in zip(pairs, source.ids.tolist(), strict=True):
            files_of.setdefault(qid, {}).setdefault(digest, f"{file.parent.name}/{file.name}")
            names[qid] = name
    differing = [qid for qid, files in files_of.items() if len(files) > 1]
    if not differing:
        return keys, []
    shown = [f"{names[qid]} ({', '.join(files_of[qid].values())})" for qid in differing[:MOST_NAMED]]
    more = ", .." if len(differing) > MOST_NAMED else ""
    count = "1 query id has" if len(differing) == 1 else f"{len(differing)} query ids have"
    return keys, [
        f"WARNING: {count} different rows in the files of different folds, which are stored as different queries: "
        f"{', '.join(shown)}{more}"
    ]


def _keys_of(part: Part, keys: Mapping[Path, np.ndarray]) -> np.ndarray:
    return keys[Path(part.source.path)][part.queries]


def _train_on_tests(splits: Sequence[Mapping[str, Part]], keys: Mapping[Path, np.ndarray]) -> bool:
    """Return True if each training file consists of the test files of other folds, of the fold before and of more."""
    tests = [_keys_of(fold["test"], keys) for fold in splits]
    for k, fold in enumerate(splits):
        others = [tests[k - 1], *(test for j, test in enumerate(tests) if j not in (k, (k - 1) % len(tests)))]
        cover = _cover(_keys_of(fold["train"], keys), others)
        if cover is None or len(cover) < 2 or 0 not in cover:
            return False
    return True


def _cover(wanted: np.ndarray, parts: Sequence[np.ndarray]) -> list[int] | None:
    """Return the positions of parts that together have exactly the wanted queries, each once; None if not found.

    They are in the order in which their first queries are wanted. A single part is preferred. Otherwise, parts are
    tried in their order, so that an exact cover may be missed if parts overlap.
    """
    left = set(wanted.tolist())
    for position, part in enumerate(parts):
        if len(part) == len(left) and left.issuperset(part.tolist()):
            return [position]
    chosen = []
    for position, part in enumerate(parts):
        if len(part) <= len(left) and left.issuperset(part.tolist()):
            left.difference_update(part.tolist())
            chosen.append(position)
    place = {query: position for position, query in enumerate(wanted.tolist())}
    return None if left else sorted(chosen, key=lambda position: place[int(parts[position][0])])


def _stored(
    splits: Sequence[Mapping[str, Part]],
    keys: Mapping[Path, np.ndarray],
    held_out: dict[str, Any] | None,
    notes: list[str],
) -> Division:
    """Return the parts from which the splits of all folds are put together. Test parts come first."""
    parts: list[Part] = []
    contents: list[np.ndarray] = []
    folds: list[dict[str, list[int]]] = [{} for _ in splits]
    for split in ("test", "vali", "train"):
        for fold, numbers in zip(splits, folds, strict=True):
            own = _keys_of(fold[split], keys)
            if split == "test":
                cover = [position for position, part in enumerate(contents) if np.array_equal(part, own)][:1] or None
            else:
                cover = _cover(own, contents)
            if cover is None:
                cover = [len(parts)]
                parts.append(fold[split])
                contents.append(own)
            numbers[split] = [position + 1 for position in cover]
    in_order = [{split: numbers[split] for split in ("train", "vali", "test")} for numbers in folds]
    is_new, seen = {}, np.zeros(max(int(content.max()) for content in contents) + 1, dtype=bool)
    for number, content in enumerate(contents, start=1):
        is_new[number] = ~seen[content]
        seen[content] = True
    return Division(dict(enumerate(parts, start=1)), in_order, held_out, is_new, notes)


def _all_new(parts: Mapping[int, Part]) -> dict[int, np.ndarray]:
    return {number: np.ones(len(part.queries), dtype=bool) for number, part in parts.items()}


def _hold_out(train: Part, options: FoldOptions, seed: int, fold: int) -> tuple[Part, Part]:
    """Return the training queries of a fold that are left, and those that are held out for validation."""
    count = len(train.queries)
    if count < 2:
        raise GradrankError(
            f"{train.source.path}: 1 query for training, so no query can be held out for validation: at least 2 are "
            "needed. Fix: add queries, or give a validation file"
        )
    mask = draw_held_out(count, seed + fold - 1, options.validation or HELD_OUT)
    return Part(train.source, train.queries[~mask]), Part(train.source, train.queries[mask])


def _sizes(parts: Sequence[Part]) -> list[int]:
    return [len(part.queries) for part in parts]


def _drawn(folds: Sequence[int], trained: Sequence[Part], held: Sequence[Part], options: FoldOptions) -> dict[str, Any]:
    share = options.validation or HELD_OUT
    return describe_held_out(DRAWN, folds, _sizes(held), _sizes(trained), share)


def _held_parts(choice: str, parts: Mapping[int, Part], folds: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, Any]:
    """Describe the validation parts of a rotation."""
    held, trained = (
        [sum(len(parts[part].queries) for part in fold[split]) for fold in folds] for split in ("vali", "train")
    )
    return describe_held_out(choice, range(1, len(folds) + 1), held, trained)
