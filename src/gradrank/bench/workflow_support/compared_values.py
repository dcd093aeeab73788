"""The comparison of a fold that was trained again with the record of its data set and the values per query in git."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.bench.folds.evaluate import evaluate_part, resolve_conventions
from gradrank.bench.folds.per_query import COMPACT, DECIMALS
from gradrank.bench.folds.seeds import SEED
from gradrank.bench.provenance.record_code import Record
from gradrank.bench.provenance.records import scores_digest
from gradrank.bench.results import NumberedFold
from gradrank.bench.workflow_support.samples import Training
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements

UNKNOWN = "-"  # in `folds` of a record: a fold without a digest


class Comparison(NamedTuple):
    """The outcome of a comparison.

    text: the outcome in words. what: what was compared. values: what was compared of the values per query, if they are
    equal. digest: the digest of the new scores.
    """

    ok: bool
    text: str
    what: str = ""
    values: str = ""
    digest: str = ""


def compare(record: Record, training: Training, project: Path, folder: str) -> Comparison:
    """Compare a fold in a project's folder with the digest of its scores in the record, and with its values per query.

    The values per query are compared under every convention of queries.parquet.
    """
    fold = NumberedFold(project / folder)
    if not fold.finished:
        return Comparison(False, f"not trained; see {project}/logs/train/{folder.removeprefix('results/')}.log")
    digest, recorded = scores_digest(fold), _recorded_digest(record, training)
    outcomes = {} if recorded is None else {"scores": recorded == digest}
    committed = _committed_values(record, training)
    if committed is not None:
        conventions = committed["convention"].unique(maintain_order=True).to_list()
        metrics = [metric for metric in COMPACT if metric in committed.columns]
        values = f"values per query ({', '.join(metrics)} under {len(conventions)} conventions)"
        computed = _computed_values(project, fold, training, conventions, metrics)
        outcomes[values] = _are_equal(committed, computed, conventions, metrics)
    if not outcomes:
        return Comparison(False, "trained, but the record has nothing to compare with")
    wrong = [what for what, is_equal in outcomes.items() if not is_equal]
    what = " and ".join(outcomes)
    equal_values = next((each for each, is_equal in outcomes.items() if is_equal and each != "scores"), "")
    text = f"{' and '.join(wrong)} differ" if wrong else f"{what} are equal"
    return Comparison(not wrong, text, what, equal_values, digest)


def _recorded_digest(record: Record, training: Training) -> str | None:
    digests = record.methods[training.method].get("folds", {}).get(str(training.seed), "").split()
    found = digests[training.fold - 1] if len(digests) >= training.fold else UNKNOWN
    return None if found == UNKNOWN else found


def _committed_values(record: Record, training: Training) -> pl.DataFrame | None:
    """Return the rows of a training in queries.parquet; None if it has none."""
    path = record.path.with_name("queries.parquet")
    if not path.is_file():
        return None
    table = pl.scan_parquet(path).filter(model=training.method, fold=training.fold)
    if SEED in table.collect_schema().names():
        table = table.filter((pl.col(SEED) == training.seed) | pl.col(SEED).is_null())
    rows = table.collect()
    return None if rows.is_empty() else rows


def _computed_values(
    project: Path, fold: NumberedFold, training: Training, conventions: list[str], metrics: list[str]
) -> pl.DataFrame:
    stored = StoredCollection.open(project / "data/parquet" / training.dataset)
    judgements = read_judgements(stored, stored.fold(training.fold)["test"])
    resolved = resolve_conventions(stored, conventions)
    keys = {"fold": training.fold}
    return pl.concat(evaluate_part(fold, "test", judgements, resolved, metrics, keys, len(stored.folds)))


def _are_equal(committed: pl.DataFrame, computed: pl.DataFrame, conventions: list[str], metrics: list[str]) -> bool:
    """Return whether the values are equal, rounded as in queries.parquet, with equal queries in equal order."""
    for convention in conventions:
        old, new = committed.filter(convention=convention), computed.filter(convention=convention)
        if old["qid"].to_list() != new["qid"].to_list():
            return False
        for metric in metrics:
            rounded = np.round(new[metric].to_numpy(), DECIMALS).astype(np.float32)
            if not np.array_equal(old[metric].to_numpy(), rounded, equal_nan=True):
                return False
    return True
