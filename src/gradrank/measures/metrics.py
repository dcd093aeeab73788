"""Ranking metrics: one function per metric, which returns one value per query, and the spellings of their names.

The names are gradrank's own, the labels of the literature, and those of ir_measures.

To add a metric, write one function of a `Ranking` and register it with the decorator `metric`. The decorator needs the
pattern of the metric's name and the metric's label in the literature. A quantity that several metrics need (the sort
order, the cumulated hits, the DCG) is a property of `Ranking`, which computes it once.

The decorated function takes scores instead of a Ranking. Its keyword arguments are the parameters in the metric's name
(`k`, `beta`, `recall`, `persistence`), a convention, and fields of the convention to override:

    ndcg_at(scores, labels, offsets, k=10, convention="letor4", short="truncate")

The decorated function returns (q,) float64 values. A document is relevant if its grade is 1 or more. An undefined value
is nan; means over queries skip it. A convention with `empty=nan` makes every metric nan for queries without relevant
documents.

A convention with `ties="expected"` replaces each metric by its mean over all orders of the documents with equal scores.
A metric that is linear in gains or hits is then computed from the mean gains or hits of documents with equal scores.
MAP, MRR and ERR have closed forms. Interpolated precision has no closed form, so its values are nan.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.measures.conventions import Convention, resolve
from gradrank.measures.ranking import Ranking

Definition = Callable[..., np.ndarray]  # (ranking, **parameters) -> (q,)
# key: parameter in a metric's name; value: its type and its regular expression
FIELDS = {
    "k": (int, r"[1-9]\d*"),
    "beta": (float, r"\d+(?:\.\d+)?"),
    "recall": (float, r"0\.\d|1\.0"),
    "persistence": (float, r"0\.\d+"),
}
DEEPEST = 999_999_999  # the largest k in a metric's name


class Metric(NamedTuple):
    """A registered metric.

    definition: function of a Ranking and the parameters in the metric's name. label: the name in the literature, such
    as `NDCG@{k}`. has_expectation: whether the metric is defined under a convention with `ties="expected"`.
    """

    definition: Definition
    label: str
    has_expectation: bool


METRICS: dict[str, Metric] = {}  # key: pattern of the metric's name, such as `ndcg@{k}`


def metric(pattern: str, label: str, has_expectation: bool = True) -> Callable[[Definition], Definition]:
    """Return a decorator that registers a function of a Ranking and turns it into a function of scores.

    pattern: the metric's name with its parameters in braces, such as `ndcg@{k}`; see FIELDS. label, has_expectation: as
    in Metric. If has_expectation is False, the values are nan under a convention with `ties="expected"`.
    """

    def decorate(definition: Definition) -> Definition:
        METRICS[pattern] = registered = Metric(definition, label, has_expectation)

        @wraps(definition)
        def from_scores(scores, labels, offsets, *, convention="letor4", ids=None, **arguments) -> np.ndarray:
            parameters = {key: arguments.pop(key) for key in tuple(arguments) if key in FIELDS}
            ranking = Ranking(scores, labels, offsets, resolve(convention, **arguments), ids)
            return _values(ranking, registered, parameters)

        return from_scores

    return decorate


def _values(ranking: Ranking, metric: Metric, parameters: dict[str, float]) -> np.ndarray:
    if ranking.in_expectation and not metric.has_expectation:
        return np.full(len(ranking.sizes), np.nan)
    values = np.asarray(metric.definition(ranking, **parameters), dtype=np.float64)
    return np.where(ranking.relevant == 0, np.nan, values) if np.isnan(ranking.convention.empty) else values


def find(name: str) -> tuple[Metric, dict[str, float]]:
    """Return the metric with this name, and a dict of the parameters in the name: `{"k": 10}` for `ndcg@10`.

    Raises GradrankError if no pattern matches or k exceeds DEEPEST.
    """
    pattern, numbers = match(name, METRICS)
    if pattern is None:
        raise GradrankError(unknown("metric", name, METRICS))
    if len(numbers.get("k", "")) > len(str(DEEPEST)):
        raise GradrankError(f"metric {name!r}: k is larger than {DEEPEST:,}. Fix: use a smaller k")
    return METRICS[pattern], {key: FIELDS[key][0](value) for key, value in numbers.items()}


def metric_label(name: str) -> str:
    """Return a metric's name in the literature, such as `NDCG@10` for `ndcg@10`; an unknown name is unchanged."""
    pattern, numbers = match(name, METRICS)
    return name if pattern is None else METRICS[pattern].label.format(**numbers)


def match(name: str, patterns: Iterable[str]) -> tuple[str | None, dict[str, str]]:
    """Return the pattern that a name matches, and a dict of the text of each parameter.

    Returns None and {} if no pattern matches.
    """
    for pattern in patterns:
        regex = re.escape(pattern)
        for field, (_, digits) in FIELDS.items():
            regex = regex.replace(rf"\{{{field}\}}", f"(?P<{field}>{digits})")
        if found := re.fullmatch(regex, name):
            return pattern, found.groupdict()
    return None, {}


def compute(
    names: Sequence[str], scores, labels, offsets, convention: str | Convention, ids=None, ranked=None
) -> dict[str, np.ndarray]:
    """Return a dict with the (q,) float64 values of each metric in `names`. The documents are sorted only once.

    The keys are the names. The other arguments are those of Ranking. Raises GradrankError for an unknown metric or
    convention, and for malformed input.
    """
    return metric_values(names, Ranking(scores, labels, offsets, resolve(convention), ids, ranked))


def metric_values(names: Sequence[str], ranking: Ranking) -> dict[str, np.ndarray]:
    """Return a dict with the (q,) float64 values of each metric in `names` of one ranking. The keys are the names.

    Raises GradrankError for an unknown metric.
    """
    metrics = {name: find(name) for name in names}
    return {name: _values(ranking, metric, parameters) for name, (metric, parameters) in metrics.items()}


@metric("ndcg@{k}", label="NDCG@{k}")
def ndcg_at(r: Ranking, k: int) -> np.ndarray:
    """Return NDCG@k = DCG@k / ideal DCG@k, with DCG@k = sum_{i<=k} gain(y_i) discount(i).

    Convention: `gain` (2^y - 1 or y), `discount`, `empty` for an ideal DCG of 0, and `short` for queries with fewer
    than k documents. Source: Järvelin and Kekäläinen 2002; the exponential gain is from Burges et al. 2005.
    """
    values = r.ratio(r.at(r.dcg, k), r.at(r.ideal_dcg, k))
    return np.where(r.sizes < k, 0.0, values) if r.convention.short == "zero" else values


@metric("ndcg", label="NDCG")
def ndcg(r: Ranking) -> np.ndarray:
    """Return NDCG@n of each query of n documents.

    Convention: `gain`, `discount` and `empty`, as for `ndcg_at`. Source: Järvelin and Kekäläinen 2002.
    """
    return r.ratio(r.at(r.dcg, r.sizes), r.at(r.ideal_dcg, r.sizes))


@metric("mean_ndcg", label="MeanNDCG")
def mean_ndcg(r: Ranking) -> np.ndarray:
    """Return MeanNDCG = 1/n sum_{i=1..n} NDCG@i of each query of n documents.

    Convention: `gain`, `discount` and `empty`, as for `ndcg_at`. Source: LETOR 4.0's evaluation program.
    """
    return r.total(r.ratio(r.dcg, r.ideal_dcg)) / r.sizes


@metric("ndcg_beta", label="NDCG_beta")
def ndcg_beta(r: Ranking) -> np.ndarray:
    """Return NDCG_beta = DCG_beta / ideal DCG_beta, with DCG_beta = sum_i y_i (n - i).

    The value is nan if the ideal DCG_beta is 0. 1 - NDCG_beta is the sum of (difference of grades) / (ideal DCG_beta)
    over the pairs in the wrong order. The convention has no effect except for ties. Source: Jin et al. 2018.
    """
    # Training has its own ideal_dcg_beta. The tests compare that function with this independent definition.
    weight = np.repeat(r.sizes, r.sizes) - r.position
    ideal = r.total(r.ideal_grades * weight)
    return r.total(r.mean_over_ties(r.grades) * weight) / np.where(ideal > 0, ideal, np.nan)


@metric("p@{k}", label="P@{k}")
def precision_at(r: Ranking, k: int) -> np.ndarray:
    """Return P@k = (relevant documents among the first k) / k.

    Convention: `short_precision` for queries with fewer than k documents.
    """
    short = r.convention.short_precision
    values = r.at(r.hits, k) / (np.minimum(k, r.sizes) if short == "truncate" else k)
    return np.where(r.sizes < k, 0.0, values) if short == "zero" else values


@metric("recall@{k}", label="Recall@{k}")
def recall_at(r: Ranking, k: int) -> np.ndarray:
    """Return recall@k = (relevant documents among the first k) / (relevant documents).

    Convention: `empty` for queries without relevant documents.
    """
    return r.ratio(r.at(r.hits, k), r.relevant)


@metric("f{beta}@{k}", label="F{beta}@{k}")
def f_at(r: Ranking, beta: float, k: int) -> np.ndarray:
    """Return F_beta@k = (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 relevant + k), with b = beta.

    Convention: `empty` for queries without relevant documents. `short_precision="truncate"` replaces k by n in queries
    of n < k documents; the other values of `short_precision` leave k unchanged. Source: van Rijsbergen 1979.
    """
    length = np.minimum(k, r.sizes) if r.convention.short_precision == "truncate" else k
    values = (1 + beta**2) * r.at(r.hits, k) / (beta**2 * r.relevant + length)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("map", label="MAP")
def average_precision(r: Ranking) -> np.ndarray:
    """Return AP = (sum of P@i over the ranks i of relevant documents) / (relevant documents), over the full list.

    Convention: `empty` for queries without relevant documents. MAP is the mean of AP over queries.
    """
    return r.ratio(r.total(r.precision_at_hits), r.relevant)


@metric("r_precision", label="R-precision")
def r_precision(r: Ranking) -> np.ndarray:
    """Return R-precision = P@R, where R is the query's number of relevant documents.

    Convention: `empty` for queries without relevant documents.
    """
    return r.ratio(r.at(r.hits, np.maximum(r.relevant, 1)), r.relevant)


@metric("iprec@{recall}", label="Precision at recall {recall}", has_expectation=False)
def interpolated_precision(r: Ranking, recall: float) -> np.ndarray:
    """Return the interpolated precision: the largest P@i over the ranks i with a recall of at least `recall`.

    The value is nan under `ties="expected"`, because the mean of a maximum has no closed form. Convention: `empty` for
    queries without relevant documents, and `recall_level` for the number of documents that reach a recall. Source:
    trec_eval.
    """
    return _interpolated_precision(r, recall)


@metric("iprec_11pt", label="11-point precision", has_expectation=False)
def eleven_point_precision(r: Ranking) -> np.ndarray:
    """Return the mean of the interpolated precision at the recall levels 0, .1, ..., 1.

    The value is nan under `ties="expected"`. Convention: `empty` and `recall_level`, as for `interpolated_precision`.
    Source: trec_eval.
    """
    levels = (_interpolated_precision(r, level / 10) for level in range(11))
    return sum(levels, start=np.zeros(len(r.sizes))) / 11


def _interpolated_precision(r: Ranking, recall: float) -> np.ndarray:
    if r.convention.recall_level == "trec_eval":
        documents = np.floor(recall * r.relevant + 0.9)
    else:  # 9 decimals remove the rounding error of a product such as .7 * 10
        documents = np.ceil(np.round(recall * r.relevant, 9))
    needed = np.maximum(documents.astype(np.int64), 1)
    values = np.where(r.retrieved >= needed, r.best_precision[r.hit(needed)], 0.0)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("mrr", label="MRR")
def reciprocal_rank(r: Ranking) -> np.ndarray:
    """Return RR = 1 / (rank of the first relevant document), or 0 if no document is relevant.

    The convention has no effect except for ties. MRR is the mean of RR over queries. Source: Voorhees 1999.
    """
    return r.reciprocal_rank


@metric("err@{k}", label="ERR@{k}")
def err_at(r: Ranking, k: int) -> np.ndarray:
    """Return ERR@k = sum_{i<=k} 1/i R_i prod_{j<i} (1 - R_j), with R_i = (2^y_i - 1) / 2^g.

    g is the larger of the convention's `max_grade` and the highest grade in the data. Source: Chapelle et al. 2009.
    """
    return r.at(r.err, k)


@metric("rbp@{persistence}", label="RBP (p = {persistence})")
def rank_biased_precision(r: Ranking, persistence: float) -> np.ndarray:
    """Return RBP = (1 - p) sum_i [relevant at rank i] p^(i-1).

    p is the probability that the reader goes on to the next document. The convention has no effect except for ties.
    Source: Moffat and Zobel 2008.
    """
    return (1.0 - persistence) * r.total(r.mean_over_ties(r.grades > 0) * persistence ** (r.position - 1.0))


@metric("pairwise_accuracy", label="Pairwise accuracy")
def pairwise_accuracy(r: Ranking) -> np.ndarray:
    """Return the share of pairs of documents with different grades that the scores put in the right order.

    A pair with equal scores counts half under every convention. The value is nan if all grades are equal.
    """
    return _pairwise_accuracy(r)


@metric("pairwise_error", label="Pairwise error")
def pairwise_error(r: Ranking) -> np.ndarray:
    """Return 1 - pairwise accuracy. The value is nan if all grades are equal."""
    return 1.0 - _pairwise_accuracy(r)


def _pairwise_accuracy(r: Ranking) -> np.ndarray:
    right, tied, pairs = r.pair_counts
    return (right + tied / 2) / np.where(pairs > 0, pairs, np.nan)


# key: a spelling of ir_measures, in lower case. value: the name in gradrank of the metric with the same definition.
IR_MEASURES = {"ap": "map", "rr": "mrr", "r@{k}": "recall@{k}", "precision@{k}": "p@{k}", "rprec": "r_precision"}
DEFAULTS = ("rel=1", "judged_only=false")  # parameters of ir_measures that change nothing


def metric_name(name: str) -> str:
    """Return gradrank's name of a metric, such as `ndcg@10` for `NDCG@10`, or `map` for `AP`.

    Upper and lower case and blanks make no difference. A spelling of ir_measures is accepted if gradrank computes the
    same quantity. For `RBP(p=0.8)`, this requires binary relevance. For `ERR@10`, this requires that the highest grade
    of the convention is 4. Raises GradrankError for an unknown metric, and for parameters in brackets that change the
    definition, such as `AP(rel=2)`.
    """
    if not isinstance(name, str):
        raise GradrankError(f"metric {name!r}: expected a name, such as 'ndcg@10'")
    plain = "".join(name.split()).lower()
    parameters = "".join(re.findall(r"\(.*\)", plain))
    given = [each for each in parameters.strip("()").split(",") if each and each not in DEFAULTS]
    spelling = plain.replace(parameters, f"({','.join(given)})" if given else "")
    spellings = {pattern: pattern for pattern in METRICS} | IR_MEASURES
    spellings |= {"".join(metric.label.split()).lower(): pattern for pattern, metric in METRICS.items()}
    pattern, numbers = match(spelling, spellings)
    if pattern is not None:
        return spellings[pattern].format(**numbers)
    if parameters:
        raise GradrankError(
            f"metric {name!r}: parameters in brackets are not supported; the convention sets gain and discount, and a "
            "document is relevant from grade 1. Fix: leave the brackets out, choose a convention, or change the grades"
        )
    if re.fullmatch(r"(ap|map|rr|mrr|rprec)@\d+", plain):
        raise GradrankError(
            f"metric {name!r}: defined only over the full list. Fix: leave out {plain[plain.index('@') :]}"
        )
    cutoff = re.search(r"@(\d+)$", plain)
    if cutoff and int(cutoff[1]) == 0:
        raise GradrankError(f"metric {name!r}: the cutoff is 0. Fix: give the number of ranks, from 1")
    known = [pattern.replace("{k}", str(int(cutoff[1])) if cutoff else "10") for pattern in METRICS]
    raise GradrankError(f"unknown metric {name!r}{nearest(plain, known)}")
