"""The class Convention: the choices in which evaluation programs differ.

The named conventions are in `gradrank.measures.conventions`. Training imports this module only, so an additional
convention retrains nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from gradrank.base.errors import GradrankError

if TYPE_CHECKING:
    import numpy as np

EXPECTED = "_expected"  # suffix of the name of a convention that differs from a program's only in ties="expected"

GAINS = ("exponential", "linear")


def _gains(given: object, name: str) -> tuple[float, ...]:
    """Return a list of gains as a tuple, which can be compared. Raises GradrankError for anything else."""
    try:
        gains = tuple(map(float, given))  # pyright: ignore[reportArgumentType] - what is not a list is refused
    except (TypeError, ValueError):
        gains = ()
    if not gains or not all(math.isfinite(gain) and gain >= 0 for gain in gains):
        raise GradrankError(
            f"convention {name}: gain={given!r} is not valid. Fix: give a list of numbers from 0, one per grade"
        )
    return gains


@dataclass(frozen=True)
class Convention:
    """The choices of one evaluation program. Raises GradrankError if the value of a field is not allowed.

    gain: gain of grade y in DCG: 2^y - 1 (`exponential`), y (`linear`), a list with the gain of each grade from 0, as
        LightGBM's `label_gain`, or a function of the grade. Unless the gain is exponential, grades may be fractions and
        may exceed 31.
    discount: discount of a rank in DCG: 1/log2(rank + 1) (`log2`), or 1 at rank 1 and 1/log2(rank) below (`letor`).
    empty: value for a query without relevant documents, in metrics that divide by the number of relevant documents or
        by the ideal DCG: 0, 1, or nan to drop these queries from every metric.
    short: NDCG@k of a query with n < k documents: 0 (`zero`) or NDCG@n (`truncate`).
    short_precision: P@k of a query with n < k documents: 0 (`zero`), hits/k (`pad`) or hits/n (`truncate`).
    ties: order of tied scores. `file`: order of the rows. `docid`: document ids in descending order, with scores
        compared as 32-bit floats, as in trec_eval. `expected`: the value is the mean over all orders.
    recall_level: number of documents that reach a recall r of R relevant documents, for interpolated precision: the
        ceiling of r R (`exact`), the floor(r R + .9) of trec_eval up to version 9 with its rounding errors
        (`trec_eval`), or r R rounded as in version 10 (`rounded`). For r = .7 and R = 3, they are 3, 2 and 2.
    max_grade: highest grade of the scale, on which the stopping probability of ERR is based. With None, or if the data
        contain a higher grade, the highest grade in the data is used.
    """

    name: str
    summary: str
    gain: Literal["exponential", "linear"] | Sequence[float] | Callable[[float], float] = "exponential"
    discount: Literal["log2", "letor"] = "log2"
    empty: float = 0.0
    short: Literal["zero", "truncate"] = "truncate"
    short_precision: Literal["zero", "pad", "truncate"] = "pad"
    ties: Literal["file", "docid", "expected"] = "file"
    recall_level: Literal["exact", "trec_eval", "rounded"] = "exact"
    max_grade: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.gain, str):
            if self.gain not in GAINS:
                raise GradrankError(
                    f"convention {self.name}: gain={self.gain!r} is not valid. Fix: use one of "
                    f"{', '.join(map(repr, GAINS))}, a list or a function"
                )
        elif not callable(self.gain):
            object.__setattr__(self, "gain", _gains(self.gain, self.name))
        for field, hint in get_type_hints(Convention).items():
            choices = get_args(hint)
            if isinstance(choices and choices[0], str) and getattr(self, field) not in choices:
                valid = ", ".join(map(repr, choices))
                value = f"{field}={getattr(self, field)!r}"
                raise GradrankError(f"convention {self.name}: {value} is not valid. Fix: use one of {valid}")

    @property
    def takes_any_grade(self) -> bool:
        """True if grades may be fractions and may exceed 31, because the gain does not grow exponentially."""
        return self.gain != "exponential"

    def gains(self, levels: "np.ndarray") -> "np.ndarray":
        """Return the (m,) float64 gains of m grades, which are sorted in ascending order.

        Raises GradrankError if a list of gains lacks one of the grades, or if a function returns a number that is
        negative or not finite.
        """
        import numpy as np  # commands name conventions before they choose the instructions of NumPy

        gain = self.gain
        if gain == "exponential":
            return 2.0**levels - 1.0
        if gain == "linear":
            return levels.astype(np.float64)
        if callable(gain):
            gains = np.array([float(gain(level)) for level in levels.tolist()])
            if not np.all(np.isfinite(gains) & (gains >= 0)):
                raise GradrankError(
                    "gain: the function returns a number that is negative or not finite. Fix: change it"
                )
            return gains
        if levels[-1] >= len(gain) or np.any(levels != np.floor(levels)):
            raise GradrankError(
                f"gain: {len(gain)} values, but the data have the grade {levels[-1]:g} or fractions. Fix: give one "
                "value per grade from 0, or a function"
            )
        return np.array(gain, dtype=np.float64)[levels.astype(np.int64)]

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
