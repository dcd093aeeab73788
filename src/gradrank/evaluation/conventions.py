"""Conventions: records of the choices in which evaluation programs differ.

The same MQ2008 ranking has NDCG@10 .227 under `letor4`, .501 under `ranklib` and .782 under `lightgbm`. Every table and
file therefore names its convention.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

from gradrank.base.errors import GradrankError, unknown


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
    max_grade: int | None = None

    def __post_init__(self) -> None:
        for field, hint in get_type_hints(Convention).items():
            choices = get_args(hint)
            if isinstance(choices and choices[0], str) and getattr(self, field) not in choices:
                valid = ", ".join(map(repr, choices))
                value = f"{field}={getattr(self, field)!r}"
                raise GradrankError(f"convention {self.name}: {value} is not valid. Fix: use one of {valid}")


EXPECTED = "_expected"  # suffix of the name of a convention that differs from a program's only in ties="expected"
PROGRAMS = {
    convention.name: convention
    for convention in (
        Convention(
            "letor4",
            "LETOR 4.0's evaluation program: no discount at rank 2, and short queries score 0 at NDCG@k.",
            discount="letor",
            short="zero",
        ),
        Convention(
            "letor3",
            "LETOR 3.0's evaluation program: as letor4, but short queries also score 0 at P@k.",
            discount="letor",
            short="zero",
            short_precision="zero",
        ),
        Convention(
            "standard",
            "The textbook definition: gain 2^y - 1, discount 1/log2(rank + 1), k limited to the query's length.",
        ),
        Convention(
            "trec", "trec_eval: linear gain, ties in descending order of document id.", gain="linear", ties="docid"
        ),
        Convention(
            "lightgbm",
            "LightGBM, XGBoost and allRank: as standard, but a query without relevant documents scores 1.",
            empty=1.0,
        ),
        Convention(
            "ranklib",
            "RankLib: as standard, but P@k of a short query divides by its length, and ERR's highest grade is 4.",
            short_precision="truncate",
            max_grade=4,
        ),
    )
}
CONVENTIONS = PROGRAMS | {
    name + EXPECTED: replace(
        convention,
        name=name + EXPECTED,
        summary=f"As {name}, but each value is the mean over all orders of tied scores.",
        ties="expected",
    )
    for name, convention in PROGRAMS.items()
    if convention.ties == "file"
}


def in_expectation(name: str) -> str | None:
    """Return the name of the convention that differs from convention `name` only in `ties="expected"`.

    Returns None if convention `name` is unknown or does not break ties by file order.
    """
    convention = CONVENTIONS.get(name + EXPECTED)
    return convention.name if convention else None


def resolve(name: str | Convention, **changes: Any) -> Convention:
    """Return the convention called `name`, or the given Convention, with the fields in `changes` replaced.

    Raises GradrankError for an unknown name and for an invalid value of a field.
    """
    if isinstance(name, str):
        if name not in CONVENTIONS:
            raise GradrankError(unknown("convention", name, CONVENTIONS))
        name = CONVENTIONS[name]
    if not isinstance(name, Convention):
        raise GradrankError(f"convention {name!r}: expected a name. Fix: use one of {', '.join(CONVENTIONS)}")
    return replace(name, **changes)
