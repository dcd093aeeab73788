"""Models as params.yaml names them: a registered one, a variant under a name of its own, or a sweep of either.

lambdamart: { num_leaves: 31 }                            # the registered model
small_trees: { model: lambdamart, num_leaves: 7 }         # a variant: the same model with other values
lambdamart: { learning_rate: [0.05, 0.1] }                # a sweep: lambdamart-learning_rate=0.05, ...=0.1
ranknet_two_layer: { grid: { hidden: [[32], [64, 32]] } } # the same where the parameter itself is a list
their_system: { scores: "runs/fold{fold}.txt" }           # a ranking from elsewhere: not trained, read
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, product
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from gradrank.base.errors import nearest
from gradrank.base.validation import validate
from gradrank.evaluation.score_file_pattern import IMPORTED, fault
from gradrank.training.model import Model
from gradrank.training.registry import models
from gradrank.tuning.spaces import members_parameter

NAME = r"[a-z][a-z0-9_]*"


class Variant(BaseModel):
    """What one training job of a fold needs to know. `entry` is the key of params.yaml that it comes from."""

    model_config = ConfigDict(frozen=True)

    model: str  # the registered one, or `imported`
    entry: str
    params: dict[str, Any]  # all of the model's, resolved
    swept: dict[str, Any] = {}  # of them, those that tell this variant from the others of its entry


def expand(section: Mapping[str, Any], path: str, faults: list[str]) -> dict[str, Variant]:
    """Every variant of a `models:` mapping by its name; faults are added as `path.to.key: reason`."""
    found: dict[str, Variant] = {}
    for entry, values in section.items():
        values = dict(values or {}) if isinstance(values or {}, Mapping) else {"": values}
        model = values.pop("model", entry)
        where = f"{path}{entry}"
        if entry in models() and model != entry:
            faults.append(f"{where}.model: {entry!r} is a model itself; give the variant another name")
        elif model == entry and str(model) not in models() and set(values) == {"scores"}:
            found |= _imported(str(entry), values, where, faults)
        elif not isinstance(model, str) or model not in models():
            hint = nearest(str(model), list(models()))
            faults.append(f"{where}: unknown model{hint}" if model == entry else f"{where}.model: unknown model{hint}")
        elif not re.fullmatch(NAME, str(entry)):
            faults.append(f"{where}: a variant's name is lower case letters, digits and _")
        else:
            found |= _variants(str(entry), models()[model], values, where, faults)
    return found


def with_swept_members(variants: Mapping[str, Variant]) -> dict[str, Variant]:
    """The same; where a model is made of others' scores, a sweep among them stands for all that it sweeps."""
    entries: dict[str, list[str]] = {}
    for name, variant in variants.items():
        entries.setdefault(variant.entry, []).append(name)
    found = dict(variants)
    for name, variant in variants.items():
        if variant.model != IMPORTED and (key := members_parameter(models()[variant.model])):
            named = [[each] if each in variants else entries.get(each, [each]) for each in variant.params[key]]
            own = variant.params | {key: list(chain.from_iterable(named))}
            found[name] = variant.model_copy(update={"params": own})
    return found


def _imported(entry: str, values: dict[str, Any], where: str, faults: list[str]) -> dict[str, Variant]:
    if not re.fullmatch(NAME, entry) or entry == IMPORTED:
        faults.append(f"{where}: a method's name is lower case letters, digits and _, and not {IMPORTED!r}")
    elif reason := fault(values["scores"]):
        faults.append(f"{where}.scores: {reason} (got {values['scores']!r})")
    else:
        return {entry: Variant(model=IMPORTED, entry=entry, params=values)}
    return {}


def _variants(
    entry: str, cls: type[Model], values: dict[str, Any], where: str, faults: list[str]
) -> dict[str, Variant]:
    """One variant a combination of the swept values; a plain entry has the one."""
    swept = _swept(cls, values, where, faults)
    found: dict[str, Variant] = {}
    for choice in product(*swept.values()):
        own = dict(zip(swept, choice, strict=True))
        new: list[str] = []
        resolved = validate(cls.Params, values | own, f"{where}.", new)
        faults += [fault for fault in new if fault not in faults]
        name = "-".join([entry, *(f"{key}={_text(value)}" for key, value in own.items())])
        if resolved is None:
            continue
        if name in found or not re.fullmatch(r"[\w.@+=-]+", name):
            faults.append(f"{where}: two variants, or one that no folder can be called, named {name!r}")
            continue
        found[name] = Variant(model=cls.name, entry=entry, params=resolved.model_dump(mode="json"), swept=own)
    return found


def _swept(cls: type[Model], values: dict[str, Any], where: str, faults: list[str]) -> dict[str, list[Any]]:
    """The lists of values to sweep, taken out of `values`: those of `grid`, and lists for single values."""
    swept = {}
    for key, choices in _grid(values.pop("grid", {}), where, faults):
        if key in values:
            faults.append(f"{where}.grid.{key}: given outside the grid as well")
        swept[key] = choices
    for key, field in cls.Params.model_fields.items():
        if isinstance(values.get(key), list) and not _takes_list(field.annotation):
            swept[key] = values.pop(key)
            if not swept[key]:
                faults.append(f"{where}.{key}: a sweep over no value")
    return swept


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
    """Whether a parameter of this type may itself be a list."""
    if get_origin(annotation) in (Union, UnionType):
        return any(map(_takes_list, get_args(annotation)))
    return get_origin(annotation) in (tuple, list) or annotation in (tuple, list)


def _text(value: Any) -> str:
    """A value in a folder's name: 0.05, true, none, 64x32."""
    if isinstance(value, list):
        return "x".join(map(_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
