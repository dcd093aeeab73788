"""Changes of parameters, data, code and packages between two states.

Only fields that both states record are compared.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gradrank.diff.state import Fields, State

Difference = tuple[str, Any, Any]  # name, value in A, value in B


class Change(NamedTuple):
    """A changed field.

    a: value of the field in A. b: value in B. None means that the state does not have the field. datasets: names
    of the data sets with this change.
    """

    name: str
    a: Any
    b: Any
    datasets: tuple[str, ...]


class Changes(NamedTuple):
    """The changes of each kind. A field has the value None if one of the states does not record this kind."""

    params: list[Change] | None
    data: list[Change] | None
    code: list[Change] | None
    versions: list[Change] | None


def changes(a: State, b: State) -> Changes:
    """Return the changes from A to B over the data sets that both states have."""
    return Changes(
        params=_collect(a.params, b.params, _params),
        data=_collect(a.data, b.data, _common),
        code=_collect(a.code, b.code, _common),
        versions=_collect(a.versions, b.versions, _all),
    )


def _collect(a: Fields, b: Fields, differences: Callable[[Any, Any], Iterator[Difference]]) -> list[Change] | None:
    """Return the changes of all data sets, or None if no data set has recorded fields in both states.

    If several data sets have the same difference, it is returned as one Change.
    """
    both = [dataset for dataset in a if a[dataset] and b.get(dataset)]
    if not both:
        return None
    collected: dict[tuple[str, str], Change] = {}
    for dataset in both:
        for name, old, new in differences(a[dataset], b[dataset]):
            key = name, repr((old, new))
            datasets = collected[key].datasets if key in collected else ()
            collected[key] = Change(name, old, new, (*datasets, dataset))
    return sorted(collected.values(), key=lambda change: (change.name, change.datasets))


def _params(a: Fields, b: Fields) -> Iterator[Difference]:
    """Yield the differences in the sections that both states have.

    A model that was trained in only one state is therefore not reported as a change.
    """
    for section in a.keys() & b.keys():
        for name, old, new in _all(a[section], b[section]):
            yield f"{section}.{name}".lstrip("."), old, new


def _all(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for name in a.keys() | b.keys():
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _common(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """Return the differences in the fields that both states have.

    A method that was trained in only one state is therefore not reported as a change.
    """
    return ((name, old, new) for name, old, new in _all(a, b) if name in a and name in b)
