"""Reading of nets from safetensors files. Compiled functions check no bounds, so all shapes are checked before.

Steps from a file are checked with the shapes of their results before they compute anything.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from gradrank.training.model_files import Content, check_arrays, check_types, damaged, parse_content, read_arrays
from gradrank.training.nets.net import Net
from gradrank.training.nets.steps import Step, Steps

Arrays = dict[str, np.ndarray]
Descriptions = list[dict[str, Any]]
DEEPEST = 20  # levels of steps within steps


class NetContent(Content):
    members: int = Field(ge=1)
    steps: Descriptions = Field(min_length=1)


def load_net(path: Path) -> Net:
    """Return the net that was saved to `path`. Raises GradrankError if the file is not a complete net."""
    arrays, metadata = read_arrays(path)
    if "steps" not in metadata:
        raise damaged(path, "a net without steps, as this version of gradrank does not save it")
    content = parse_content(path, metadata["steps"], NetContent, "steps.")
    inputs = {name: arrays.pop(name) for name in ("mean", "scale", "log_limit") if name in arrays}
    try:
        if len({array.dtype for array in arrays.values()}) > 1:
            raise ValueError("the arrays of the steps have different types")
        steps = _steps(arrays, content.steps, "")
        limit = {"log_limit": (1,)} if "log_limit" in inputs else {}
        check_arrays(path, arrays | inputs, {"mean": ("features",), "scale": ("features",)} | limit)
        check_types(path, inputs, {})
        net = Net(steps, inputs["mean"], inputs["scale"], float(inputs["log_limit"][0]) if limit else None)
        if net.shape[0] != content.members:
            raise ValueError(f"the steps have {net.shape[0]} members, but the description has {content.members}")
    except ValueError as error:
        raise damaged(path, str(error)) from None
    return net


def _steps(arrays: Arrays, description: Descriptions, prefix: str, level: int = 0) -> Steps:
    """Return the described steps, and remove their arrays from `arrays`. This is the inverse of `steps.stored`.

    Raises ValueError if the description or an array is invalid.
    """
    if level > DEEPEST:
        raise ValueError("the steps are nested too deeply")
    steps = []
    for number, entry in enumerate(description):
        kind = Step.kinds.get(entry.get("kind", "")) if isinstance(entry.get("kind"), str) else None
        if kind is None:
            raise ValueError(f"step {prefix}{number} has no known kind")
        values: dict[str, Any] = {}
        for field in fields(kind):
            name = f"{prefix}{number}.{field.name}"
            if field.type is np.ndarray:
                values[field.name] = _array(arrays, name, may_be_infinite=field.name in ("low", "high"))
                continue
            found = values[field.name] = entry.get(field.name)
            if field.type == Steps:
                if not isinstance(found, list) or not all(isinstance(inner, dict) for inner in found):
                    raise ValueError(f"{name} is not a list of steps")
                values[field.name] = _steps(arrays, found, f"{name}.", level + 1)
        written = {name for name, value in values.items() if not isinstance(value, np.ndarray)}
        if unknown := entry.keys() - {"kind", *written}:
            raise ValueError(f"step {prefix}{number} has the unknown keys {', '.join(sorted(unknown))}")
        steps.append(kind(**values))
    return tuple(steps)


def _array(arrays: Arrays, name: str, may_be_infinite: bool) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"the array {name} is missing")
    array = arrays.pop(name)
    is_valid = array.dtype in (np.float32, np.float64) and array.size
    if not is_valid or not (~np.isnan(array) if may_be_infinite else np.isfinite(array)).all():
        raise ValueError(f"the array {name} must have numbers of float32 or float64")
    return array
