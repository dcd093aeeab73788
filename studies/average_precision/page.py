"""The page of the study: R-precision and MAP, the spread of AP, the stability of P@k, accuracy, the worked example.

The worked example is that of the blog: the AP of three systems, as printed and as computed from their rankings.
"""

from fractions import Fraction
from typing import NamedTuple

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Inputs, PageSection
from studies.average_precision.measures import MEASURES, accuracy, query_sizes, spread, stability, tracking


class System(NamedTuple):
    """A ranking of the blog.

    hits: the ranks of the relevant documents in ascending order. The first rank is 1. summed: the precisions that the
    blog adds up. printed: the value that the blog gives as the mean of `summed`.
    """

    hits: tuple[int, ...]
    summed: tuple[Fraction, ...]
    printed: Fraction


RANKING = (1, 5, 4, 6, 7, 2)  # the documents of system 1 by rank
SYSTEMS = {
    "system 1": System((1, 2, 6), (Fraction(1, 1), Fraction(2, 2), Fraction(2, 6)), Fraction(8, 9)),
    "system 2": System((1, 2, 3), (Fraction(1, 1), Fraction(2, 2), Fraction(3, 3)), Fraction(1)),
    "system 3": System((3, 4, 7), (Fraction(1, 3), Fraction(2, 4), Fraction(3, 7)), Fraction(41, 100)),
}


def precisions(hits: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Return the precision at the rank of each relevant document. hits: as in System."""
    return tuple(Fraction(relevant, rank) for relevant, rank in enumerate(hits, 1))


def mean(values: tuple[Fraction, ...]) -> Fraction:
    """Return the mean of exact fractions."""
    return sum(values, Fraction(0)) / len(values)


def worked() -> PageSection:
    """Return the section on the worked example."""
    rows: list[Row] = [
        {
            "system": name,
            "hits": ", ".join(map(str, system.hits)),
            "summed": " + ".join(map(_unreduced, system.summed, system.hits)),
            "summed_mean": float(mean(system.summed)),
            "printed": float(system.printed),
            "ap": float(mean(precisions(system.hits))),
        }
        for name, system in SYSTEMS.items()
    ]
    table = Table("worked", "The three systems", COLUMNS, rows)
    return PageSection("worked", "The worked example", [_first_system(), _third_system()], [table])


COLUMNS = (
    Column("system"),
    Column("hits", "relevant at ranks"),
    Column("summed", "precisions that the blog adds"),
    Column("summed_mean", "their mean", ".4f"),
    Column("printed", "printed", ".4f"),
    Column("ap", "AP", ".4f"),
)


def _first_system() -> str:
    """Return the sentences on system 1: the wrong term of the sum, the value of the sum, and the AP."""
    system = SYSTEMS["system 1"]
    documents = [RANKING[rank - 1] for rank in system.hits]
    terms = [
        f"{_unreduced(theirs, rank)} at rank {rank} should be {_unreduced(right, rank)}"
        for theirs, right, rank in zip(system.summed, precisions(system.hits), system.hits, strict=True)
        if theirs != right
    ]
    total = " + ".join(map(_unreduced, system.summed, system.hits))
    return (
        f"System 1 ranks the documents {', '.join(map(str, RANKING))}. The relevant documents {_listed(documents)} are "
        f"at the ranks {_listed(system.hits)}. The blog adds up ({total}) / {len(system.summed)}, which is "
        f"{mean(system.summed)}, and calls it {system.printed}. In the sum, {_listed(terms)}. The AP is "
        f"{mean(precisions(system.hits))}."
    )


def _third_system() -> str:
    """Return the sentence on the rounding of system 3."""
    system = SYSTEMS["system 3"]
    ap = mean(precisions(system.hits))
    return (
        f"System 3 has its relevant documents at the ranks {_listed(system.hits)}, and its AP is {ap} = "
        f"{float(ap):.4f}. Rounded to two decimals this is {float(ap):.2f}, and the blog prints "
        f"{float(system.printed):.2f}."
    )


def _unreduced(value: Fraction, rank: int) -> str:
    """Return a precision at a rank as `relevant/rank`, such as 2/6 for 1/3."""
    return f"{value * rank}/{rank}"


def _listed(items: tuple | list) -> str:
    """Return the items as text, separated by commas, and the last one by `and`."""
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last


CONVENTION = "letor4_expected"  # averages over all orders of tied documents, so no measure benefits from the file order


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    measured = {
        dataset: {model: inputs.measure(dataset, model, MEASURES, CONVENTION) for model in inputs.models}
        for dataset in inputs.datasets
    }
    sizes = {dataset: query_sizes(inputs, dataset) for dataset in inputs.datasets}
    return [tracking(measured), spread(measured), stability(measured, sizes), accuracy(measured, sizes), worked()]
