"""Spellings of metric names: gradrank's own, the labels of the literature, and those of ir_measures."""

import re

from gradrank.base.errors import GradrankError, nearest
from gradrank.measures.metrics import METRICS, match

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
