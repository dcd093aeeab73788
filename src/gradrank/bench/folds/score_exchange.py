"""Score files of other systems: import in place of a training job, and export of the test rankings of a method.

The forms of the files are those of `gradrank.measures.score_files.read_scores`. Documents without a score have no
rank, as in trec_eval.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256, write_json
from gradrank.base.processor import form
from gradrank.base.stamps import CONTENTS, check_own_folder, write_contents, write_stamp
from gradrank.bench.folds.job import reproducible_files
from gradrank.bench.folds.settings import IMPORTED, ORIGIN, score_files
from gradrank.bench.results import MethodFolder
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.export.rankings import KINDS, export_scores, export_trec
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_ranking, read_scores
from gradrank.training.fold_folder import FoldFolder, partial_folder, publish


def import_scores(scores: str, data: Path, fold: int, seed: int, out: Path, code: str = "") -> None:
    """Write the folder `out` as a training job would: scores.parquet, an empty history, timing.json and spec.json.

    scores: the pattern of the score files (`gradrank.bench.folds.settings`). data: the stored collection.
    seed, code: recorded in spec.json. scores.parquet contains the parts for which the pattern has score files. Its
    column `ranked` is False for documents that the files do not rank. model/origin.json records the score files and
    their SHA-256. Raises GradrankError if the fold does not exist, a file is malformed, or `out` contains other files.
    """
    started = time.perf_counter()
    stored = StoredCollection.open(data)
    parts = stored.fold(fold)
    files = score_files(scores, stored.name, fold)
    needed = {part for split in files for part in parts[split]}
    whole = [] if "{fold}" in scores else _whole_file(scores, stored, needed)
    tables = [_part(path, stored, parts[split], whole, split) for split, path in files.items()]
    origin = [{"split": split, "path": str(path), "sha256": sha256(path)} for split, path in files.items()]
    spec = {
        "model": IMPORTED,
        "dataset": stored.name,
        "fold": fold,
        "params": {"scores": scores},
        "features": stored.features,
        "seed": seed,
        "data_sha256": stored.source_sha256,
        "splits": list(files),
        "scores_sha256": [file["sha256"] for file in origin],
        "versions": {"gradrank": __version__, "polars": pl.__version__},
        "inputs": {COLLECTION: sha256(data / COLLECTION)},
        "code": code,
        "processor": form(),
    }
    with partial_folder(out, [data, *files.values()]) as folder:
        write_json(folder.model_path / ORIGIN, origin)
        pl.concat(tables).write_parquet(folder.scores_path)
        pl.DataFrame(schema={"step": pl.Int64}).write_parquet(folder.history_path)
        seconds = round(time.perf_counter() - started, 3)
        write_json(folder.timing_path, {"seconds": seconds, "fit_seconds": 0.0, "peak_memory_mb": 0})
        write_stamp(folder.spec_path, spec, reproducible_files(folder))
        publish(folder, FoldFolder(out))


def _whole_file(scores: str, data: StoredCollection, needed: set[int]) -> list[int]:
    """Return the parts that a file with the scores of the whole collection ranks.

    needed: the parts whose scores are imported. Raises GradrankError if the user's files have no single order, because
    the files of different folds share queries, or if a needed part repeats queries of others.
    """
    parts = sorted(set(data.division or data.parts))
    if "files" in data.description or not needed <= set(parts):
        raise GradrankError(
            f"{scores}: one file cannot rank the whole collection, because its folds share queries. Fix: give one file "
            "per fold, with `{fold}` in its name"
        )
    return parts


def _part(path: Path, data: StoredCollection, parts: Sequence[int], whole: Sequence[int], split: str) -> pl.DataFrame:
    """Return a table with the columns `split`, `score` and `ranked` for the rows of `parts`.

    whole: all parts of the collection if the file ranks the whole collection; otherwise empty.
    """
    if not whole:
        _, scores, ranked = read_ranking(path, read_judgements(data, parts), split)
    else:
        by_part = _scores_by_part(path, data, whole, split)
        scores, ranked = (np.concatenate([by_part[part][kind] for part in parts]) for kind in (0, 1))
    return pl.DataFrame({"split": [split] * len(scores), "score": scores, "ranked": ranked})


def _scores_by_part(
    path: Path, data: StoredCollection, whole: Sequence[int], split: str
) -> Mapping[int, tuple[np.ndarray, np.ndarray]]:
    """Read a file that ranks all rows of the collection, in the order of the user's data files.

    Returns a dict. The keys are part numbers, the values are the (n,) scores and the (n,) booleans `ranked`.
    """
    stored = read_judgements(data, whole)
    queries = _file_order(data.division, len(stored.qids))
    sizes = np.diff(stored.offsets)
    offsets = stored.offsets.tolist()
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries.tolist()])
    in_file_order = replace(
        stored,
        labels=stored.labels[rows],
        offsets=np.r_[0, np.cumsum(sizes[queries])],
        qids=stored.qids[queries],
        docids=None if stored.docids is None else stored.docids[rows],
        names=None if stored.names is None else stored.names[queries],
    )
    _, scores, ranked = read_ranking(path, in_file_order, split)
    stored_order = np.argsort(rows)
    ends = np.cumsum([len(read_judgements(data, [part]).labels) for part in whole])
    pieces = (np.split(values[stored_order], ends[:-1]) for values in (scores, ranked))
    return dict(zip(whole, zip(*pieces, strict=True), strict=True))


def _file_order(division: Sequence[int] | None, queries: int) -> np.ndarray:
    """Return (q,) positions in the stored collection, one per query in the order of the user's files.

    division: the part of each query, in the order of the user's files. None if each part is a whole file.
    """
    if division is None:
        return np.arange(queries)
    return np.argsort(np.argsort(np.array(division), kind="stable"))


def export_model(folder: Path | str, data: Path | str, out: Path | str) -> list[Path]:
    """Write the test rankings of a trained model to `out`/fold<k>.{run,qrels,scores}.txt, and return the paths.

    folder: the method's folder, which contains fold1, fold2 and so on. data: the stored collection. Raises
    GradrankError for missing or malformed scores, for ids that TREC files do not allow, and if `out` contains other
    files.
    """
    method, stored, out = MethodFolder(Path(folder)), StoredCollection.open(data), Path(out)
    check_own_folder(out / CONTENTS, [method.folder, stored.path])
    names = [f"fold{number}.{kind}.txt" for number in range(1, len(stored.folds) + 1) for kind in KINDS]
    write_contents(out, names)  # before the files, so that they are known as ours if the process is killed
    written = []
    for number, parts in enumerate(stored.folds, start=1):
        judgements = read_judgements(stored, parts["test"])
        scores = read_scores(method.fold(number).scores_path, judgements)
        run, qrels, score_file = (out / f"fold{number}.{kind}.txt" for kind in KINDS)
        export_trec(scores, judgements, run, qrels, tag=method.name)
        export_scores(scores, score_file)
        written += [run, qrels, score_file]
    return written
