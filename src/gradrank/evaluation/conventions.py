"""Conventions: what the evaluation programs in use disagree about, as data.

The same MQ2008 ranking has NDCG@10 .227 under `letor4`, .501 under `ranklib` and .782 under `lightgbm`, so a
convention is part of every number: each table and file names the one it uses.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

from gradrank.base.errors import GradrankError, unknown


@dataclass(frozen=True)
class Convention:
    """One evaluation program's choices.

    gain: of a grade y in DCG: 2^y - 1 (`exponential`) or y (`linear`).
    discount: of a rank in DCG: 1/log2(rank + 1) (`log2`), or 1 at rank 1 and 1/log2(rank) after (`letor`).
    empty: value of a metric that divides by the number of relevant documents or by the ideal DCG, for a query
        without relevant documents: 0, 1, or nan to drop such queries from every metric.
    short: NDCG@k of a query with fewer than k documents: 0 (`zero`) or NDCG@n (`truncate`).
    short_precision: P@k of such a query: 0 (`zero`), hits/k (`pad`) or hits/n (`truncate`).
    ties: order of equal scores: that of the file (`file`), document ids descending with scores compared as
        32-bit floats (`docid`), as trec_eval does, or none: the mean over all orders (`expected`).
    max_grade: the grade that ERR takes for a certain stop; None: the highest in the data.
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


EXPECTED = "_expected"  # ends the name of a convention that differs from another in `ties: expected` alone
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
            "LETOR 3.0's evaluation program: as letor4, but short queries score 0 at P@k too.",
            discount="letor",
            short="zero",
            short_precision="zero",
        ),
        Convention("standard", "The textbook's: gain 2^y - 1, discount 1/log2(rank + 1), k cut to the list's length."),
        Convention(
            "trec", "trec_eval: linear gain, ties by document id in descending order.", gain="linear", ties="docid"
        ),
        Convention(
            "lightgbm",
            "LightGBM, XGBoost and allRank: as standard, but a query without relevant documents scores 1.",
            empty=1.0,
        ),
        Convention(
            "ranklib",
            "RankLib: as standard, but P@k divides by a short list's length and ERR's highest grade is 4.",
            short_precision="truncate",
            max_grade=4,
        ),
    )
}
CONVENTIONS = PROGRAMS | {
    name + EXPECTED: replace(
        each,
        name=name + EXPECTED,
        summary=f"As {name}, but the mean over all orders of equal scores: the file's order does not count.",
        ties="expected",
    )
    for name, each in PROGRAMS.items()
    if each.ties == "file"
}


def in_expectation(name: str) -> str | None:
    """The convention that differs from this one in `ties: expected` alone; None of one that minds no file's order."""
    found = CONVENTIONS.get(name + EXPECTED)
    return found.name if found else None


def resolve(name: str | Convention, **changes: Any) -> Convention:
    """The preset called `name` with some fields changed. Raises GradrankError for unknown ones."""
    if isinstance(name, str):
        if name not in CONVENTIONS:
            raise GradrankError(unknown("convention", name, CONVENTIONS))
        name = CONVENTIONS[name]
    return replace(name, **changes)
