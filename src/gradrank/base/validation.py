"""Checks of parameters: parse JSON from the command line, and turn pydantic errors into plain messages."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from gradrank.base.errors import GradrankError, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel

    SettingsT = TypeVar("SettingsT", bound=BaseModel)


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one dict with dotted keys: {"grid": {"C": 1}} becomes {"grid.C": 1}."""
    flattened: dict[str, Any] = {}
    for key, inner in value.items():
        flattened |= flat(inner, f"{prefix}{key}.") if isinstance(inner, Mapping) else {f"{prefix}{key}": inner}
    return flattened


def validate(
    kind: "type[SettingsT]",
    values: Any,
    path: str,
    faults: list[str],
    known_elsewhere: Callable[[str], str] = lambda key: "",
) -> "SettingsT | None":
    """Return an instance of `kind` with the given values.

    If the values are invalid, return None and append each fault to `faults` as `path.to.key: reason`. path: a prefix of
    the keys, such as `models.ranksvm.`. known_elsewhere: function from an unknown key to a text in parentheses that
    says where the key is valid, or to an empty text.
    """
    from pydantic import ValidationError

    if booleans := list(_booleans(kind, values)):  # pydantic would convert them to 0 and 1
        faults += [
            f"{path}{where}: expected a number or text, not true or false "
            "(YAML reads yes, no, on and off as true or false)"
            for where in booleans
        ]
        return None
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            where = path + ".".join(map(str, fault["loc"]))
            if fault["type"] == "extra_forbidden":
                key, owner = str(fault["loc"][-1]), _owner(kind, fault["loc"][:-1])
                faults.append(f"{where}: unknown key{known_elsewhere(key) or nearest(key, list(owner.model_fields))}")
            else:
                shown = "" if fault["type"] == "missing" else f" (got {fault['input']!r})"
                faults.append(f"{where.rstrip('.')}: {fault['msg']}{shown}")
        return None


def _booleans(kind: "type[BaseModel]", values: Any) -> Iterator[str]:
    """Yield each key whose value is or contains a boolean although the field does not accept booleans."""
    from pydantic import BaseModel

    for key, field in kind.model_fields.items() if isinstance(values, Mapping) else ():
        value, annotation = values.get(key), field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from (f"{key}.{inner}" for inner in _booleans(annotation, value))
        elif not _takes_bool(annotation) and True in map(_is_bool, _items(value)):
            yield key


def _items(value: Any) -> Iterable[Any]:
    """Return the items of a list, the values of a mapping, or the value itself as the only item."""
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _takes_bool(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(map(_takes_bool, get_args(annotation)))


def _owner(kind: "type[BaseModel]", path: tuple[Any, ...]) -> "type[BaseModel]":
    """Return the class of the section to which a nested key belongs."""
    from pydantic import BaseModel

    for key in path:
        inner = kind.model_fields[key].annotation if key in kind.model_fields else None
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            kind = inner
    return kind


def read_params(text: str) -> dict:
    """Return the value of `--params`: a JSON object, or @FILE for a file that contains a JSON object.

    Raises GradrankError for anything else.
    """
    source = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    try:
        value = json.loads(source)
    except json.JSONDecodeError as error:
        raise GradrankError(f"--params: not JSON ({error}). Fix: quote the JSON object for the shell") from None
    if not isinstance(value, dict):
        raise GradrankError("--params: expected a JSON object such as '{\"learning_rate\": 0.05}'")
    return value
