"""The section `models` of params.yaml: parameters of a registered model, named variants, sweeps and imported scores.

lambdamart: { num_leaves: 31 }                            # the registered model
small_trees: { model: lambdamart, num_leaves: 7 }         # a variant: the same model with other values
lambdamart: { learning_rate: [0.05, 0.1] }                # a sweep: lambdamart-learning_rate=0.05, ...=0.1
ranknet_two_layer: { grid: { hidden: [[32], [64, 32]] } } # a sweep of a parameter that is itself a list
their_system: { scores: "runs/fold{fold}.txt" }           # imported scores of another program: no training
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, product
from math import prod
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from gradrank.base.errors import nearest
from gradrank.base.validation import validate
from gradrank.bench.folds.settings import IMPORTED, fault
from gradrank.training.model import Model
from gradrank.training.registry import models, parameter_hint
from gradrank.training.spaces import members_parameter

MOST_VARIANTS = 1000  # per sweep: each variant is trained on each fold, and is checked whenever params.yaml is read
NAME = r"[a-z][a-z0-9_]*"


class Variant(BaseModel):
    """A model with all its parameters, as one training job needs it. `entry` is the key in params.yaml."""

    model_config = ConfigDict(frozen=True)

    model: str  # the name of a registered model, or `imported`
    entry: str
    params: dict[str, Any]  # all parameters of the model
    swept: dict[str, Any] = {}  # the parameters that the entry sweeps, with their values in this variant


def expand(section: Mapping[str, Any], path: str, faults: list[str]) -> dict[str, Variant]:
    """Return a dict from name to variant for a `models:` mapping. Faults are appended as `path.to.key: reason`."""
    expanded: dict[str, Variant] = {}
    for entry, values in section.items():
        values = dict(values or {}) if isinstance(values or {}, Mapping) else {"": values}
        model = values.pop("model", entry)
        where = f"{path}{entry}"
        if entry in models() and model != entry:
            faults.append(f"{where}.model: {entry!r} is the name of a model; give the variant another name")
        elif model == entry and str(model) not in models() and set(values) == {"scores"}:
            expanded |= _imported(str(entry), values, where, faults)
        elif not isinstance(model, str) or model not in models():
            hint = nearest(str(model), list(models()))
            faults.append(f"{where}: unknown model{hint}" if model == entry else f"{where}.model: unknown model{hint}")
        elif not re.fullmatch(NAME, str(entry)):
            faults.append(f"{where}: the name of a variant consists of lower-case letters, digits and _")
        else:
            expanded |= _variants(str(entry), models()[model], values, where, faults)
    return expanded


def with_swept_members(variants: Mapping[str, Variant]) -> dict[str, Variant]:
    """Return the variants with changed members: a member that is a sweep is replaced by all variants of that sweep."""
    entries: dict[str, list[str]] = {}
    for name, variant in variants.items():
        entries.setdefault(variant.entry, []).append(name)
    replaced = dict(variants)
    for name, variant in variants.items():
        if variant.model != IMPORTED and (key := members_parameter(models()[variant.model])):
            members = [
                [member] if member in variants else entries.get(member, [member]) for member in variant.params[key]
            ]
            params = variant.params | {key: list(chain.from_iterable(members))}
            replaced[name] = variant.model_copy(update={"params": params})
    return replaced


def _imported(entry: str, values: dict[str, Any], where: str, faults: list[str]) -> dict[str, Variant]:
    if not re.fullmatch(NAME, entry) or entry == IMPORTED:
        faults.append(
            f"{where}: the name of a method consists of lower-case letters, digits and _, and is not {IMPORTED!r}"
        )
    elif reason := fault(values["scores"]):
        faults.append(f"{where}.scores: {reason} (got {values['scores']!r})")
    else:
        return {entry: Variant(model=IMPORTED, entry=entry, params=values)}
    return {}


def _variants(
    entry: str, cls: type[Model], values: dict[str, Any], where: str, faults: list[str]
) -> dict[str, Variant]:
    """Return a dict from name to variant, with one variant per combination of swept values.

    Without a sweep, there is one variant.
    """
    sweeps = _sweeps(cls, values, where, faults)
    variants: dict[str, Variant] = {}
    if (combinations := prod(map(len, sweeps.values()))) > MOST_VARIANTS:
        faults.append(
            f"{where}: {combinations:,} combinations of {', '.join(sweeps)}, and {MOST_VARIANTS:,} is the limit. "
            "Fix: list fewer values, or draw configurations with `gradrank tune`"
        )
        return {}
    for combination in product(*sweeps.values()):
        swept = dict(zip(sweeps, combination, strict=True))
        new_faults: list[str] = []
        resolved = validate(cls.Params, values | swept, f"{where}.", new_faults, parameter_hint)
        faults += [fault for fault in new_faults if fault not in faults]
        name = "-".join([entry, *(f"{key}={value_text(value)}" for key, value in swept.items())])
        if resolved is None:
            continue
        if name in variants or not re.fullmatch(r"[\w.@+=-]+", name):
            faults.append(f"{where}: the name {name!r} is used twice or is not valid as a folder name")
            continue
        variants[name] = Variant(model=cls.name, entry=entry, params=resolved.model_dump(mode="json"), swept=swept)
    return variants


def _sweeps(cls: type[Model], values: dict[str, Any], where: str, faults: list[str]) -> dict[str, list[Any]]:
    """Return a dict from each swept parameter to its list of values, and remove these parameters from `values`.

    A parameter is swept if it is a key of `grid`, or if its value is a list although it does not accept lists.
    """
    sweeps = {}
    for key, choices in _grid(values.pop("grid", {}), where, faults):
        if key in values:
            faults.append(f"{where}.grid.{key}: also set outside `grid`; remove one of the two")
        sweeps[key] = choices
    for key, field in cls.Params.model_fields.items():
        if isinstance(values.get(key), list) and not _takes_list(field.annotation):
            sweeps[key] = values.pop(key)
            if not sweeps[key]:
                faults.append(f"{where}.{key}: the list of values to sweep is empty")
    return sweeps


def _grid(grid: Any, where: str, faults: list[str]) -> Iterator[tuple[str, list[Any]]]:
    if not isinstance(grid, Mapping):
        faults.append(f"{where}.grid: expected a mapping from parameters to lists of values")
        return
    for key, choices in grid.items():
        if isinstance(choices, list) and choices:
            yield key, choices
        else:
            faults.append(f"{where}.grid.{key}: expected a list of values (got {choices!r})")


def _takes_list(annotation: Any) -> bool:
    """Return whether a parameter of this type may itself be a list."""
    if get_origin(annotation) in (Union, UnionType):
        return any(map(_takes_list, get_args(annotation)))
    return get_origin(annotation) in (tuple, list) or annotation in (tuple, list)


def value_text(value: Any) -> str:
    """Return a value as text for a folder name: 0.05, true, none, 64x32."""
    if isinstance(value, list):
        return "x".join(map(value_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
