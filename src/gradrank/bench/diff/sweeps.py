"""Pairs of the variants of a parameter sweep in two states: a value that becomes a sweep, or the reverse.

The name of a variant is the name of its entry in params.yaml, followed by its swept values, as in
`lambdamart-learning_rate=0.05`. If a value becomes a sweep, the same model therefore has different names in A and B.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gradrank.bench.config.variants import value_text
from gradrank.bench.diff.state import Fields, State, methods_only_in


class VariantPair(NamedTuple):
    """A method whose names in A and B differ, although its swept values are equal."""

    dataset: str
    a: str
    b: str


def entry_of(name: str) -> str:
    """Return the entry of params.yaml that a method belongs to: the name without swept values."""
    return name.partition("-")[0]


def swept_values(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters whose values are part of a variant's name."""
    return {key: value for key, value in params.items() if f"-{key}={value_text(value)}" in name}


def variant_pairs(a: State, b: State) -> list[VariantPair]:
    """Return the pairs of a method of A and a method of B with different names and equal swept values.

    Both methods have the same entry. Every parameter that is swept in A or in B has the same value in both.
    """
    return [
        VariantPair(dataset, name_a, name_b)
        for dataset in a.methods
        for name_a in methods_only_in(a, b, dataset)
        for name_b in methods_only_in(b, a, dataset)
        if entry_of(name_a) == entry_of(name_b) and _equal_where_swept(dataset, (name_a, a), (name_b, b))
    ]


def _equal_where_swept(dataset: str, *sides: tuple[str, State]) -> bool:
    params = [state.params.get(dataset, {}).get(f"models.{name}", {}) for name, state in sides]
    swept = {key for (name, _), values in zip(sides, params, strict=True) for key in swept_values(name, values)}
    return bool(swept) and all(params[0].get(key) == params[1].get(key) for key in swept)


def with_names_of_b(a: State, pairs: Sequence[VariantPair]) -> State:
    """Return A with the methods of the pairs renamed as in B."""
    names = {(pair.dataset, pair.a): pair.b for pair in pairs}

    def renamed(dataset: str, fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        changed = {f"{prefix}{old}": f"{prefix}{new}" for (of, old), new in names.items() if of == dataset}
        return {changed.get(key, key): value for key, value in fields.items()}

    return replace(
        a,
        methods={dataset: renamed(dataset, methods) for dataset, methods in a.methods.items()},
        params={dataset: renamed(dataset, sections, "models.") for dataset, sections in a.params.items()},
        code={dataset: renamed(dataset, digests, "train ") for dataset, digests in a.code.items()},
    )


def changed_sweeps(dataset: str, a: State, b: State) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, values in A, values in B) for the parameters of an entry whose list of swept values changed.

    Only entries with methods in both states are compared. A parameter that is not swept in a state has one value.
    """
    in_a, in_b = (_entries(dataset, state) for state in (a, b))
    for entry in sorted(in_a.keys() & in_b.keys()):
        swept = {
            key for variants in (in_a, in_b) for name, own in variants[entry].items() for key in swept_values(name, own)
        }
        for key in sorted(swept):
            old, new = (_values(variants[entry], key) for variants in (in_a, in_b))
            if old != new:
                yield f"models.{entry}.{key}", old, new


def _entries(dataset: str, state: State) -> Mapping[str, Fields]:
    """Return the parameters of the methods of a data set. The outer keys are entries, the inner keys are methods."""
    entries: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in state.methods.get(dataset, {}):
        params = state.params.get(dataset, {}).get(f"models.{name}")
        if params is not None:
            entries.setdefault(entry_of(name), {})[name] = params
    return entries


def _values(variants: Fields, key: str) -> Any:
    """Return the list of the values of a swept parameter, or the value itself if the parameter is not swept."""
    values: list[Any] = []
    for params in variants.values():
        if params.get(key) not in values:
            values.append(params.get(key))
    is_swept = any(key in swept_values(name, params) for name, params in variants.items())
    return values if is_swept else values[0]
