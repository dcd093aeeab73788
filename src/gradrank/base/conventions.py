"""The class Convention: the choices in which evaluation programs differ.

The named conventions are in `gradrank.measures.conventions`. Training imports this module only, so an additional
convention retrains nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

from gradrank.base.errors import GradrankError

EXPECTED = "_expected"  # suffix of the name of a convention that differs from a program's only in ties="expected"


@dataclass(frozen=True)
class Convention:
    """The choices of one evaluation program. Raises GradrankError if the value of a field is not allowed.

    gain: gain of grade y in DCG: 2^y - 1 (`exponential`) or y (`linear`).
    discount: discount of a rank in DCG: 1/log2(rank + 1) (`log2`), or 1 at rank 1 and 1/log2(rank) below (`letor`).
    empty: value for a query without relevant documents, in metrics that divide by the number of relevant documents or
        by the ideal DCG: 0, 1, or nan to drop these queries from every metric.
    short: NDCG@k of a query with n < k documents: 0 (`zero`) or NDCG@n (`truncate`).
    short_precision: P@k of a query with n < k documents: 0 (`zero`), hits/k (`pad`) or hits/n (`truncate`).
    ties: order of tied scores. `file`: order of the rows. `docid`: document ids in descending order, with scores
        compared as 32-bit floats, as in trec_eval. `expected`: the value is the mean over all orders.
    recall_level: number of documents that reach a recall r of R relevant documents, for interpolated precision: the
        ceiling of r R (`exact`), or trec_eval's floor(r R + .9) with its rounding errors (`trec_eval`). For r = .7 and
        R = 3, the first is 3 and the second is 2.
    max_grade: highest grade of the scale, on which the stopping probability of ERR is based. With None, or if the data
        contain a higher grade, the highest grade in the data is used.
    """

    name: str
    summary: str
    gain: Literal["exponential", "linear"] = "exponential"
    discount: Literal["log2", "letor"] = "log2"
    empty: float = 0.0
    short: Literal["zero", "truncate"] = "truncate"
    short_precision: Literal["zero", "pad", "truncate"] = "pad"
    ties: Literal["file", "docid", "expected"] = "file"
    recall_level: Literal["exact", "trec_eval"] = "exact"
    max_grade: int | None = None

    def __post_init__(self) -> None:
        for field, hint in get_type_hints(Convention).items():
            choices = get_args(hint)
            if isinstance(choices and choices[0], str) and getattr(self, field) not in choices:
                valid = ", ".join(map(repr, choices))
                value = f"{field}={getattr(self, field)!r}"
                raise GradrankError(f"convention {self.name}: {value} is not valid. Fix: use one of {valid}")

    def in_expectation(self) -> "Convention":
        """Return the convention that differs only in `ties="expected"`. Its name has the suffix `_expected`."""
        return self if self.ties == "expected" else replace(self, name=self.name + EXPECTED, ties="expected")


LETOR4 = Convention(
    "letor4",
    "LETOR 4.0's evaluation program: no discount at rank 2, and short queries score 0 at NDCG@k.",
    discount="letor",
    short="zero",
    recall_level="trec_eval",
)


def selection_convention(spec: Mapping[str, Any]) -> str:
    """Return the name of the convention under which a fold was selected, from its spec.json.

    Earlier versions did not record the convention. They always used `letor4`.
    """
    return spec.get("convention", LETOR4.name)


def selection_label(name: str) -> str:
    """Return the text for the convention of a model selection, such as `letor4, ties in expectation`.

    name: name of the primary convention of the data set, with or without the suffix `_expected`.
    """
    return f"{name.removesuffix(EXPECTED)}, ties in expectation"
