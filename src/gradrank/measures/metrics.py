"""Ranking metrics: one function per metric, which returns one value per query, and the spellings of their names.

The names are gradrank's own, the labels of the literature, and those of trec_eval, ir_measures and ranx.

To add a metric, write one function of a `Ranking` and register it with the decorator `metric`. The decorator needs the
pattern of the metric's name, the metric's label in the literature, its names in other programs, and its options. A
quantity that several metrics need (the sort order, the cumulated hits, the DCG) is a property of `Ranking`, which
computes it once.

The decorated function takes scores instead of a Ranking. Its keyword arguments are the parameters in the metric's name
(`k`, `beta`, `recall`, `persistence`), the options, a convention, and fields of the convention to override:

    ndcg_at(scores, labels, offsets, k=10, convention="letor4", short="truncate")

The decorated function returns (q,) float64 values. A document is relevant if its grade is 1 or more, or at least the
option `rel`: `map(rel=2)`. With the option `judged_only`, documents without a judgement are taken out of the ranking,
which gives the condensed list of Sakai 2007: `p@5(judged_only)`. The options `gain` and `discount` replace the rules of
the convention: `ndcg@10(gain=linear)`. `gain=1:2;2:5` gives the grades 1 and 2 the gains 2 and 5, and every other grade
itself as its gain. An undefined value is nan; means over queries skip it. A convention with
`empty=nan` makes every metric nan for queries without relevant documents.

A convention with `ties="expected"` replaces each metric by its mean over all orders of documents with equal scores. A
metric that is linear in gains or hits is then computed from the mean gains or hits of documents with equal scores.
MAP, MRR, ERR, success and bpref have closed forms. Interpolated precision and inferred AP have none, so their values
are nan. Inferred NDCG is linear in the gains.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError, nearest, unknown
from gradrank.measures.conventions import DEFAULT, Convention, resolve
from gradrank.measures.ranking import Ranking

Definition = Callable[..., np.ndarray]  # (ranking, **parameters) -> (q,)
# key: parameter in a metric's name; value: its type and its regular expression
FIELDS = {
    "k": (int, r"[1-9]\d*"),
    "beta": (float, r"\d+(?:\.\d+)?"),
    "recall": (float, r"0?\.\d\d?|1\.00?"),
    "persistence": (float, r"0\.\d+"),
}
DEEPEST = 999_999_999  # the largest k in a metric's name
# key: option in brackets; value: the regular expression of its value
OPTIONS = {
    "rel": r"[1-9]\d*|0?\.\d*[1-9]\d*|[1-9]\d*\.\d+",
    "judged_only": "true",
    "gain": r"exponential|linear|\d+:\d+(?:\.\d+)?(?:;\d+:\d+(?:\.\d+)?)*",
    "discount": "log2|letor",
}
RELEVANCE, GAINS = ("rel", "judged_only"), ("judged_only", "gain", "discount")
# key: a name of trec_eval that stands for several metrics. value: their parameters. An empty text: they must be given.
FAMILIES = {
    "ndcg_cut": "5,10,15,20,30,100,200,500,1000",
    "map_cut": "5,10,15,20,30,100,200,500,1000",
    "success": "1,5,10",
    "iprec_at_recall": "0.00,0.10,0.20,0.30,0.40,0.50,0.60,0.70,0.80,0.90,1.00",
    "p": "",
    "recall": "",
}


class Metric(NamedTuple):
    """A registered metric.

    definition: function of a Ranking and the parameters in the metric's name. label: the name in the literature, such
    as `NDCG@{k}`. has_expectation: whether the metric is defined under a convention with `ties="expected"`. names:
    names in other programs, in lower case, which may lack parameters. options: the options in brackets. defaults: the
    text of the parameters that a name may lack.
    """

    definition: Definition
    label: str
    has_expectation: bool
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}


class Named(NamedTuple):
    """A metric with the parameters and options in a name."""

    metric: Metric
    parameters: dict[str, float]
    options: dict[str, Any]


METRICS: dict[str, Metric] = {}  # key: pattern of the metric's name, such as `ndcg@{k}`


def metric(
    pattern: str,
    label: str,
    has_expectation: bool = True,
    names: Sequence[str] = (),
    options: Sequence[str] = (),
    defaults: Mapping[str, str] | None = None,
) -> Callable[[Definition], Definition]:
    """Return a decorator that registers a function of a Ranking and turns it into a function of scores.

    pattern: the metric's name with its parameters in braces, such as `ndcg@{k}`; see FIELDS. The other arguments are
    those of Metric. If has_expectation is False, the values are nan under a convention with `ties="expected"`.
    """

    def decorate(definition: Definition) -> Definition:
        registered = Metric(definition, label, has_expectation, tuple(names), tuple(options), defaults or {})
        METRICS[pattern] = registered

        @wraps(definition)
        def from_scores(scores, labels, offsets, *, convention=DEFAULT, ids=None, **arguments) -> np.ndarray:
            parameters = {key: arguments.pop(key) for key in tuple(arguments) if key in FIELDS}
            chosen = {key: arguments.pop(key) for key in ("rel", "judged_only") if key in arguments}
            ranking = Ranking(scores, labels, offsets, resolve(convention, **arguments), ids)
            return _values(ranking, Named(registered, parameters, chosen))

        return from_scores

    return decorate


def _values(ranking: Ranking, named: Named) -> np.ndarray:
    if ranking.in_expectation and not named.metric.has_expectation:
        return np.full(len(ranking.sizes), np.nan)
    changed = ranking.changed(**named.options)
    values = np.asarray(named.metric.definition(changed, **named.parameters), dtype=np.float64)
    return np.where(changed.relevant == 0, np.nan, values) if np.isnan(ranking.convention.empty) else values


def find(name: str) -> Named:
    """Return the metric with this name, a dict of the parameters in the name (`{"k": 10}` for `ndcg@10`), and a dict of
    its options (`{"rel": 2}` for `map(rel=2)`).

    Raises GradrankError if no pattern matches or k exceeds DEEPEST.
    """
    plain, given = _split(name)
    pattern, numbers = match(plain, METRICS)
    if pattern is None or not given.keys() <= {*METRICS[pattern].options}:
        raise GradrankError(unknown("metric", name, METRICS))
    if len(numbers.get("k", "")) > len(str(DEEPEST)):
        raise GradrankError(f"metric {name!r}: k is larger than {DEEPEST:,}. Fix: use a smaller k")
    options = {key: _option(key, text) for key, text in given.items()}
    return Named(METRICS[pattern], {key: FIELDS[key][0](value) for key, value in numbers.items()}, options)


def _option(key: str, text: str) -> Any:
    """Return the value of an option: a number for `rel`, True for `true`, a function for gains per grade, or text."""
    if ":" not in text:
        return float(text) if key == "rel" else text == "true" or text
    gains = {float(grade): float(gain) for grade, gain in (pair.split(":") for pair in text.split(";"))}
    return lambda grade: gains.get(grade, grade)


def _split(name: str) -> tuple[str, dict[str, str]]:
    """Return a name without its brackets, and a dict of what the brackets contain: `{"rel": "2"}` for `p(rel=2)@5`.

    A key without a value has the value `true`.
    """
    parts = [part for brackets in re.findall(r"\(([^()]*)\)", name) for part in brackets.split(",") if part]
    pairs = (part.partition("=") for part in parts)
    return re.sub(r"\([^()]*\)", "", name), {key: text if sign else "true" for key, sign, text in pairs}


def _joined(name: str, options: Mapping[str, str]) -> str:
    """Return a name with its options, in the order of OPTIONS."""
    texts = [key if options[key] == "true" else f"{key}={options[key]}" for key in OPTIONS if key in options]
    return f"{name}({','.join(texts)})" if texts else name


def metric_label(name: str) -> str:
    """Return a metric's name in the literature, such as `NDCG@10` for `ndcg@10`; an unknown name is unchanged."""
    plain, options = _split(name)
    pattern, numbers = match(plain, METRICS)
    return name if pattern is None else _joined(METRICS[pattern].label.format(**numbers), options)


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
    names: Sequence[str],
    scores,
    labels,
    offsets,
    convention: str | Convention,
    ids=None,
    ranked=None,
    status=None,
    stratum=None,
) -> dict[str, np.ndarray]:
    """Return a dict with the (q,) float64 values of each metric in `names`. The documents are sorted only once.

    The keys are the names. The other arguments are those of Ranking. Raises GradrankError for an unknown metric or
    convention, and for malformed input.
    """
    return metric_values(names, Ranking(scores, labels, offsets, resolve(convention), ids, ranked, status, stratum))


def metric_values(names: Sequence[str], ranking: Ranking) -> dict[str, np.ndarray]:
    """Return a dict with the (q,) float64 values of each metric in `names` of one ranking. The keys are the names.

    Raises GradrankError for an unknown metric.
    """
    metrics = {name: find(name) for name in names}
    return {name: _values(ranking, named) for name, named in metrics.items()}


@metric("ndcg@{k}", label="NDCG@{k}", names=("ndcg_cut_{k}", "ndcg_burges@{k}"), options=GAINS)
def ndcg_at(r: Ranking, k: int) -> np.ndarray:
    """Return NDCG@k = DCG@k / ideal DCG@k, with DCG@k = sum_{i<=k} gain(y_i) discount(i).

    Convention: `gain` (2^y - 1 or y), `discount`, `empty` for an ideal DCG of 0, and `short` for queries with fewer
    than k documents. Source: Järvelin and Kekäläinen 2002; the exponential gain is from Burges et al. 2005.
    """
    values = r.ratio(r.at(r.dcg, k), r.at(r.ideal_dcg, k))
    return np.where(r.sizes < k, 0.0, values) if r.convention.short == "zero" else values


@metric("ndcg", label="NDCG", names=("ndcg_burges",), options=GAINS)
def ndcg(r: Ranking) -> np.ndarray:
    """Return NDCG@n of each query of n documents.

    Convention: `gain`, `discount` and `empty`, as for `ndcg_at`. Source: Järvelin and Kekäläinen 2002.
    """
    return r.ratio(r.at(r.dcg, r.sizes), r.at(r.ideal_dcg, r.sizes))


@metric("mean_ndcg", label="MeanNDCG", options=GAINS)
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
    ideal = r.total(r.values_of(r.ideal_grades) * weight)
    return r.total(r.mean_over_ties(r.values_of(r.grades)) * weight) / np.where(ideal > 0, ideal, np.nan)


@metric("p@{k}", label="P@{k}", names=("p_{k}", "precision@{k}"), options=RELEVANCE)
def precision_at(r: Ranking, k: int) -> np.ndarray:
    """Return P@k = (relevant documents among the first k) / k.

    Convention: `short_precision` for queries with fewer than k documents.
    """
    short = r.convention.short_precision
    values = r.at(r.hits, k) / (np.minimum(k, r.sizes) if short == "truncate" else k)
    return np.where(r.sizes < k, 0.0, values) if short == "zero" else values


@metric("recall@{k}", label="Recall@{k}", names=("recall_{k}", "r@{k}"), options=RELEVANCE)
def recall_at(r: Ranking, k: int) -> np.ndarray:
    """Return recall@k = (relevant documents among the first k) / (relevant documents).

    Convention: `empty` for queries without relevant documents.
    """
    return r.ratio(r.at(r.hits, k), r.relevant)


@metric("f{beta}@{k}", label="F{beta}@{k}", options=RELEVANCE)
def f_at(r: Ranking, beta: float, k: int) -> np.ndarray:
    """Return F_beta@k = (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 relevant + k), with b = beta.

    Convention: `empty` for queries without relevant documents. `short_precision="truncate"` replaces k by n in queries
    of n < k documents; the other values of `short_precision` leave k unchanged. Source: van Rijsbergen 1979.
    """
    length = np.minimum(k, r.sizes) if r.convention.short_precision == "truncate" else k
    values = (1 + beta**2) * r.at(r.hits, k) / (beta**2 * r.relevant + length)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("map", label="MAP", names=("ap",), options=RELEVANCE)
def average_precision(r: Ranking) -> np.ndarray:
    """Return AP = (sum of P@i over the ranks i of relevant documents) / (relevant documents), over the full list.

    Convention: `empty` for queries without relevant documents. MAP is the mean of AP over queries.
    """
    return r.ratio(r.total(r.precision_at_hits), r.relevant)


@metric("r_precision", label="R-precision", names=("rprec", "rprecision"), options=RELEVANCE)
def r_precision(r: Ranking) -> np.ndarray:
    """Return R-precision = P@R, where R is the query's number of relevant documents.

    Convention: `empty` for queries without relevant documents.
    """
    return r.ratio(r.at(r.hits, np.maximum(r.relevant, 1)), r.relevant)


@metric(
    "iprec@{recall}",
    label="Precision at recall {recall}",
    has_expectation=False,
    names=("iprec_at_recall_{recall}", "iprec"),
    options=RELEVANCE,
)
def interpolated_precision(r: Ranking, recall: float) -> np.ndarray:
    """Return the interpolated precision: the largest P@i over the ranks i with a recall of at least `recall`.

    The value is nan under `ties="expected"`, because the mean of a maximum has no closed form. Convention: `empty` for
    queries without relevant documents, and `recall_level` for the number of documents that reach a recall. Source:
    trec_eval.
    """
    return _interpolated_precision(r, recall)


@metric("iprec_11pt", label="11-point precision", has_expectation=False, names=("11pt_avg",), options=RELEVANCE)
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
    elif r.convention.recall_level == "rounded":
        documents = np.floor(recall * r.relevant + 0.5)
    else:  # 9 decimals remove the rounding error of a product such as .7 * 10
        documents = np.ceil(np.round(recall * r.relevant, 9))
    needed = np.maximum(documents.astype(np.int64), 1)
    values = np.where(r.retrieved >= needed, r.best_precision[r.hit(needed)], 0.0)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("mrr", label="MRR", names=("rr", "recip_rank"), options=RELEVANCE)
def reciprocal_rank(r: Ranking) -> np.ndarray:
    """Return RR = 1 / (rank of the first relevant document), or 0 if no document is relevant.

    The convention has no effect except for ties. MRR is the mean of RR over queries. Source: Voorhees 1999.
    """
    return r.reciprocal_rank


@metric("err@{k}", label="ERR@{k}", options=("judged_only",))
def err_at(r: Ranking, k: int) -> np.ndarray:
    """Return ERR@k = sum_{i<=k} 1/i R_i prod_{j<i} (1 - R_j), with R_i = (2^y_i - 1) / 2^g.

    g is the larger of the convention's `max_grade` and the highest grade in the data. Source: Chapelle et al. 2009.
    """
    return r.at(r.err, k)


@metric(
    "rbp@{persistence}",
    label="RBP (p = {persistence})",
    names=("rbp",),
    options=(*RELEVANCE, "gain"),
    defaults={"persistence": "0.8"},
)
def rank_biased_precision(r: Ranking, persistence: float) -> np.ndarray:
    """Return RBP = (1 - p) sum_i [relevant at rank i] p^(i-1).

    p is the probability that the reader goes on to the next document. In names without p, it is 0.8, the default of
    ir_measures. With a gain in the name, as in `rbp@0.95(gain=linear)`, a relevant document counts as much as its gain,
    which is not normalised. The convention has no effect except for ties. Source: Moffat and Zobel 2008; gains as in
    ranx.
    """
    return (1.0 - persistence) * r.total(r.utility * persistence ** (r.position - 1.0))


@metric(
    "rbp{persistence}@{k}",
    label="RBP@{k} (p = {persistence})",
    names=("rbp@{k}",),
    options=(*RELEVANCE, "gain"),
    defaults={"persistence": "0.8"},
)
def rank_biased_precision_at(r: Ranking, persistence: float, k: int) -> np.ndarray:
    """Return RBP@k = (1 - p) sum_{i<=k} [relevant at rank i] p^(i-1), as defined for `rank_biased_precision`.

    Source: Moffat and Zobel 2008; the cutoff is from ir_measures.
    """
    weighted = r.utility * persistence ** (r.position - 1.0)
    return (1.0 - persistence) * r.at(r.running_sum(weighted), k)


@metric("map@{k}", label="MAP@{k}", names=("ap@{k}", "map_cut_{k}"), options=RELEVANCE)
def average_precision_at(r: Ranking, k: int) -> np.ndarray:
    """Return AP@k = (sum of P@i over the ranks i <= k of relevant documents) / (relevant documents).

    Convention: `empty` for queries without relevant documents. Source: trec_eval (map_cut).
    """
    return r.ratio(r.at(r.running_sum(r.precision_at_hits), k), r.relevant)


@metric("mrr@{k}", label="MRR@{k}", names=("rr@{k}", "recip_rank_cut_{k}"), options=RELEVANCE)
def reciprocal_rank_at(r: Ranking, k: int) -> np.ndarray:
    """Return RR@k = 1 / (rank of the first relevant document), or 0 if none of the first k documents is relevant.

    The convention has no effect except for ties. Source: the official measure of MS MARCO, for k = 10.
    """
    return r.at(r.running_sum(r.first / r.position), k)


@metric(
    "success@{k}", label="Success@{k}", names=("success_{k}", "hit_rate@{k}", "hit@{k}", "hr@{k}"), options=RELEVANCE
)
def success_at(r: Ranking, k: int) -> np.ndarray:
    """Return success@k (hit rate) = 1 if one of the first k documents is relevant, otherwise 0.

    The convention has no effect except for ties. Source: trec_eval.
    """
    return r.at(r.running_sum(r.first), k)


@metric("hit_rate", label="Hit rate", options=RELEVANCE)
def hit_rate(r: Ranking) -> np.ndarray:
    """Return 1 if a document of the ranking is relevant, otherwise 0. The convention has no effect. Source: ranx."""
    return (r.retrieved > 0).astype(np.float64)


@metric("hits@{k}", label="Hits@{k}", options=RELEVANCE)
def hits_at(r: Ranking, k: int) -> np.ndarray:
    """Return the number of relevant documents among the first k.

    The convention has no effect except for ties. Source: ranx.
    """
    return r.at(r.hits, k)


@metric("dcg@{k}", label="DCG@{k}", names=("dcg_burges@{k}",), options=GAINS)
def dcg_at(r: Ranking, k: int) -> np.ndarray:
    """Return DCG@k = sum_{i<=k} gain(y_i) discount(i).

    Convention: `gain` and `discount`. Source: Järvelin and Kekäläinen 2002.
    """
    return r.at(r.dcg, k)


@metric("dcg", label="DCG", names=("dcg_burges",), options=GAINS)
def dcg(r: Ranking) -> np.ndarray:
    """Return DCG@n of each query of n documents.

    Convention: `gain` and `discount`. Source: Järvelin and Kekäläinen 2002.
    """
    return r.at(r.dcg, r.sizes)


@metric("err", label="ERR", options=("judged_only",))
def err(r: Ranking) -> np.ndarray:
    """Return ERR@n of each query of n documents, as defined for `err_at`. Source: Chapelle et al. 2009."""
    return r.at(r.err, r.sizes)


@metric("precision", label="Precision", names=("p", "set_p", "setp"), options=RELEVANCE)
def precision(r: Ranking) -> np.ndarray:
    """Return the precision of the whole ranking: (relevant documents in it) / (documents in it).

    The value is 0 for an empty ranking. The convention has no effect. Source: trec_eval (set_P).
    """
    return np.where(r.length > 0, r.retrieved / np.maximum(r.length, 1), 0.0)


@metric("recall", label="Recall", names=("r", "set_recall", "setr"), options=RELEVANCE)
def recall(r: Ranking) -> np.ndarray:
    """Return the recall of the whole ranking: (relevant documents in it) / (relevant documents).

    Convention: `empty` for queries without relevant documents. Source: trec_eval (set_recall).
    """
    return r.ratio(r.retrieved, r.relevant)


@metric("f{beta}", label="F{beta}", names=("set_f", "setf", "set_f_{beta}"), options=RELEVANCE, defaults={"beta": "1"})
def f_measure(r: Ranking, beta: float) -> np.ndarray:
    """Return F_beta of the whole ranking = (1 + b^2) hits / (b^2 relevant + documents in the ranking), with b = beta.

    Convention: `empty` for queries without relevant documents. Source: van Rijsbergen 1979.
    """
    values = (1 + beta**2) * r.retrieved / np.maximum(beta**2 * r.relevant + r.length, 1)
    return np.where(r.relevant > 0, values, r.convention.empty)


@metric("set_map", label="SetAP", options=RELEVANCE)
def set_average_precision(r: Ranking) -> np.ndarray:
    """Return the product of the precision and the recall of the whole ranking.

    Convention: `empty` for queries without relevant documents. Source: trec_eval (set_map).
    """
    return r.ratio(r.retrieved**2 / np.maximum(r.length, 1), r.relevant)


@metric("set_relative_p", label="SetRelP", names=("set_relative_precision",), options=RELEVANCE)
def set_relative_precision(r: Ranking) -> np.ndarray:
    """Return (relevant documents in the ranking) / (the most that could be in it: relevant documents or its length).

    Convention: `empty` for queries without relevant documents. Source: trec_eval (set_relative_P).
    """
    return np.where(r.relevant > 0, r.retrieved / np.maximum(np.minimum(r.length, r.relevant), 1), r.convention.empty)


@metric("bpref", label="Bpref", options=("rel",))
def bpref(r: Ranking) -> np.ndarray:
    """Return bpref = 1/R sum over the relevant documents in the ranking of 1 - min(n, R) / min(N, R).

    R and N are the numbers of judged relevant and irrelevant documents, and n is the number of judged irrelevant
    documents above the relevant one. Documents without a judgement do not count. Convention: `empty` for queries
    without relevant documents. Source: Buckley and Voorhees 2004, as computed by trec_eval.
    """
    return r.ratio(r.preferences, r.relevant)


@metric("infap", label="infAP", has_expectation=False, options=("rel",))
def inferred_average_precision(r: Ranking) -> np.ndarray:
    """Return infAP = 1/R sum over the relevant documents, at ranks i, of (1 + c (h + e) / (h + n + 2e)) / i.

    c, h and n are the numbers of pooled, relevant and judged irrelevant documents above rank i, and e = 0.00001. A
    document is pooled if the judgements contain it; its grade is negative if it was not judged. If the judgements have
    strata, c (h + e) / (h + n + 3e) is summed over the strata, and a relevant document counts as often as the number of
    pooled documents of its stratum that one judged document stands for, also in R (xinfAP). The value is nan under
    `ties="expected"`, because the mean of a ratio has no closed form. Convention: `empty` for queries without relevant
    documents. Source: Yilmaz and Aslam 2006, as computed by trec_eval; with strata, Yilmaz, Kanoulas and Aslam 2008, as
    computed by TREC's sample_eval.pl for rankings and numbers of relevant documents up to 1,000.
    """
    relevant = r.is_relevant.astype(np.float64)
    if r.stratum is None:
        weight, total, smoothing = 1.0, r.relevant, 2e-5
    else:
        weight, smoothing = r.weight(), 3e-5
        total = r.total(np.where(r.judged >= r.threshold, weight, 0.0))
    estimated = np.zeros(len(relevant))
    for stratum in range(r.strata):
        inside = True if r.stratum is None else r.stratum == stratum
        counted = (r.in_ranking & r.pooled & inside, r.is_relevant & inside, r.in_ranking & r.sampled & inside)
        pooled, found, judged = (r.running_sum(each.astype(np.float64)) - each for each in counted)
        estimated += pooled * ((found + 1e-5) / (judged + smoothing))
    return r.ratio(r.total(relevant * weight * (1.0 + estimated) / r.position), total)


@metric("infndcg", label="infNDCG", options=("gain", "discount"))
def inferred_ndcg(r: Ranking) -> np.ndarray:
    """Return infNDCG = (estimated DCG) / (estimated ideal DCG), for judgements of a random sample of a pool.

    The estimated DCG is the DCG of the judged documents in the ranking, multiplied by (pooled documents in the ranking)
    / (judged documents in the ranking). For the ideal order, the number of documents of each grade above 0 is
    multiplied by (pooled documents) / (judged documents), and these documents follow each other. A document is pooled
    if the judgements contain it; its grade is negative if it was not judged. If all pooled documents are judged, the
    value is NDCG. If the judgements have strata, the two factors are those of each document's stratum. The value may
    exceed 1. Convention: `gain`, `discount` and `empty`. Source: Yilmaz, Kanoulas and Aslam 2008, as computed by TREC's
    sample_eval.pl for rankings and numbers of relevant documents up to 1,000.
    """
    return r.ratio(r.inferred_dcg, r.inferred_ideal_dcg)


@metric("judged@{k}", label="Judged@{k}")
def judged_at(r: Ranking, k: int) -> np.ndarray:
    """Return the share of the first k documents that the judgements contain; k is limited to the ranking's length.

    The value is nan for an empty ranking. The convention has no effect except for ties. Source: ir_measures.
    """
    contained = r.mean_over_ties((r.in_ranking & r.pooled).astype(np.float64))
    return r.at(r.running_sum(contained), k) / np.where(r.length > 0, np.minimum(k, r.length), np.nan)


@metric("num_ret", label="NumRet")
def retrieved(r: Ranking) -> np.ndarray:
    """Return the number of documents in the ranking. The mean over queries is a mean, not the sum.

    Source: trec_eval.
    """
    return r.length.astype(np.float64)


@metric("num_rel", label="NumRel", options=("rel",))
def relevant(r: Ranking) -> np.ndarray:
    """Return the number of relevant documents. The mean over queries is a mean, not the sum. Source: trec_eval."""
    return r.relevant.astype(np.float64)


@metric("num_rel_ret", label="NumRelRet", names=("hits",), options=("rel",))
def relevant_retrieved(r: Ranking) -> np.ndarray:
    """Return the number of relevant documents in the ranking. The mean over queries is a mean, not the sum.

    Source: trec_eval.
    """
    return r.retrieved.astype(np.float64)


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


# key: a parameter of ir_measures in brackets. value: the parameter of a metric's name.
PARAMETERS = {"p": "persistence", "beta": "beta", "recall": "recall", "k": "k", "cutoff": "k"}
DCG = {"log2": ("linear", "log2"), "exp-log2": ("exponential", "log2")}  # ir_measures' formulas: gain and discount


def metric_name(name: Any) -> str:
    """Return gradrank's name of a metric, such as `ndcg@10` for `NDCG@10`, or `map(rel=2)` for `AP(rel=2)`.

    name: a name of gradrank, of the literature, of trec_eval (`ndcg_cut_10`, `P_5`, `recip_rank`), of ir_measures
    (`nDCG@10`, `P(rel=2)@5`, or its object) or of ranx (`hit_rate@10`, `map@100-l2`). Upper and lower case and blanks
    make no difference. Gain, discount and the highest grade of ERR are those of the convention unless the name has
    them. RBP is binary. Raises GradrankError for an unknown metric, parameter or value.
    """
    text = str(name) if hasattr(name, "NAME") and hasattr(name, "params") else name  # an object of ir_measures
    if not isinstance(text, str):
        raise GradrankError(f"metric {name!r}: expected a name, such as 'ndcg@10'")
    text = re.sub(r"gains=\{(.*?)\}", lambda gains: "gain=" + gains[1].replace(",", ";"), text)  # of ir_measures
    plain, given = _split(re.sub(r"[\s'\"]", "", text).lower())
    if level := re.search(r"-l([1-9]\d*)$", plain):
        plain, given = plain[: level.start()], given | {"rel": level[1]}
    plain = re.sub(r"^rbp\.(\d+)$", r"rbp@0.\1", plain)  # ranx's `rbp.95`
    if plain in ("num_ret", "numret") and "rel" in given:
        plain = "num_rel_ret"  # ir_measures' NumRet(rel=1)
    plain = re.sub(r"(?<=[a-z])\.(?=\d)", "_", plain)  # trec_eval's `ndcg_cut.10`
    parameters = {PARAMETERS[key]: given.pop(key) for key in tuple(given) if key in PARAMETERS}
    if "k" in parameters:
        plain = f"{plain}@{parameters.pop('k')}"
    for spelling, pattern in _spellings().items():
        found = _parameters(plain, spelling, pattern, parameters)
        if found is not None:
            return _joined(pattern.format(**found), _options(text, given, METRICS[pattern].options))
    cutoff = re.search(r"@(\d+)$", plain)
    if cutoff and int(cutoff[1]) == 0:
        raise GradrankError(f"metric {text!r}: the cutoff is 0. Fix: give the number of ranks, from 1")
    known = [pattern.replace("{k}", str(int(cutoff[1])) if cutoff else "10") for pattern in METRICS]
    raise GradrankError(f"unknown metric {text!r}{nearest(plain, known)}")


def metric_names(name: Any) -> list[str]:
    """Return gradrank's names of the metrics that a name stands for.

    Some names of trec_eval stand for several metrics: `ndcg_cut`, `map_cut`, `success` and `iprec_at_recall`, with the
    parameters of trec_eval, and these, `P` and `recall` with a list, such as `P.5,10` or `P_5,10`. All other names are
    those of `metric_name`, and raise its errors.
    """
    spelled = re.match(rf"({'|'.join(FAMILIES)})([._]|$)", name.strip().lower()) if isinstance(name, str) else None
    family, given = (spelled[1], name.strip()[spelled.end() :]) if spelled and isinstance(name, str) else ("", "")
    parameters = given if "," in given else FAMILIES.get(family, "") if not given else ""
    if family not in FAMILIES or not parameters:
        return [metric_name(name)]
    return [metric_name(f"{family}_{parameter.strip()}") for parameter in parameters.split(",")]


def _spellings() -> dict[str, str]:
    """Return a dict from each spelling, a pattern in lower case without blanks, to the pattern of gradrank's name."""
    own = {pattern: pattern for pattern in METRICS}
    labels = {_split("".join(metric.label.split()).lower())[0]: pattern for pattern, metric in METRICS.items()}
    return {name: pattern for pattern, metric in METRICS.items() for name in metric.names} | labels | own


def _parameters(name: str, spelling: str, pattern: str, given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the text of the parameters of `pattern` if the name has this spelling, otherwise None.

    given: the parameters in brackets. Decimals have their shortest form.
    """
    matched, found = match(name, [spelling])
    needed = set(re.findall(r"{(\w+)}", pattern))
    if matched is None or not {*given} <= needed:
        return None
    found = {**METRICS[pattern].defaults, **given, **found}
    if {*found} < needed or not all(re.fullmatch(FIELDS[key][1], text) for key, text in found.items()):
        return None
    return {key: str(float(text)) if key in ("recall", "persistence") else text for key, text in found.items()}


def _options(name: str, given: dict[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Return the options of a name without those that change nothing. Raises GradrankError for any other option."""
    if "dcg" in given and given["dcg"] in DCG and "gain" in allowed:
        given["gain"], given["discount"] = DCG[given.pop("dcg")]
    chosen = {}
    for key, text in given.items():
        if (key, text) in (("rel", "1"), ("judged_only", "false")):
            continue
        if key not in allowed:
            which = f"it has {', '.join(allowed)}" if allowed else "it has none"
            raise GradrankError(f"metric {name!r}: unknown option {key!r}. Fix: leave it out; {which}")
        if not re.fullmatch(OPTIONS[key], text):
            raise GradrankError(f"metric {name!r}: {key}={text} is not valid. Fix: give a value such as rel=2")
        chosen[key] = text
    return chosen
