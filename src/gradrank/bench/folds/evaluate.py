"""Evaluation of all folds of a model. Only scores are read, so a new metric needs no training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, sha256
from gradrank.base.processor import form
from gradrank.base.stamps import check_own_files, write_stamp
from gradrank.base.validation import flat
from gradrank.bench.folds.per_query import SEED
from gradrank.bench.folds.settings import SPLITS
from gradrank.bench.results import MethodFolder
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.query_values import query_table
from gradrank.measures.score_files import read_ranking
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.score_checks import has_order

TYPES = {"fold": pl.Int8, SEED: pl.Int32}  # key: name of a key column that is not text; value: its type
CONSTANT_FOLDS = "constant"  # key of evaluation.json: the folds whose test scores are equal within each query
MOST_FOLDS = 127  # folds beyond this number need a wider type


def evaluate_folds(
    folder: Path | str,
    data: Path | str,
    spec: Mapping[str, Any],
    conventions: Sequence[str],
    metrics: Sequence[str],
    further_seeds: Sequence[int] = (),
    code: str = "",
) -> None:
    """Write `folder`/per_query.parquet and its checksum file evaluation.json from the scores in `folder`/fold<k>/.

    The columns are `convention`, `fold`, `seed` (if there are several seeds), `split` (train, vali or test), `qid`,
    `query` (if the ids are text) and one column per metric. Undefined values are null. data: the stored collection.
    spec: the configured `model`, `dataset`, `params` and `seed`. further_seeds: seeds whose folds are in
    `folder`/fold<k>/seed<s>/. code: digest of the evaluation code, recorded in evaluation.json. If all test documents
    of each query of a fold have the same score, evaluation.json names the fold. Raises GradrankError if a fold is
    missing, if it was trained with other settings or on other data, if its scores are malformed, or if one of the two
    files exists and gradrank has not written it.
    """
    method, data = MethodFolder(Path(folder)), Path(data)
    check_own_files(method.evaluation_path, (method.per_query_path, method.evaluation_path))
    stored = StoredCollection.open(data)
    resolved = resolve_conventions(stored, conventions)
    tables, inputs, constant = [], {COLLECTION: sha256(data / COLLECTION)}, []
    for seed in (None, *further_seeds):
        for number, parts in enumerate(stored.folds, start=1):
            fold = method.fold(number, seed)
            expected = dict(spec) | {"fold": number, "data_sha256": stored.source_sha256}
            expected |= {} if seed is None else {SEED: seed}
            _check(fold, expected)
            inputs[fold.scores_path.relative_to(method.folder).as_posix()] = sha256(fold.scores_path)
            keys = {name: expected[name] for name in ("fold", *([SEED] if further_seeds else []))}
            for split in fold.spec().get("splits", SPLITS):
                judgements = read_judgements(stored, parts[split])
                tables += evaluate_part(fold, split, judgements, resolved, metrics, keys, len(stored.folds))
                if split == "test" and _is_constant(fold, judgements):
                    constant.append(fold.folder.relative_to(method.folder).as_posix())
    order = {convention.name: i for i, convention in enumerate(resolved)}
    joined = pl.concat(tables).sort(pl.col("convention").replace_strict(order), maintain_order=True)
    with atomic(method.per_query_path) as partial:
        joined.write_parquet(partial)
    stamp = {"conventions": list(conventions), "metrics": list(metrics), "inputs": inputs, "code": code}
    versions = {"gradrank": __version__, "numpy": np.__version__, "polars": pl.__version__}
    stamp |= {"versions": versions, "processor": form()} | ({CONSTANT_FOLDS: constant} if constant else {})
    write_stamp(method.evaluation_path, stamp, [method.per_query_path])


def _is_constant(fold: FoldFolder, judgements: Judgements) -> bool:
    """Return whether all test documents of each query have the same score, and a query has several documents."""
    judgements, scores, ranked = read_ranking(fold.scores_path, judgements, "test")
    scores = np.where(ranked, scores, -np.inf)
    return not has_order(scores, judgements.offsets) and bool(np.any(np.diff(judgements.offsets) > 1))


def resolve_conventions(stored: StoredCollection, names: Sequence[str]) -> list[Convention]:
    """Return the conventions with these names, with the highest grade of the collection for ERR.

    It must be the highest grade of the whole collection, not that of the part being evaluated.
    """
    highest = max(int(grade) for part in stored.parts for grade in stored.part(part)["labels"])
    conventions = [resolve(name) for name in names]
    return [replace(each, max_grade=highest) if each.max_grade is None else each for each in conventions]


def evaluate_part(
    fold: FoldFolder,
    split: str,
    judgements: Judgements,
    conventions: Sequence[Convention],
    metrics: Sequence[str],
    keys: Mapping[str, int],
    folds: int,
) -> Iterator[pl.DataFrame]:
    """Yield one table per convention with the metric values of one part.

    The first columns are `convention`, the keys of `keys`, and `split`. folds: the number of folds.
    """
    judgements, scores, ranked = read_ranking(fold.scores_path, judgements, split)
    types = TYPES | ({"fold": pl.Int16} if folds > MOST_FOLDS else {})
    for convention in conventions:
        row_keys = {"convention": convention.name} | dict(keys) | {"split": split}
        columns = [pl.lit(value, dtype=types.get(name)).alias(name) for name, value in row_keys.items()]
        yield query_table(judgements, scores, convention, metrics, ranked).select(*columns, pl.all())


def _check(fold: FoldFolder, expected: Mapping[str, Any]) -> None:
    """Raise GradrankError if a fold is unfinished or has unexpected settings, or if its scores were edited."""
    if not fold.finished:
        raise GradrankError(f"{fold.spec_path}: no such file. Fix: train this fold first")
    spec = fold.spec()
    recorded, expected = flat({key: spec.get(key) for key in expected}), flat(expected)
    differing = [
        f"{key} is {recorded.get(key)!r} in the file but {expected.get(key)!r} now"
        for key in sorted(recorded.keys() | expected.keys())
        if recorded.get(key) != expected.get(key)
    ]
    if differing:
        raise GradrankError(
            f"{fold.spec_path}: the fold was trained with other settings: {'; '.join(differing)}. Fix: train it again"
        )
    fold.check(fold.scores_path)
