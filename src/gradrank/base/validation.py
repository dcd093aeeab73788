"""Parameters: as JSON on the command line, by dotted paths, and pydantic's verdicts in the words of this project."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gradrank.base.errors import GradrankError, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys: {"grid": {"C": 1}} -> {"grid.C": 1}."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= flat(inner, f"{prefix}{key}.") if isinstance(inner, Mapping) else {f"{prefix}{key}": inner}
    return found


def validate(kind: "type[BaseModel]", values: Any, path: str, faults: list[str]) -> "BaseModel | None":
    """`kind` from `values`, or None with the faults added, each as `path.to.key: reason`."""
    from pydantic import ValidationError

    if booleans := list(_booleans(kind, values)):  # pydantic takes them for 0 and 1
        faults += [
            f"{path}{where}: expected a number or text, not true or false (YAML reads yes, no, on and off as these)"
            for where in booleans
        ]
        return None
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            where = path + ".".join(map(str, fault["loc"]))
            if fault["type"] == "extra_forbidden":
                owner = _owner(kind, fault["loc"][:-1])
                faults.append(f"{where}: unknown key{nearest(str(fault['loc'][-1]), list(owner.model_fields))}")
            else:
                shown = "" if fault["type"] == "missing" else f" (got {fault['input']!r})"
                faults.append(f"{where.rstrip('.')}: {fault['msg']}{shown}")
        return None


def _booleans(kind: "type[BaseModel]", values: Any) -> Iterator[str]:
    """The keys whose value is, or holds, true or false where the field takes none."""
    from pydantic import BaseModel

    for key, field in kind.model_fields.items() if isinstance(values, Mapping) else ():
        value, annotation = values.get(key), field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from (f"{key}.{inner}" for inner in _booleans(annotation, value))
        elif not _takes_bool(annotation) and True in map(_is_bool, value if isinstance(value, list) else [value]):
            yield key


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _takes_bool(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(map(_takes_bool, get_args(annotation)))


def _owner(kind: "type[BaseModel]", path: tuple[Any, ...]) -> "type[BaseModel]":
    """The section that a nested key belongs to."""
    from pydantic import BaseModel

    for key in path:
        inner = kind.model_fields[key].annotation if key in kind.model_fields else None
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            kind = inner
    return kind


def read_params(text: str) -> dict:
    """`--params`: a JSON object, or @FILE holding one."""
    source = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    try:
        value = json.loads(source)
    except json.JSONDecodeError as error:
        raise GradrankError(f"--params: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise GradrankError("--params: expected a JSON object such as '{\"learning_rate\": 0.05}'")
    return value
