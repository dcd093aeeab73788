"""The named conventions of evaluation programs.

The same MQ2008 ranking has NDCG@10 .227 under `letor4`, .501 under `ranklib` and .782 under `lightgbm`. Every table and
file therefore names its convention.
"""

from dataclasses import replace
from typing import Any

from gradrank.base.conventions import EXPECTED, LETOR4, Convention
from gradrank.base.errors import GradrankError, unknown

PROGRAMS = {
    convention.name: convention
    for convention in (
        LETOR4,
        Convention(
            "letor3",
            "LETOR 3.0's evaluation program: as letor4, but short queries also score 0 at P@k.",
            discount="letor",
            short="zero",
            short_precision="zero",
            recall_level="trec_eval",
        ),
        Convention(
            "standard",
            "The textbook definition: gain 2^y - 1, discount 1/log2(rank + 1), k limited to the query's length.",
        ),
        Convention(
            "trec",
            "trec_eval: linear gain, ties in descending order of document id.",
            gain="linear",
            ties="docid",
            recall_level="trec_eval",
        ),
        Convention(
            "lightgbm",
            "LightGBM, XGBoost and allRank: as standard, but a query without relevant documents scores 1.",
            empty=1.0,
            recall_level="trec_eval",
        ),
        Convention(
            "ranklib",
            "RankLib: as standard, but P@k of a short query divides by its length, and ERR's highest grade is 4.",
            short_precision="truncate",
            recall_level="trec_eval",
            max_grade=4,
        ),
    )
}
CONVENTIONS = PROGRAMS | {
    name + EXPECTED: replace(
        convention.in_expectation(), summary=f"As {name}, but each value is the mean over all orders of tied scores."
    )
    for name, convention in PROGRAMS.items()
}


DEFAULT = "standard"  # the convention of every command and function for which none is given


def in_expectation(name: str) -> str | None:
    """Return the name of the convention that differs from convention `name` only in `ties="expected"`.

    Returns None if convention `name` is unknown or does not break ties by file order.
    """
    convention = CONVENTIONS.get(name)
    return name + EXPECTED if convention is not None and convention.ties == "file" else None


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
