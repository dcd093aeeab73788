"""The stage `explanations`: it explains the best methods of a data set on the test parts of all folds.

Its result is results/<dataset>/explanations.json, which the report shows. Nothing is chosen by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import form
from gradrank.base.stamps import SCHEMA, check_own_files, write_sealed
from gradrank.base.text_tables import is_missing
from gradrank.bench.folds.per_query import QueryValues, read_test_queries, seeds_of
from gradrank.bench.folds.settings import IMPORTED
from gradrank.bench.report.contents import read_dataset
from gradrank.bench.report.standings import Standing, standings
from gradrank.bench.results import DatasetFolder
from gradrank.data.stored import StoredCollection
from gradrank.explanations.importance import importance
from gradrank.explanations.pairs import explain_pair
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.ranking import Ranking
from gradrank.training.literature import OTHERS
from gradrank.training.trained_fold import TrainedFold

MOST_METHODS = 4


def choose_methods(ranked: Sequence[Standing]) -> list[Standing]:
    """Return the methods to explain, best first: at most MOST_METHODS.

    They are the two methods of `choose_opponents`, and the best of the methods that are not significantly worse than
    the best one. ranked: the methods, best first.
    """
    opponents = choose_opponents(ranked)
    level = [row for row in ranked if not row.is_worse and row not in opponents]
    chosen = [*opponents, *level[: MOST_METHODS - len(opponents)]]
    return [row for row in ranked if row in chosen]


def choose_opponents(ranked: Sequence[Standing]) -> list[Standing]:
    """Return the best method and the best method of another family.

    If all methods are of one family, the second method is the second best. If there is only one method, the list has
    one item. The models of the family OTHERS count as families of their own.
    """
    best = ranked[:1]
    others = [row for row in ranked[1:] if row.family == OTHERS or row.family != best[0].family]
    return [*best, *(others or ranked[1:])[:1]]


def most_different(first: np.ndarray, second: np.ndarray, qids: np.ndarray) -> Iterator[int]:
    """Yield the positions of the queries on which two methods differ, the greatest difference first.

    Equal differences are in the order of the positions. A query that is tested in several folds is yielded once.

    first, second: (q,) values of the two methods; a query with a missing value (nan) is left out. qids: (q,) query ids.
    """
    gaps = np.nan_to_num(np.abs(first - second))
    seen = set()
    for position in np.argsort(-gaps, kind="stable").tolist():
        if gaps[position] == 0:
            return
        if qids[position] not in seen:
            seen.add(qids[position])
            yield position


def opposed_pair(
    gains: np.ndarray, right: np.ndarray, wrong: np.ndarray, ranks: tuple[np.ndarray, np.ndarray]
) -> tuple[int, int] | None:
    """Return the pair of documents of one query that one method puts in the right order, and another in the wrong one.

    The first document of the pair has the higher gain. Of all such pairs, the function returns the one with the
    greatest difference of the gains. If there are several, it returns the one with the greatest sum of the two
    distances in rank, and then the one with the first rows. It returns None if there is no such pair.

    gains: (n,) gains of the documents. right, wrong: (n,) scores of the two methods. ranks: the (n,) ranks by each.
    """
    best, found = (0.0, 0), None
    for high in np.flatnonzero(gains > gains.min()).tolist():
        is_opposed = (gains < gains[high]) & (right < right[high]) & (wrong > wrong[high])
        if not is_opposed.any():
            continue
        gap = np.where(is_opposed, gains[high] - gains, -1.0)
        distance = np.abs(ranks[0] - ranks[0][high]) + np.abs(ranks[1] - ranks[1][high])
        low = int(np.lexsort((-np.arange(len(gains)), distance, gap))[-1])
        if (gap[low], distance[low]) > best:
            best, found = (gap[low], distance[low]), (high, low)
    return found


class FeatureImportance(TypedDict):
    """The mean drop of the metric if a feature is permuted, and the bounds of its interval; None if undefined."""

    feature: str
    drop: float
    low: float | None
    high: float | None


def over_folds(folds: Sequence[pl.DataFrame]) -> list[FeatureImportance]:
    """Return the importance of each feature over all folds, most important first.

    The drop is the mean over folds, as the metric is. The folds have different test queries and different models, so
    the squared half widths of their intervals add up. Features with equal drops are in the order of the first fold.

    folds: one frame per fold with the columns `feature`, `drop`, `low` and `high`. All folds have the same features.
    """
    columns = {row["feature"]: [row] for row in folds[0].to_dicts()}
    for frame in folds[1:]:
        for row in frame.to_dicts():
            columns[row["feature"]].append(row)
    rows = [_mean(feature, rows) for feature, rows in columns.items()]
    return sorted(rows, key=lambda row: -row["drop"])


def _mean(feature: str, rows: Sequence[dict[str, Any]]) -> FeatureImportance:
    drop = float(np.mean([row["drop"] for row in rows]))
    if any(is_missing(row["low"]) or is_missing(row["high"]) for row in rows):
        return {"feature": feature, "drop": drop, "low": None, "high": None}
    half = float(np.sqrt(sum(((row["high"] - row["low"]) / 2) ** 2 for row in rows))) / len(rows)
    return {"feature": feature, "drop": drop, "low": drop - half, "high": drop + half}


def kendall_tau(first: Sequence[FeatureImportance], second: Sequence[FeatureImportance]) -> float | None:
    """Return Kendall's tau-b of the importances of the features for two methods; None if it is undefined.

    It is 1 if both methods order the features equally, -1 if the orders are opposite, and about 0 if they are
    unrelated. It is undefined if all importances of a method are equal.
    """
    from scipy.stats import kendalltau

    drops = {row["feature"]: row["drop"] for row in second}
    test = kendalltau([row["drop"] for row in first], [drops[row["feature"]] for row in first])
    tau = float(test.statistic)  # pyright: ignore[reportAttributeAccessIssue] (not in scipy's stub)
    return None if is_missing(tau) else tau


REPEATS = 5  # permutations per feature
PAIRS = 3  # explained pairs of documents, each of another query


@dataclass(frozen=True)
class Inputs:
    """The inputs of the stage.

    dataset: the folder with the methods. stored: the stored collection. metric: the headline metric. seed: seed of the
    permutations and samples.
    """

    dataset: DatasetFolder
    stored: StoredCollection
    metric: str
    convention: Convention
    seed: int

    def fold(self, method: str, number: int) -> TrainedFold:
        """Load a fold of the first seed. Raises GradrankError if the fold was trained on other data."""
        folder = self.dataset.method(method).fold(number)
        fold = TrainedFold.load(folder.folder)
        if fold.spec.get("data_sha256") != self.stored.source_sha256:
            raise GradrankError(
                f"{folder.spec_path}: trained on other data than {self.stored.path}. Fix: train it again"
            )
        return fold

    def values(self, method: str) -> tuple[QueryValues, np.ndarray]:
        """Return the values per query of a method, and the (q,) values of the metric for the first seed."""
        folder = self.dataset.method(method)
        folder.check()
        values = read_test_queries(folder.per_query_path, [self.metric])[self.convention.name]
        return values, values.by_seed[self.metric][0] if values.by_seed else values.values[self.metric]


def explanations(folder: Path, data: Path, convention: str, seed: int, code: str) -> None:
    """Write `folder`/explanations.json. folder: results/<dataset> with a summary.

    The methods are those of `choose_methods`. Methods with imported scores have no model and are left out. Of a method
    with several seeds, the folds of the first seed are explained.

    data: the stored collection. convention: the primary convention of the data set. seed: seed of the permutations and
    samples. code: digest of the code of this stage. Raises GradrankError if the data set has no summary, if a fold is
    missing, damaged or trained on other data, or if the file exists and gradrank has not written it.
    """
    dataset, stored = DatasetFolder(Path(folder)), StoredCollection.open(data)
    if not dataset.summarised:
        raise GradrankError(f"{dataset.summary_path}: no such file. Fix: run `snakemake {dataset.name}` first")
    check_own_files(dataset.explanations_path, [dataset.explanations_path])
    reported = read_dataset(dataset, dataset.name, convention, stored.path.parent)
    ranked = [row for row in standings(reported).rows if reported.model_of(row.model) != IMPORTED]
    inputs = Inputs(dataset, stored, reported.headline, resolve(convention), seed)
    methods, opponents = choose_methods(ranked), choose_opponents(ranked)
    importances = _importances(inputs, [row.model for row in methods])
    values = {
        "schema": SCHEMA,
        "dataset": dataset.name,
        "metric": inputs.metric,
        "convention": convention,
        "repeats": REPEATS,
        "seed": seed,
        "has_several_seeds": any(seeds_of(dataset.method(row.model)) for row in methods),
        "methods": [
            {"model": row.model, "family": row.family, "mean": row.mean}
            | {"is_worse": None if reported.better is None else row.is_worse, "importance": importances[row.model]}
            for row in methods
        ],
        "agreement": [
            {"first": a, "second": b, "tau": kendall_tau(importances[a], importances[b])}
            for a, b in combinations(importances, 2)
        ],
        "opponents": [row.model for row in opponents],
        "pairs": list(islice(_pairs(inputs, *(row.model for row in opponents)), PAIRS)) if len(opponents) > 1 else [],
        "inputs": _checksums(inputs, [row.model for row in methods]),
        "code": code,
        "versions": {"gradrank": __version__, "numpy": np.__version__, "polars": pl.__version__},
        "processor": form(),
    }
    write_sealed(dataset.explanations_path, values)


def _importances(inputs: Inputs, methods: Sequence[str]) -> dict[str, list[Any]]:
    """Return the importance of the features for each method, over the test parts of all folds."""
    frames: dict[str, list[pl.DataFrame]] = {method: [] for method in methods}
    for number, parts in enumerate(inputs.stored.folds, start=1):
        test = inputs.stored.read(parts["test"])
        ids = read_judgements(inputs.stored, parts["test"]).docids
        docids = None if ids is None else ids.to_numpy()
        for method in methods:
            found = importance(
                inputs.fold(method, number),
                test,
                inputs.metric,
                convention=inputs.convention,
                repeats=REPEATS,
                seed=inputs.seed,
                docids=docids,
            )
            frames[method].append(found.frame())
    return {method: over_folds(folds) for method, folds in frames.items()}


def _pairs(inputs: Inputs, first: str, second: str) -> Iterator[dict[str, Any]]:
    """Yield an explanation of a pair of documents per query, for the queries of `most_different`.

    The method with the higher value on the query puts the pair in the right order, and the other method does not.
    Queries without such a pair are left out.
    """
    (values, of_first), (_, of_second) = inputs.values(first), inputs.values(second)
    for position in most_different(of_first, of_second, values.qids):
        number = int(values.folds[position])
        query = int(np.count_nonzero(values.folds[:position] == number))
        measured = {first: float(of_first[position]), second: float(of_second[position])}
        found = _pair(inputs, number, query, measured)
        if found is not None:
            yield {"fold": number, "query": str(values.qids[position])} | found


def _pair(inputs: Inputs, number: int, query: int, measured: dict[str, float]) -> dict[str, Any] | None:
    """Return the explanation of the pair of `opposed_pair` in one query; None if there is no pair.

    number: the fold. query: position of the query in the test part. measured: the value of the query by method.
    """
    parts = inputs.stored.fold(number)["test"]
    judged = read_judgements(inputs.stored, parts)
    rows = slice(*judged.offsets[query : query + 2].tolist())
    scores = {method: inputs.dataset.method(method).fold(number).scores("test")[rows] for method in measured}
    ranks = {method: _ranks(own, judged, rows, inputs.convention) for method, own in scores.items()}
    right, wrong = sorted(measured, key=lambda method: -measured[method])
    gains = _gains(judged.labels[rows], inputs.convention)
    pair = opposed_pair(gains, scores[right], scores[wrong], (ranks[right], ranks[wrong]))
    if pair is None:
        return None
    features = inputs.stored.read(parts).features[rows]
    documents = [
        {
            "number": row + 1,
            "docid": None if judged.docids is None else judged.docids[rows.start + row],
            "grade": int(judged.labels[rows][row]),
        }
        for row in pair
    ]
    methods = [
        {
            "model": method,
            "value": measured[method],
            "ranks": [int(ranks[method][row]) for row in pair],
            "scores": [float(scores[method][row]) for row in pair],
            "contributions": explain_pair(inputs.fold(method, number), features, *pair, seed=inputs.seed)
            .frame()
            .to_dicts(),
        }
        for method in measured
    ]
    return {"size": len(gains), "documents": documents, "methods": methods}


def _ranks(scores: np.ndarray, judged: Judgements, rows: slice, convention: Convention) -> np.ndarray:
    """Return the (n,) ranks of the documents of one query, from 1. Equal scores are ranked as in the convention."""
    ids = None if judged.docids is None else judged.docids[rows].to_numpy()
    ranking = Ranking(scores, judged.labels[rows], np.array([0, len(scores)]), convention, ids)
    ranks = np.empty(len(scores), np.int64)
    ranks[ranking.rows] = ranking.position
    return ranks


def _gains(labels: np.ndarray, convention: Convention) -> np.ndarray:
    return 2.0**labels - 1.0 if convention.gain == "exponential" else labels.astype(np.float64)


def _checksums(inputs: Inputs, methods: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the summary and of the stamps of the explained folds, by path in results/<dataset>."""
    folder = inputs.dataset.folder
    numbers = range(1, len(inputs.stored.folds) + 1)
    stamps = [inputs.dataset.method(method).fold(number).spec_path for method in methods for number in numbers]
    return {path.relative_to(folder).as_posix(): sha256(path) for path in (inputs.dataset.summary_path, *stamps)}
