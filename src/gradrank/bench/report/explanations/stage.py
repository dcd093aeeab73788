"""The stage `explanations`: it explains the best methods of a data set on the test parts of all folds.

Its result is results/<dataset>/explanations.json, which the report shows. Nothing is chosen by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank import __version__
from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.own_folders import check_own_files
from gradrank.base.processor import form
from gradrank.base.stamps import SCHEMA, write_sealed
from gradrank.bench.folds.per_query import QueryValues, read_test_queries
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.bench.folds.seeds import seeds_of
from gradrank.bench.report.contents import read_dataset
from gradrank.bench.report.explanations.choice import choose_methods, choose_opponents, most_different, opposed_pair
from gradrank.bench.report.explanations.importances import kendall_tau, over_folds
from gradrank.bench.report.standings import standings
from gradrank.bench.results import DatasetFolder
from gradrank.data.stored import StoredCollection
from gradrank.explanations.importance import importance
from gradrank.explanations.pairs import explain_pair
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.ranking import Ranking
from gradrank.training.trained_fold import TrainedFold

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
