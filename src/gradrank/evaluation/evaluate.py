"""Evaluation from scores alone, of a score file or of a model's folds: a new metric retrains nothing."""

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
from gradrank.base.results import FoldFolder, MethodFolder
from gradrank.base.stamps import write_stamp
from gradrank.base.validation import flat
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns
from gradrank.evaluation.conventions import Convention, resolve
from gradrank.evaluation.judgements import Judgements, read_judgements
from gradrank.evaluation.metrics import compute
from gradrank.evaluation.per_query import QUERY
from gradrank.evaluation.score_file_pattern import SPLITS
from gradrank.evaluation.score_files import read_ranking
from gradrank.evaluation.seeds import SEED

TYPES = {"fold": pl.Int8, SEED: pl.Int32}  # of the columns that are no text
LETOR_TABLES = (
    {f"P@{k}": f"p@{k}" for k in range(1, 11)} | {"MAP": "map"},
    {f"NDCG@{k}": f"ndcg@{k}" for k in range(1, 11)} | {"MeanNDCG": "mean_ndcg"},
)


def evaluate_file(
    scores: Path | str,
    data: Path | str,
    convention: str | Convention,
    metrics: Sequence[str],
    split: str = "test",
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """A row a query of `data`: `qid`, then one column a metric.

    data: a stored collection, a file in any form that training reads (columns: those of a table), TREC's qrels. scores:
    as in `read_ranking`. An undefined value is null. Raises GradrankError for malformed scores, naming file, line and
    reason.
    """
    judgements, values, ranked = read_ranking(scores, read_judgements(data, columns=columns), split)
    table = _table(judgements, values, resolve(convention), metrics, ranked)
    return table.select(pl.Series("qid", judgements.ids), *metrics)


def letor_report(
    scores: Path | str,
    data: Path | str,
    convention: str | Convention = "letor4",
    split: str = "test",
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> str:
    """The two tables that LETOR's own evaluation program prints, character for character."""
    names = [name for table in LETOR_TABLES for name in table.values()]
    values = evaluate_file(scores, data, convention, names, split, columns)
    lines = []
    for table in LETOR_TABLES:
        means = (f"{values[name].mean():.4f}" for name in table.values())
        lines += ["\t".join(["qid", *table]), "\t".join(["Average", *means]), ""]
    return "\n".join(lines) + "\n"


def evaluate_folds(
    folder: Path | str,
    data: Path | str,
    spec: Mapping[str, Any],
    conventions: Sequence[str],
    metrics: Sequence[str],
    further_seeds: Sequence[int] = (),
    code: str = "",
) -> None:
    """Write `folder`/per_query.parquet and its stamp from the scores in `folder`/fold<k>/ of the collection `data`.

    Columns `convention`, `fold`, `split` (train, vali, test), `qid`, `query` (where ids are text), one per metric (null
    where undefined); `seed` after the fold, where there are several. spec: `model`, `dataset`, `params` and `seed` in
    force; further_seeds: those whose folds are `folder`/fold<k>/seed<s>/. code: the digest of the code that measures,
    for the stamp. Raises GradrankError where a fold's spec.json says that it was trained with others or on other data,
    and for malformed scores.
    """
    method, data = MethodFolder(Path(folder)), Path(data)
    stored = StoredCollection.open(data)
    highest = max(int(grade) for part in stored.parts for grade in stored.part(part)["labels"])
    chosen = [resolve(name) for name in conventions]
    # ERR's highest grade is the collection's, whichever grades a part happens to hold.
    chosen = [replace(each, max_grade=highest) if each.max_grade is None else each for each in chosen]
    tables, read = [], {COLLECTION: sha256(data / COLLECTION)}
    for seed in (None, *further_seeds):
        for number, parts in enumerate(stored.folds, start=1):
            fold = method.fold(number, seed)
            wanted = dict(spec) | {"fold": number, "data_sha256": stored.source_sha256}
            wanted |= {} if seed is None else {SEED: seed}
            _check(fold, wanted)
            read[fold.scores_path.relative_to(method.folder).as_posix()] = sha256(fold.scores_path)
            about = {name: wanted[name] for name in ("fold", *([SEED] if further_seeds else []))}
            for split in fold.spec().get("splits", SPLITS):
                judgements = read_judgements(stored, parts[split])
                tables += _measured(fold, split, judgements, chosen, metrics, about)
    order = {convention.name: i for i, convention in enumerate(chosen)}
    joined = pl.concat(tables).sort(pl.col("convention").replace_strict(order), maintain_order=True)
    with atomic(method.per_query_path) as partial:
        joined.write_parquet(partial)
    said = {"conventions": list(conventions), "metrics": list(metrics), "inputs": read, "code": code}
    versions = {"gradrank": __version__, "numpy": np.__version__, "polars": pl.__version__}
    stamp = said | {"versions": versions, "processor": form()}
    write_stamp(method.evaluation_path, stamp, [method.per_query_path])


def _measured(
    fold: FoldFolder,
    split: str,
    judgements: Judgements,
    conventions: Sequence[Convention],
    metrics: Sequence[str],
    about: Mapping[str, int],
) -> Iterator[pl.DataFrame]:
    """A part's values under each convention, with columns that say what they are of in front."""
    judgements, scores, ranked = read_ranking(fold.scores_path, judgements, split)
    for convention in conventions:
        labels = {"convention": convention.name} | dict(about) | {"split": split}
        columns = [pl.lit(value, dtype=TYPES.get(name)).alias(name) for name, value in labels.items()]
        yield _table(judgements, scores, convention, metrics, ranked).select(*columns, pl.all())


def _table(
    judgements: Judgements, scores: np.ndarray, convention: Convention, metrics: Sequence[str], ranked: np.ndarray
) -> pl.DataFrame:
    labels, offsets, ids = judgements.labels, judgements.offsets, judgements.docids
    values = compute(metrics, scores, labels, offsets, convention, ids, None if ranked.all() else ranked)
    ids = {"qid": judgements.qids} | ({} if judgements.names is None else {QUERY: judgements.names})
    return pl.DataFrame(ids | values).with_columns(pl.col(metrics).fill_nan(None))


def _check(fold: FoldFolder, wanted: Mapping[str, Any]) -> None:
    """Refuse scores that other parameters, another seed or other data made, and those that are not the job's own."""
    if not fold.finished:
        raise GradrankError(f"{fold.spec_path}: no such file. Fix: train this fold first")
    spec = fold.spec()
    found, wanted = flat({key: spec.get(key) for key in wanted}), flat(wanted)
    differing = [
        f"{key} is {found.get(key)!r} in it, {wanted.get(key)!r} now"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    ]
    if differing:
        raise GradrankError(f"{fold.spec_path}: scores of other settings, train again: {'; '.join(differing)}")
    fold.check(fold.scores_path)
