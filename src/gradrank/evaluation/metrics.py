"""Ranking metrics, one function each: `metric(scores, labels, offsets, *, ...)` -> one value a query.

A metric is written over a `Ranking` and registered under the pattern of its name, with what the literature calls
it; nothing else names it.
What several metrics need (the sort, running hits, DCG) is a property of the Ranking and computed once. As
functions of scores they take the numbers in their name (`k`, `beta`, ...), a convention, and changes
of its fields: `ndcg_at(scores, labels, offsets, k=10, convention="letor4", short="truncate")`.

A document is relevant if its grade is 1 or more. An undefined value is nan, which means skip.

Where a convention takes ties in expectation, a metric that adds up gains or hits is that of their means over equal
scores; MAP, MRR and ERR have closed forms of their own; what interpolates precision is undefined.
"""

import re
from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np

from gradrank.base.errors import GradrankError, unknown
from gradrank.evaluation.conventions import Convention, resolve
from gradrank.evaluation.ranking import Ranking

_FIELDS = {
    "k": (int, r"[1-9]\d*"),
    "beta": (float, r"\d+(?:\.\d+)?"),
    "recall": (float, r"0\.\d|1\.0"),
    "persistence": (float, r"0\.\d+"),
}
DEEPEST = 999_999_999  # rank in a metric's name
_metrics: dict[str, Callable[..., np.ndarray]] = {}
_labels: dict[str, str] = {}  # by pattern


def metric(pattern: str, label: str) -> Callable[[Callable[..., np.ndarray]], Callable[..., np.ndarray]]:
    """Register a function of a Ranking under names such as `ndcg@{k}`; return it as a function of scores.

    label: the metric as the literature writes it, `NDCG@{k}`.
    """

    def decorate(definition: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        _metrics[pattern], _labels[pattern] = definition, label

        @wraps(definition)
        def of_scores(scores, labels, offsets, *, convention="letor4", ids=None, **arguments) -> np.ndarray:
            own = {key: arguments.pop(key) for key in tuple(arguments) if key in _FIELDS}
            ranking = Ranking(scores, labels, offsets, resolve(convention, **arguments), ids)
            return _values(ranking, definition, own)

        return of_scores

    return decorate


def _values(ranking: Ranking, definition: Callable[..., np.ndarray], arguments: dict[str, float]) -> np.ndarray:
    values = np.asarray(definition(ranking, **arguments), dtype=np.float64)
    return np.where(ranking.relevant == 0, np.nan, values) if np.isnan(ranking.convention.empty) else values


def find(name: str) -> tuple[Callable[..., np.ndarray], dict[str, float]]:
    """The definition behind a metric's name and the numbers in it. Raises GradrankError if unknown."""
    pattern, numbers = _matched(name)
    if pattern is None:
        raise GradrankError(unknown("metric", name, _metrics))
    if len(numbers.get("k", "")) > len(str(DEEPEST)):
        raise GradrankError(f"metric {name!r}: the rank is beyond {DEEPEST:,}. Fix: give a smaller one")
    return _metrics[pattern], {key: _FIELDS[key][0](value) for key, value in numbers.items()}


def metric_label(name: str) -> str:
    """A metric as the literature writes it: `ndcg@10` -> `NDCG@10`; an unknown one as it stands."""
    pattern, numbers = _matched(name)
    return name if pattern is None else _labels[pattern].format(**numbers)


def _matched(name: str) -> tuple[str | None, dict[str, str]]:
    """The pattern that a name follows, and the text of the numbers in it."""
    for pattern in _metrics:
        regex = re.escape(pattern)
        for field, (_, digits) in _FIELDS.items():
            regex = regex.replace(rf"\{{{field}\}}", f"(?P<{field}>{digits})")
        if match := re.fullmatch(regex, name):
            return pattern, match.groupdict()
    return None, {}


def compute(
    names: Sequence[str], scores, labels, offsets, convention: str | Convention, ids=None, ranked=None
) -> dict[str, np.ndarray]:
    """(q,) float64 values of each named metric, from one sort.

    Arguments as for Ranking. Raises GradrankError for an unknown metric or convention or malformed input.
    """
    found = {name: find(name) for name in names}
    ranking = Ranking(scores, labels, offsets, resolve(convention), ids, ranked)
    return {name: _values(ranking, *definition) for name, definition in found.items()}


@metric("ndcg@{k}", label="NDCG@{k}")
def ndcg_at(r: Ranking, k: int) -> np.ndarray:
    """NDCG@k = DCG@k / ideal DCG@k (Järvelin and Kekäläinen 2002, with the gain of Burges et al. 2005)."""
    values = r.ratio(r.at(r.dcg, k), r.at(r.ideal_dcg, k))
    return np.where(r.sizes < k, 0.0, values) if r.convention.short == "zero" else values


@metric("ndcg", label="NDCG")
def ndcg(r: Ranking) -> np.ndarray:
    """NDCG of the full list: NDCG@n."""
    return r.ratio(r.at(r.dcg, r.sizes), r.at(r.ideal_dcg, r.sizes))


@metric("mean_ndcg", label="MeanNDCG")
def mean_ndcg(r: Ranking) -> np.ndarray:
    """MeanNDCG = 1/n sum_{i=1..n} NDCG@i (LETOR 4.0's evaluation program)."""
    return r.total(r.ratio(r.dcg, r.ideal_dcg)) / r.sizes


@metric("ndcg_beta", label="NDCG_beta")
def ndcg_beta(r: Ranking) -> np.ndarray:
    """NDCG_beta = DCG_beta / ideal, DCG_beta = sum_i y_i (n - i) (Jin et al. 2018); nan where the ideal is 0.

    1 - NDCG_beta is the sum of (grade gap) / ideal over the inverted pairs.
    """
    # The ideal is not learning's ideal_dcg_beta: this definition is what that one is held against.
    weight = np.repeat(r.sizes, r.sizes) - r.position
    ideal = r.total(r.ideal_grades * weight)
    return r.total(r.over_ties(r.grades) * weight) / np.where(ideal > 0, ideal, np.nan)


@metric("p@{k}", label="P@{k}")
def precision_at(r: Ranking, k: int) -> np.ndarray:
    """P@k = (relevant documents among the first k) / k."""
    short = r.convention.short_precision
    values = r.at(r.hits, k) / (np.minimum(k, r.sizes) if short == "truncate" else k)
    return np.where(r.sizes < k, 0.0, values) if short == "zero" else values


@metric("recall@{k}", label="Recall@{k}")
def recall_at(r: Ranking, k: int) -> np.ndarray:
    """recall@k = (relevant documents among the first k) / (relevant documents)."""
    return r.ratio(r.at(r.hits, k), r.relevant)


@metric("f{beta}@{k}", label="F{beta}@{k}")
def f_at(r: Ranking, beta: float, k: int) -> np.ndarray:
    """F_beta@k = (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 relevant + k) (van Rijsbergen 1979).

    P counts a short list as padded or truncated, as P@k does.
    """
    length = np.minimum(k, r.sizes) if r.convention.short_precision == "truncate" else k
    values = (1 + beta**2) * r.at(r.hits, k) / (beta**2 * r.relevant + length)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("map", label="MAP")
def average_precision(r: Ranking) -> np.ndarray:
    """AP = (sum of P@i over the positions i of relevant documents) / (relevant documents), full list."""
    return r.ratio(r.total(r.precision_at_hits), r.relevant)


@metric("r_precision", label="R-precision")
def r_precision(r: Ranking) -> np.ndarray:
    """R-precision = P@R with R the number of relevant documents."""
    return r.ratio(r.at(r.hits, np.maximum(r.relevant, 1)), r.relevant)


@metric("iprec@{recall}", label="Precision at recall {recall}")
def interpolated_precision(r: Ranking, recall: float) -> np.ndarray:
    """Interpolated precision: the best P@i at any i where recall has reached the level (trec_eval).

    nan where ties are taken in expectation: that of a maximum has no closed form.
    """
    if r.in_expectation:
        return np.full(len(r.sizes), np.nan)
    # trec_eval takes the level as reached at this hit: ceil(recall * R), but 2 for .7 * 3, which rounds down.
    needed = np.maximum((recall * r.relevant + 0.9).astype(np.int64), 1)
    values = np.where(r.found >= needed, r.best_precision[r.hit(needed)], 0.0)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("iprec_11pt", label="11-point precision")
def eleven_point_precision(r: Ranking) -> np.ndarray:
    """Mean of the interpolated precision at recall 0, .1, ..., 1."""
    return sum(interpolated_precision.__wrapped__(r, level / 10) for level in range(11)) / 11


@metric("mrr", label="MRR")
def reciprocal_rank(r: Ranking) -> np.ndarray:
    """RR = 1 / (position of the first relevant document), 0 without any (Voorhees 1999)."""
    return r.reciprocal_rank


@metric("err@{k}", label="ERR@{k}")
def err_at(r: Ranking, k: int) -> np.ndarray:
    """ERR@k = sum_{i<=k} 1/i R_i prod_{j<i} (1 - R_j), R = (2^y - 1) / 2^max_grade (Chapelle et al. 2009)."""
    return r.at(r.err, k)


@metric("rbp@{persistence}", label="RBP (p = {persistence})")
def rank_biased_precision(r: Ranking, persistence: float) -> np.ndarray:
    """RBP = (1 - p) sum_i [relevant at i] p^(i-1), p the chance to look at one more (Moffat & Zobel 2008)."""
    return (1.0 - persistence) * r.total(r.over_ties(r.grades > 0) * persistence ** (r.position - 1.0))


@metric("pairwise_accuracy", label="Pairwise accuracy")
def pairwise_accuracy(r: Ranking) -> np.ndarray:
    """Share of the pairs of different grade that are in the right order; equal scores count half."""
    right, tied, pairs = r.pair_counts
    return (right + tied / 2) / np.where(pairs > 0, pairs, np.nan)


@metric("pairwise_error", label="Pairwise error")
def pairwise_error(r: Ranking) -> np.ndarray:
    """1 - pairwise accuracy."""
    return 1.0 - pairwise_accuracy.__wrapped__(r)
