"""Submissions: the folder submissions/<dataset>/<method>/ of a pull request, with the results of one new method.

Its files:

- scores/: the scores of the test parts, one Parquet file per fold and seed;
- queries.parquet: the values per query, as in results/<dataset>/;
- model.py or model/: the code of the model, if its scores were not imported;
- publication.bib: the BibTeX entry of the method, if it is published;
- submission.json: the stamp, with the method, its authors and settings, and the checksums of all files and of the data.

A submission can be checked without training: its scores must give its values.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from inspect import getfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.errors import GradrankError
from gradrank.base.files import check_folder_output, sha256, temporary_folder
from gradrank.base.processor import form
from gradrank.base.stamps import mismatches, read_stamp, write_stamp
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.per_query import (
    COMPACT,
    QueryValues,
    compact_conventions,
    mean_over_seeds,
    measured_folds,
    read_compact,
    write_compact,
)
from gradrank.bench.folds.score_exchange import import_scores
from gradrank.bench.folds.settings import IMPORTED
from gradrank.bench.provenance.records import training_code
from gradrank.bench.provenance.verify import Check
from gradrank.bench.results import DatasetFolder, MethodFolder, NumberedFold
from gradrank.data.part_files import COLLECTION
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.query_values import query_table
from gradrank.measures.score_files import read_ranking
from gradrank.training.registry import get_model

SUBMISSIONS = Path("submissions")
STAMP = "submission.json"
QUERIES = "queries.parquet"
_SCORES = re.compile(r"scores/fold[0-9]+(-seed[0-9]+)?\.parquet")
TOLERANCE = 2e-6  # of a value per query: both values are rounded to six decimals


SEED = 0  # of imported scores, which no seed affects


def import_method(method: MethodFolder, scores: str, data: Path) -> None:
    """Import the score files of another program as a method, and evaluate it under the conventions of the leaderboard.

    scores: the pattern of the score files (`gradrank.bench.folds.settings`). data: the stored collection.
    """
    conventions = _conventions(method.dataset_folder.queries_path)
    stored = StoredCollection.open(data)
    for number in range(1, len(stored.folds) + 1):
        import_scores(scores, data, number, SEED, method.fold(number).folder, code_digest("import_scores"))
    spec = {"model": IMPORTED, "dataset": stored.name, "params": {"scores": scores}, "seed": SEED}
    evaluate_folds(method.folder, data, spec, conventions, COMPACT, code=code_digest("evaluate_folds"))


def submit(method: MethodFolder, data: Path, out: Path, about: Mapping[str, Any], publication: Path | None) -> None:
    """Write the submission of an evaluated method into the folder `out`, which must not exist.

    data: the stored collection. about: what submission.json says about the method in addition to its settings, such as
    `authors`. publication: a BibTeX file. The primary convention and the queries are those of
    results/<dataset>/queries.parquet. Raises GradrankError if the method is not evaluated, if a file does not match its
    stamp, if the code of the model has changed since it was trained, or if the queries differ.
    """
    if os.path.lexists(out):
        raise GradrankError(f"{out}: exists. Fix: delete it, or choose another folder with --out")
    folds = measured_folds(method)
    if not method.evaluated or not folds:
        raise GradrankError(
            f"{method.folder}: not evaluated. Fix: run `snakemake --cores 2 {method.dataset}`, or name score files "
            "with --scores"
        )
    method.check()
    for fold in folds:
        fold.check(fold.scores_path)
    specs = [fold.spec() for fold in folds]
    committed = method.dataset_folder.queries_path
    convention = _conventions(committed)[0]
    check_folder_output(out, filter(None, (method.folder, data, publication)))
    with temporary_folder(out) as partial:
        (partial / "scores").mkdir()
        for fold in folds:
            pl.read_parquet(fold.scores_path).filter(split="test").write_parquet(partial / _scores_name(fold))
        _copy_model(specs[0], partial)
        if publication is not None:
            shutil.copyfile(publication, partial / "publication.bib")
        _write_values(method, convention, partial / QUERIES)
        _check_queries(partial / QUERIES, committed, method.name)
        values = {"method": method.name, "dataset": method.dataset, "convention": convention, **about}
        values |= {key: specs[0][key] for key in ("model", "params", "seed", "code")}
        values |= {"versions": specs[0]["versions"] | {"gradrank": __version__}, "processor": form()}
        values |= {"data_sha256": specs[0]["data_sha256"], "inputs": {COLLECTION: sha256(data / COLLECTION)}}
        write_stamp(partial / STAMP, values, [path for path in partial.rglob("*") if path.is_file()])
        partial.replace(os.path.realpath(out))


def _scores_name(fold: NumberedFold) -> str:
    seed = "" if fold.seed is None else f"-seed{fold.seed}"
    return f"scores/fold{fold.number}{seed}.parquet"


def _conventions(path: Path) -> list[str]:
    """Return the conventions of the committed results of a data set. The primary convention is the first."""
    if not path.is_file():
        raise GradrankError(f"{path}: no such file, so there is no leaderboard to submit to. Fix: work in a checkout")
    return compact_conventions(path)


def _copy_model(spec: Mapping[str, Any], out: Path) -> None:
    """Copy the code of the model, unless the scores were imported.

    Raises GradrankError if the code has changed since the training.
    """
    if spec["model"] == IMPORTED:
        return
    cls = get_model(spec["model"])
    if training_code(spec["model"], spec["params"]) != spec["code"]:
        raise GradrankError(
            f"{spec['model']}: its code has changed since {spec['dataset']} was trained. Fix: run Snakemake again"
        )
    path = Path(getfile(cls))
    if path.name == "__init__.py":
        shutil.copytree(path.parent, out / "model", ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(path, out / "model.py")


def _write_values(method: MethodFolder, convention: str, path: Path) -> None:
    """Write the compact values per query of one method."""
    with TemporaryDirectory() as folder:
        dataset = DatasetFolder(Path(folder) / method.dataset)
        copy = dataset.method(method.name)
        copy.folder.mkdir(parents=True)
        shutil.copyfile(method.per_query_path, copy.per_query_path)
        write_compact(dataset, [method.name], convention)
        if convention not in compact_conventions(dataset.queries_path):
            raise GradrankError(
                f"{method.folder}: not evaluated under {convention}, the convention of the committed results. Fix: add "
                "it to evaluation.conventions in params.yaml, and run Snakemake again"
            )
        shutil.copyfile(dataset.queries_path, path)


def _check_queries(path: Path, committed: Path, method: str) -> None:
    ours, theirs = read_compact(path)[1][method], next(iter(read_compact(committed)[1].values()))
    if not ours.reordered_like(theirs).same_queries(theirs):
        raise GradrankError(
            f"{path}: other folds or queries than {committed}. Fix: evaluate the method on the same data"
        )


def check_submissions(folder: Path, results: Path, data: Path) -> Iterator[Check]:
    """Yield the outcomes for every submission below `folder`.

    results: the results root. data: the folder of the stored collections. The values are computed again from the scores
    if the data set is stored.
    """
    for stamp in sorted(folder.glob(f"*/*/{STAMP}")):
        yield from _check_submission(stamp, results, data)


def _check_submission(stamp: Path, results: Path, data: Path) -> Iterator[Check]:
    again = f"delete {stamp.parent}, and run `gradrank submit` again"
    wrong = list(mismatches(stamp))
    yield from (Check(False, f"{path}: {reason}", again) for path, reason in wrong)
    if wrong:
        return
    about, queries = read_stamp(stamp), stamp.parent / QUERIES
    if fault := _fault(stamp, about):
        yield Check(False, f"{stamp}: {fault}, so `gradrank submit` did not write this file", again)
        return
    name, dataset = f"submission {about['dataset']}/{about['method']}", about["dataset"]
    try:
        _check_queries(queries, results / dataset / QUERIES, about["method"])
        yield from _check_scores(stamp, about, data / dataset, again)
    except GradrankError as error:
        yield Check(False, f"{name}: {str(error).partition(' Fix: ')[0]}", again)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:  # of files with unexpected columns
        yield Check(False, f"{name}: its values or scores cannot be read ({error!r})", again)


def _check_scores(stamp: Path, about: Mapping[str, Any], stored: Path, again: str) -> Iterator[Check]:
    """Compare the values of a submission with its scores. stored: the folder of the stored collection."""
    dataset = about["dataset"]
    name = f"submission {dataset}/{about['method']}"
    if not (stored / COLLECTION).is_file():
        yield Check(None, f"{name}: the scores are not checked, because {dataset} is not stored here")
    elif StoredCollection.open(stored).source_sha256 != about["data_sha256"]:
        yield Check(False, f"{name}: made from other data than {stored}", f"store {dataset} again, then {again}")
    else:
        difference = _largest_difference(stamp.parent, about, stored)
        is_equal = difference <= TOLERANCE
        text = "its scores give its values" if is_equal else f"its scores give other values (by up to {difference:.6f})"
        yield Check(is_equal, f"{name}: {text}", again)


def _fault(stamp: Path, about: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the content of a submission.json, as text for messages; None if nothing is."""
    place = {"dataset": stamp.parent.parent.name, "method": stamp.parent.name}
    for key, folder in place.items():
        if about.get(key) != folder:
            return f"`{key}` is not the name of its folder, {folder}"
    if not isinstance(about.get("data_sha256"), str):
        return "`data_sha256` is not text"
    if QUERIES not in about["files"]:
        return f"{QUERIES} is not in `files`"
    scores = [name for name in about["files"] if name.startswith("scores/")]
    written = {path.relative_to(stamp.parent).as_posix() for path in stamp.parent.glob("scores/*")}
    if not scores or not all(map(_SCORES.fullmatch, scores)):
        return "`files` lists other scores than scores/fold<k>.parquet and scores/fold<k>-seed<s>.parquet"
    return f"{min(written - {*scores})} is not in `files`" if written - {*scores} else None


def _largest_difference(folder: Path, about: Mapping[str, Any], data: Path) -> float:
    """Return the largest difference, under any convention, between the values of a submission and those of its scores.

    The result is inf if the queries differ.
    """
    largest = 0.0
    for convention in compact_conventions(folder / QUERIES):
        given = read_compact(folder / QUERIES, convention)[1][about["method"]]
        measured = scored_values(folder, convention, data).reordered_like(given)
        if not measured.same_queries(given):
            return np.inf
        for metric, of in given.values.items():
            gap = np.abs(np.nan_to_num(measured.values[metric], nan=-1) - np.nan_to_num(of, nan=-1))
            largest = max(largest, float(gap.max(initial=0.0)))
    return largest


def scored_values(folder: Path, convention: str, data: Path) -> QueryValues:
    """Return the values per query of the scores of a submission. data: the stored collection."""
    stored, resolved = StoredCollection.open(data), resolve(convention)
    seeds: dict[str, list[pl.DataFrame]] = {}
    for path in sorted((folder / "scores").glob("fold*.parquet")):
        number, _, seed = path.stem.removeprefix("fold").partition("-")
        judgements, scores, ranked = read_ranking(
            path, read_judgements(stored, stored.fold(int(number))["test"]), "test"
        )
        table = query_table(judgements, scores, resolved, list(COMPACT), ranked)
        seeds.setdefault(seed, []).append(table.select(pl.lit(int(number)).alias("fold"), pl.all()))
    tables = [pl.concat(sorted(tables, key=lambda table: table["fold"][0])) for tables in seeds.values()]
    ids = "query" if "query" in tables[0].columns else "qid"
    values = [{metric: table[metric].fill_null(np.nan).to_numpy() for metric in COMPACT} for table in tables]
    return mean_over_seeds(tables[0]["fold"].to_numpy(), tables[0][ids].to_numpy(), values)
