"""Generated fold layouts of a user's own data, and an independent script that reads them and trains with LightGBM.

The script reads the files itself and calls LightGBM directly. It uses nothing of gradrank, and follows only what the
documentation says about folds and held-out queries (docs/folds.md).
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lightgbm
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROUNDS = 5
SETTINGS = {"learning_rate": 0.2, "num_leaves": 7, "min_data_in_leaf": 3}
PARAMS = SETTINGS | {"bagging_fraction": 1.0, "rounds": ROUNDS, "patience": ROUNDS, "select_by": "map"}
FORMS = ("txt", "csv", "parquet")
KINDS = ("cross_validation", "letor", "other_rotation", "shuffled", "subsampled", "overlapping", "some_validation")
KINDS += ("one_fold", "folds", "fold_column")


class Query(NamedTuple):
    """One query: its id, its (n,) grades and its (n, d) float32 features."""

    qid: int
    labels: np.ndarray
    features: np.ndarray


class Case(NamedTuple):
    """A generated layout: its kind, the path to parse, and the options `folds`, `fold` and `validation`."""

    kind: str
    path: Path
    folds: int | None = None
    fold: str | None = None
    validation: float | None = None


# Generation


def generate(folder: Path, number: int, queries: int = 40) -> Case:
    """Write the layout with this number, and return it. Ten consecutive numbers have the ten kinds."""
    draw = np.random.default_rng(number)
    folder.mkdir(parents=True, exist_ok=True)
    kind, form = KINDS[number % len(KINDS)], FORMS[int(draw.integers(3))]
    data = {qid: _query(qid, draw) for qid in draw.permutation(10 * queries)[:queries].tolist()}
    validation = float(draw.choice([0.1, 0.2, 0.35])) if draw.random() < 0.4 else None
    ids = list(data)
    if kind in ("folds", "fold_column"):
        form = "csv" if kind == "fold_column" and form == "txt" else form
        folds = int(draw.integers(2, 13))
        labels = None
        if kind == "fold_column":
            names = draw.permutation([f"{label}" for label in draw.choice(40, folds, replace=False)]).tolist()
            labels = {qid: names[place % folds] for place, qid in enumerate(ids)}
        path = folder / f"data.{form}"
        _write(path, [data[qid] for qid in ids], labels)
        column = "part of" if kind == "fold_column" else None
        return Case(kind, path, folds if kind == "folds" else None, column, validation)
    splits = list(_splits(kind, ids, draw))
    for k, split in enumerate(splits, start=1):
        for name, members in split.items():
            below = folder if kind == "one_fold" and number % 20 < 10 else folder / f"Fold{k}"
            below.mkdir(parents=True, exist_ok=True)
            _write(below / f"{name}.{form}", [data[qid] for qid in members])
    return Case(kind, folder, validation=None if all("vali" in split for split in splits) else validation)


def _query(qid: int, draw: np.random.Generator) -> Query:
    count = int(draw.integers(3, 7))
    labels = draw.integers(0, 3, count)
    labels[draw.integers(count)] = 2
    features = (draw.random((count, 4)) + 0.3 * labels[:, None]).round(6).astype(np.float32)
    return Query(qid, labels, features)


def _splits(kind: str, ids: list[int], draw: np.random.Generator) -> Iterator[dict[str, list[int]]]:
    folds = 5 if kind in ("letor", "other_rotation") else 1 if kind == "one_fold" else int(draw.integers(2, 13))
    shares = [share.tolist() for share in np.array_split(ids, folds if folds > 1 else 4)]
    with_vali = draw.random() < 0.5
    for k in range(folds):
        if kind == "letor":  # fold 1 tests on the last part and validates on the part before
            order = [shares[(k + step) % 5] for step in range(5)]
        elif kind == "other_rotation":
            order = [shares[(2 * k + step) % 5] for step in (3, 1, 4, 2, 0)]
        else:
            order = [shares[(k + step) % len(shares)] for step in range(1, len(shares) + 1)]
        test, rest = order[-1], [qid for share in order[:-1] for qid in share]
        if kind in ("overlapping", "subsampled"):
            test = draw.choice(ids, len(ids) // 4, replace=False).tolist() if kind == "overlapping" else test
            rest = draw.choice([qid for qid in ids if qid not in test], len(ids) // 2, replace=False).tolist()
        if kind == "shuffled":
            rest = draw.permutation(rest).tolist()
        split = {"train": rest, "test": test}
        if (with_vali and kind != "some_validation") or (kind == "some_validation" and (k % 2 or folds == 1)):
            count = len(order[-2]) if len(order) > 2 and kind in ("letor", "other_rotation") else max(1, len(rest) // 4)
            split |= {"train": rest[:-count], "vali": rest[-count:]}
        yield split


def _write(path: Path, queries: list[Query], folds: dict[int, str] | None = None) -> None:
    if path.suffix == ".txt":
        with path.open("w") as file:
            for query in queries:
                for label, row in zip(query.labels, query.features, strict=True):
                    file.write(f"{label} qid:{query.qid} {' '.join(f'{k}:{x:.9g}' for k, x in enumerate(row, 1))}\n")
        return
    rows = [
        {"qid": query.qid, "label": int(label)}
        | ({} if folds is None else {"part of": folds[query.qid]})
        | {f"x{k}": float(x) for k, x in enumerate(row)}
        for query in queries
        for label, row in zip(query.labels, query.features, strict=True)
    ]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


# The independent script


def read(path: Path, column: str | None = None) -> tuple[list[Query], list[str]]:
    """Read the queries of a file, and the value of a column for each query."""
    if path.suffix == ".txt":
        tokens = [line.split() for line in path.read_text().splitlines()]
        rows = [(int(t[1][4:]), int(t[0]), [float(x.partition(":")[2]) for x in t[2:]], "") for t in tokens]
    else:
        with path.open() as file:
            table = list(csv.DictReader(file)) if path.suffix == ".csv" else pq.read_table(path).to_pylist()
        rows = [
            (int(r["qid"]), int(r["label"]), [float(r[f"x{k}"]) for k in range(4)], r[column] if column else "")
            for r in table
        ]
    by_query: dict[int, list[tuple]] = {}
    for row in rows:
        by_query.setdefault(row[0], []).append(row)
    queries = [
        Query(qid, np.array([row[1] for row in group]), np.array([row[2] for row in group], np.float32))
        for qid, group in by_query.items()
    ]
    return queries, [group[0][3] for group in by_query.values()]


def folds_of(case: Case, seed: int) -> list[dict[str, list[Query]]]:
    """Return the queries of each split of each fold, as the documentation describes them."""
    if case.path.is_file():
        return _folds_of_file(case, seed)
    folders = sorted(case.path.glob("Fold*"), key=lambda path: int(path.name[4:])) or [case.path]
    folds = []
    for folder in folders:
        files = {name: next(iter(folder.glob(f"{name}.*")), None) for name in ("train", "vali", "test")}
        folds.append({name: read(path)[0] for name, path in files.items() if path})
    tests = [{query.qid for query in fold["test"]} for fold in folds]
    whole = (
        case.validation is None
        and len(folds) > 2
        and not any("vali" in fold for fold in folds)
        and all(_are_union({q.qid for q in fold["train"]}, tests, k) for k, fold in enumerate(folds))
    )
    for k, fold in enumerate(folds):
        if "vali" not in fold and whole:
            fold["vali"] = [query for query in fold["train"] if query.qid in tests[k - 1]]
            fold["train"] = [query for query in fold["train"] if query.qid not in tests[k - 1]]
        elif "vali" not in fold:
            fold["train"], fold["vali"] = _hold_out(fold["train"], case.validation, seed + k)
    return folds


def _are_union(train: set[int], tests: list[set[int]], k: int) -> bool:
    others = [test for j, test in enumerate(tests) if j != k]
    if sum(map(len, others)) != len(set().union(*others)):
        return False
    inside = [test for test in others if test <= train]
    return tests[k - 1] in inside and len(inside) > 1 and set().union(*inside) == train


def _hold_out(train: list[Query], share: float | None, seed: int) -> tuple[list[Query], list[Query]]:
    count = min(len(train) - 1, max(1, round((0.2 if share is None else share) * len(train))))
    held = set(np.random.default_rng(seed).permutation(len(train))[:count].tolist())
    return [q for i, q in enumerate(train) if i not in held], [q for i, q in enumerate(train) if i in held]


def _folds_of_file(case: Case, seed: int) -> list[dict[str, list[Query]]]:
    queries, labels = read(case.path, case.fold)
    if case.fold:
        values = sorted(set(labels), key=float)
        parts = [[i for i, label in enumerate(labels) if label == value] for value in values]
        tested = list(range(len(parts)))
    else:
        count = case.folds or 5
        parts = [
            sorted(share) for share in np.array_split(np.random.default_rng(seed).permutation(len(queries)), count)
        ]
        tested = [count - 1, *range(count - 1)] if count > 2 and case.validation is None else list(range(count))
    folds = []
    for k, test in enumerate(tested):
        if len(parts) > 2 and case.validation is None:
            vali = parts[test - 1]
            train = [i for step in range(1, len(parts) - 1) for i in parts[(test + step) % len(parts)]]
            split = {"train": [queries[i] for i in train], "vali": [queries[i] for i in vali]}
        else:
            rest = [query for i, query in enumerate(queries) if i not in set(parts[test])]
            split = dict(zip(("train", "vali"), _hold_out(rest, case.validation, seed + k), strict=True))
        folds.append(split | {"test": [queries[i] for i in parts[test]]})
    return folds


def train(fold: dict[str, list[Query]]) -> dict[str, list[np.ndarray]]:
    """Train LambdaMART with LightGBM, select the number of trees by MAP on validation; return scores per query."""
    rows = fold["train"]
    settings = SETTINGS | {"objective": "lambdarank", "label_gain": [0, 1, 3], "deterministic": True, "verbosity": -1}
    settings |= {"force_row_wise": True, "feature_pre_filter": False, "num_threads": 1}
    data = lightgbm.Dataset(
        np.concatenate([query.features for query in rows]),
        np.concatenate([query.labels for query in rows]),
        group=[len(query.labels) for query in rows],
    )
    booster = lightgbm.train(settings, data, ROUNDS)
    best, kept = -1.0, 1
    for trees in range(1, booster.num_trees() + 1):
        values = [
            _expected_precision(query.labels, np.asarray(booster.predict(query.features, num_iteration=trees)))
            for query in fold["vali"]
        ]
        if (value := math.fsum(values) / len(values)) > best:
            best, kept = value, trees
    return {
        name: [np.asarray(booster.predict(query.features, num_iteration=kept)) for query in queries]
        for name, queries in fold.items()
    }


def _expected_precision(labels: np.ndarray, scores: np.ndarray) -> float:
    """Average precision in expectation over the orders of equal scores."""
    total, before, hits = 0.0, 0, 0
    for score in np.unique(scores)[::-1]:
        size, relevant = int((scores == score).sum()), int((labels[scores == score] > 0).sum())
        for place in range(1, size + 1):
            expected = hits + 1 + (place - 1) * (relevant - 1) / max(size - 1, 1)
            total += relevant / size * expected / (before + place)
        before, hits = before + size, hits + relevant
    return total / hits


def ndcg(labels: np.ndarray, scores: np.ndarray) -> float:
    """NDCG@10 with gain 2^y - 1 and discount 1/log2(rank + 1). Equal scores keep the order of the file."""

    def dcg(order: np.ndarray) -> float:
        return math.fsum((2.0 ** labels[i] - 1) / math.log2(rank + 2) for rank, i in enumerate(order[:10]))

    return dcg(np.argsort(-scores, kind="stable")) / dcg(np.argsort(-labels, kind="stable"))
