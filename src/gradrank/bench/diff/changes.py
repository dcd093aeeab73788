"""Changes of parameters, data, code and packages between two states.

Only fields that both states record are compared. The parameters, code and packages of methods that exist in only one
state are not compared, because a method that was added or removed is not a changed method.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.bench.diff.state import (
    MODEL,
    Fields,
    State,
    VariantPair,
    changed_sweeps,
    entry_of,
    methods_only_in,
    with_names_of_b,
)
from gradrank.bench.provenance.records import AND, training_code
from gradrank.training.registry import models

Difference = tuple[str, Any, Any]  # name, value in A, value in B
SEEDS = "seeds"


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


def changes(a: State, b: State, renamed: Sequence[VariantPair] = ()) -> Changes:
    """Return the changes from A to B over the data sets that both states have.

    renamed: methods that are the same in A and B, although their names differ.
    """
    written, a = a, with_names_of_b(a, renamed)

    def params(dataset: str) -> Iterator[Difference]:
        return chain(_params(dataset, a, b), changed_sweeps(dataset, written, b))

    return Changes(
        params=_collect(a.params, b.params, params),
        data=_collect(a.data, b.data, lambda dataset: _common(a.data[dataset], b.data[dataset])),
        code=_collect(a.code, b.code, lambda dataset: _code(dataset, a, b)),
        versions=_collect(a.versions, b.versions, lambda dataset: _versions(dataset, a, b)),
    )


def _collect(a: Fields, b: Fields, differences: Callable[[str], Iterable[Difference]]) -> list[Change] | None:
    """Return the changes of all data sets, or None if no data set has recorded fields in both states.

    If several data sets have the same difference, it is returned as one Change.
    """
    both = [dataset for dataset in a if a[dataset] and b.get(dataset)]
    if not both:
        return None
    collected: dict[tuple[str, str], Change] = {}
    for dataset in both:
        for name, old, new in differences(dataset):
            key = name, repr((old, new))
            datasets = collected[key].datasets if key in collected else ()
            collected[key] = Change(name, old, new, (*datasets, dataset))
    return sorted(collected.values(), key=lambda change: (change.name, change.datasets))


def _params(dataset: str, a: State, b: State) -> Iterator[Difference]:
    """Yield the differences in the sections that both states have."""
    in_a, in_b = a.params[dataset], b.params[dataset]
    of_entries: dict[str, dict[str, list[Difference]]] = {}
    for section in sorted(in_a.keys() & in_b.keys()):
        differences = list(_section(in_a[section], in_b[section]))
        if section.startswith("models."):
            of_entries.setdefault(entry_of(section), {})[section] = differences
        elif section:
            yield from _named(section, differences)
        else:
            yield from ((name, old, new) for name, old, new in differences if name != "seeds")
            yield from _seeds(dataset, a, b)
    for entry, sections in of_entries.items():
        shared = [each for each in next(iter(sections.values())) if all(each in own for own in sections.values())]
        yield from _named(entry, shared)
        for section, differences in sections.items():
            yield from _named(section, [each for each in differences if each not in shared])


def _named(section: str, differences: Iterable[Difference]) -> Iterator[Difference]:
    return ((f"{section}.{name}", old, new) for name, old, new in differences)


def _section(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences of a section. A state without a record may lack the key MODEL."""
    return (each for each in _all(a, b) if each[0] != MODEL or (MODEL in a and MODEL in b))


def _seeds(dataset: str, a: State, b: State) -> Iterator[Difference]:
    """Yield the change of the list of seeds.

    A state does not record the list if none of its methods uses more than the first seed. The list then counts as
    changed only if a method of both states shows the change.
    """
    top_a, top_b = a.params[dataset][""], b.params[dataset][""]
    recorded = [bool(top.get("seeds")) for top in (top_a, top_b)]
    old, new = (top.get("seeds") or [top.get("seed")] for top in (top_a, top_b))
    if old == new or not any(recorded):
        return
    in_both = a.methods.get(dataset, {}).keys() & b.methods.get(dataset, {}).keys()
    if (
        all(recorded)
        or old[0] != new[0]
        or not (methods_only_in(a, b, dataset) if recorded[0] else methods_only_in(b, a, dataset))
        or any(_has_several_seeds(name, dataset, a, b) for name in in_both)
    ):
        yield SEEDS, old, new


def _has_several_seeds(name: str, dataset: str, *states: State) -> bool:
    found = [state.methods[dataset][name].values for state in states]
    return any(values is not None and values.seeds > 1 for values in found)


def _code(dataset: str, a: State, b: State) -> Iterator[Difference]:
    """Yield the changed stages and methods of both states, except methods whose code only their parameters changed."""
    for stage, old, new in _common(a.code[dataset], b.code[dataset]):
        method = stage.removeprefix("train ")
        expected = [_present_code(method, state.params.get(dataset, {})) for state in (a, b)]
        if method == stage or expected != [old, new]:
            yield stage, old, new


def _present_code(method: str, params: Fields) -> str | None:
    """Return the digest of the training code under the present code, or None if the parameters are not valid today.

    The digest depends on the parameters: a net with another loss or scorer is trained by other modules.
    """
    values = dict(params.get(f"models.{method}", {}))
    model = values.pop(MODEL, entry_of(method))
    if model not in models():
        return None
    try:
        return training_code(model, values)
    except (ValueError, GradrankError):  # pydantic raises ValueError for a parameter that the present code lacks
        return None


def _versions(dataset: str, a: State, b: State) -> Iterator[Difference]:
    """Yield the packages whose versions differ, unless methods of only one state can explain the difference.

    A record lists the versions of all methods together.
    """
    own_a, own_b = methods_only_in(a, b, dataset), methods_only_in(b, a, dataset)
    for name, old, new in _all(a.versions[dataset], b.versions[dataset]):
        in_a, in_b = (set(text.split(AND)) if text else set() for text in (old, new))
        lost, gained = in_a - in_b, in_b - in_a
        if (lost and not own_a) or (gained and not own_b) or (in_a and in_b and not in_a & in_b):
            yield name, old, new


def _all(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _common(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """Return the differences in the fields that both states have."""
    return (each for each in _all(a, b) if each[0] in a and each[0] in b)
