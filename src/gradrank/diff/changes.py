"""What differs in how two sides were made: parameters, data, code and packages. Only what both know is compared."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradrank.diff.state import Known, State


class Change(NamedTuple):
    """`datasets`: those it concerns. a, b: None where the side does not have it."""

    name: str
    a: Any
    b: Any
    datasets: tuple[str, ...]


class Changes(NamedTuple):
    """By kind: what changed; None where a side does not record it."""

    params: list[Change] | None
    data: list[Change] | None
    code: list[Change] | None
    versions: list[Change] | None


def changes(a: State, b: State) -> Changes:
    """Over the data sets that both sides have."""
    return Changes(
        params=_collected(a.params, b.params, _params),
        data=_collected(a.data, b.data, _common),
        code=_collected(a.code, b.code, _common),
        versions=_collected(a.versions, b.versions, _all),
    )


def _collected(a: Known, b: Known, compared) -> list[Change] | None:
    """The differences of each data set, those that are equal put together."""
    both = [dataset for dataset in a if a[dataset] and b.get(dataset)]
    if not both:
        return None
    found: dict[tuple[str, str], Change] = {}
    for dataset in both:
        for name, old, new in compared(a[dataset], b[dataset]):
            key = name, repr((old, new))
            known = found[key].datasets if key in found else ()
            found[key] = Change(name, old, new, (*known, dataset))
    return sorted(found.values(), key=lambda change: (change.name, change.datasets))


Difference = tuple[str, Any, Any]


def _params(a: Known, b: Known) -> Iterator[Difference]:
    """Of the sections that both have: a model that one side did not train has not lost its parameters."""
    for section in a.keys() & b.keys():
        for name, old, new in _all(a[section], b[section]):
            yield f"{section}.{name}".lstrip("."), old, new


def _all(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for name in a.keys() | b.keys():
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _common(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences in what both sides name: a method that one side did not train has not changed."""
    return ((name, old, new) for name, old, new in _all(a, b) if name in a and name in b)
