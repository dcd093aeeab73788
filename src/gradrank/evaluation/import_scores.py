"""A ranking from elsewhere as a method: its score files take the place of a training job's.

The files are as of `gradrank.evaluation.score_files.read_scores`. What they leave out is left out by trec_eval's rule.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.files import atomic, sha256, write_json
from gradrank.base.processor import form
from gradrank.base.results import FoldFolder
from gradrank.base.stamps import write_stamp
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.score_file_pattern import IMPORTED, ORIGIN, score_files
from gradrank.evaluation.score_files import read_ranking
from gradrank.training.job import reproducible_files


def import_scores(scores: str, data: Path, fold: int, seed: int, out: Path, code: str = "") -> None:
    """Write `out` as a training job would: scores.parquet of the parts that there are, an empty history, spec.json.

    The model's folder holds origin.json, the files and their SHA-256. Column `ranked` says which documents the files
    rank. data: the stored collection. Raises GradrankError for a fold that does not exist and malformed files.
    """
    started = time.perf_counter()
    stored, made = StoredCollection.open(data), FoldFolder(out)
    parts = stored.fold(fold)
    files = score_files(scores, stored.name, fold)
    whole = [] if "{fold}" in scores else sorted(stored.parts)
    tables = [_part(path, stored, parts[split], whole, split) for split, path in files.items()]
    origin = [{"split": split, "path": str(path), "sha256": sha256(path)} for split, path in files.items()]
    made.spec_path.unlink(missing_ok=True)  # written last, it says that all is there
    write_json(made.model_path / ORIGIN, origin)
    with atomic(made.scores_path) as partial:
        pl.concat(tables).write_parquet(partial)
    with atomic(made.history_path) as partial:
        pl.DataFrame(schema={"step": pl.Int64}).write_parquet(partial)
    seconds = round(time.perf_counter() - started, 3)
    write_json(made.timing_path, {"seconds": seconds, "fit_seconds": 0.0, "peak_memory_mb": 0})
    spec = {
        "model": IMPORTED,
        "dataset": stored.name,
        "fold": fold,
        "params": {"scores": scores},
        "features": stored.features,
        "seed": seed,
        "data_sha256": stored.source_sha256,
        "splits": list(files),
        "scores_sha256": [each["sha256"] for each in origin],
        "versions": {"gradrank": __version__, "polars": pl.__version__},
        "inputs": {COLLECTION: sha256(data / COLLECTION)},
        "code": code,
        "processor": form(),
    }
    write_stamp(made.spec_path, spec, reproducible_files(made))


def _part(path: Path, data: StoredCollection, parts: Sequence[int], whole: Sequence[int], split: str) -> pl.DataFrame:
    """(n,) `split`, `score` and `ranked` of the rows of `parts`; whole: all parts, where the file ranks them all."""
    if not whole:
        _, scores, ranked = read_ranking(path, read_judgements(data, parts), split)
    else:
        by_part = _cut(path, data, whole, split)
        scores, ranked = (np.concatenate([by_part[part][kind] for part in parts]) for kind in (0, 1))
    return pl.DataFrame({"split": [split] * len(scores), "score": scores, "ranked": ranked})


def _cut(
    path: Path, data: StoredCollection, whole: Sequence[int], split: str
) -> Mapping[int, tuple[np.ndarray, np.ndarray]]:
    """By part scores and `ranked` of a file that ranks all rows, in the order of the user's own file or files."""
    stored = read_judgements(data, whole)
    queries = _file_order(data.division, len(stored.qids))
    sizes = np.diff(stored.offsets)
    rows = np.concatenate([np.arange(stored.offsets[q], stored.offsets[q + 1]) for q in queries.tolist()])
    own = replace(
        stored,
        labels=stored.labels[rows],
        offsets=np.r_[0, np.cumsum(sizes[queries])],
        qids=stored.qids[queries],
        docids=None if stored.docids is None else stored.docids[rows],
        names=None if stored.names is None else stored.names[queries],
    )
    found = read_ranking(path, own, split)[1:]
    back = np.argsort(rows)
    ends = np.cumsum([len(read_judgements(data, [part]).labels) for part in whole])
    pieces = (np.split(values[back], ends[:-1]) for values in found)
    return dict(zip(whole, zip(*pieces, strict=True), strict=True))


def _file_order(division: str | None, queries: int) -> np.ndarray:
    """(q,) positions of the queries among the stored ones, part after part, in the order of the files.

    division: the part of each query in that order, of files that were divided; None: parts are whole files.
    """
    if division is None:
        return np.arange(queries)
    return np.argsort(np.argsort(np.array(list(division)), kind="stable"))
