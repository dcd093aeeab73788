"""Reading of the files of a saved model. Anyone can edit them, so each value is checked before it is used.

The content of a JSON file is declared as a class, and the arrays of a safetensors file by their shapes. Missing
and unknown values, and values of another type or shape, are refused with the names of the file and the value.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from gradrank.base.errors import GradrankError

RESTORE = "Fix: restore the file, or train the model again; it is damaged or was edited"
SHOWN = 3  # faults per message


class Content(BaseModel):
    """The base class of the contents of JSON files. Types are not converted, except whole numbers to floats."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


ItemT = TypeVar("ItemT")


class ContentList(RootModel[Annotated[list[ItemT], Field(min_length=1)]], Generic[ItemT]):
    """The base class of the contents of JSON files that are lists. A list has at least one item."""

    model_config = ConfigDict(frozen=True, strict=True)


Weights = Annotated[list[float], Field(min_length=1)]  # one number per feature
ContentT = TypeVar("ContentT", bound=BaseModel)


def damaged(path: Path, reason: str) -> GradrankError:
    """Return the error about a file or folder of a model."""
    return GradrankError(f"{path}: {reason}. {RESTORE}")


def check_width(what: str, found: int, features: int) -> None:
    """Raise GradrankError if a part of a model is for another number of features than the training data had."""
    if found != features:
        raise GradrankError(f"{what} is for {found} features, but the training data had {features}. {RESTORE}")


def check_feature(where: str, feature: int, features: int) -> None:
    """Raise GradrankError if a model uses a feature, counted from 0, that the training data did not have."""
    if not 0 <= feature < features:
        raise GradrankError(f"{where} uses feature {feature}, counted from 0, but there are {features}. {RESTORE}")


def read_content(path: Path, kind: type[ContentT], within: str = "") -> ContentT:
    """Return the checked content of a JSON file. Raises GradrankError if it is missing or invalid."""
    return parse_content(path, read_bytes(path), kind, within)


def parse_content(path: Path, text: bytes | str, kind: type[ContentT], within: str = "") -> ContentT:
    """Return the checked content of a JSON text. path: the file of the text. within: a prefix for the names of keys."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{within}not JSON ({error})") from None
    return checked(path, value, kind, within)


def checked(path: Path, value: Any, kind: type[ContentT], within: str = "") -> ContentT:
    """Return the checked content of a parsed JSON text; see `parse_content`."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        faults = [
            f"{within}{'.'.join(map(str, fault['loc'])) or 'the content'}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    except (OverflowError, RecursionError) as error:  # pydantic lets these pass for numbers of thousands of digits
        faults = [f"{within}{error}"]
    raise damaged(path, "; ".join(faults[:SHOWN]))


class LibraryText(Content):
    """The base class of the contents of JSON texts of other libraries, which end the process if a text is wrong.

    A library reads only texts that `text` wrote from checked values.
    """

    library: ClassVar[str]

    @classmethod
    def values(cls, model: Any) -> dict[str, Any]:
        """Return the unchecked values of the fields in a parsed text of the library."""
        raise NotImplementedError

    def text(self) -> str:
        """Return a text that the library reads."""
        raise NotImplementedError

    @classmethod
    def of(cls, text: bytes | str) -> Self:
        """Build from the text of a model that the library wrote."""
        return cls.model_validate(cls.values(json.loads(text)))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the content of a file with the result of `text`. Raises GradrankError for any other file."""
        text = read_bytes(path)
        try:
            values = cls.values(json.loads(text))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise damaged(path, f"not a model in the JSON format of {cls.library} ({error!r})") from None
        content = checked(path, values, cls)
        if content.text().encode() != text:
            raise damaged(path, f"not a model of {cls.library} as gradrank saves it: other values, keys or spaces")
        return content


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises GradrankError if the file is missing."""
    if not path.is_file():
        raise damaged(path, "the file is missing")
    return path.read_bytes()


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays of a safetensors file, and its metadata. Raises GradrankError if the file is invalid."""
    from safetensors import SafetensorError, safe_open

    read_bytes(path)
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, file.metadata() or {}
    except (SafetensorError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, f"not a safetensors file ({error})") from None


def check_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int | str, ...]]
) -> dict[str, int]:
    """Check the names and shapes of arrays, and return a dict from the names of lengths to lengths.

    shapes: per array, its lengths. A length is a number or a name. Equal names are equal lengths of one or more. Raises
    GradrankError if an array is missing, unknown, of another shape, not of float32 or float64, or not finite.
    """
    if arrays.keys() != shapes.keys():
        difference = sorted(arrays.keys() ^ shapes.keys())
        raise damaged(path, f"the arrays {', '.join(difference)} are missing or unknown")
    lengths: dict[str, int] = {}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.ndim == len(shape):
            for length, key in zip(array.shape, shape, strict=True):
                if isinstance(key, str) and length:
                    lengths.setdefault(key, length)
        expected = tuple(lengths.get(key, key) if isinstance(key, str) else key for key in shape)
        if array.shape != expected:
            raise damaged(path, f"the array {name} has the shape {array.shape}, expected {expected}")
        check_finite(path, name, array)
    return lengths


def check_finite(path: Path, name: str, array: np.ndarray) -> None:
    """Raise GradrankError if an array has other numbers than finite ones of float32 or float64."""
    if array.dtype not in (np.float32, np.float64) or not np.isfinite(array).all():
        raise damaged(path, f"the array {name} must have finite numbers of float32 or float64")


def check_types(path: Path, arrays: Mapping[str, np.ndarray], expected: Mapping[str, Any]) -> None:
    """Raise GradrankError if an array is not of its expected type, or of float64 if none is given."""
    for name, array in arrays.items():
        if array.dtype != (kind := np.dtype(expected.get(name, np.float64))):
            raise damaged(path, f"the array {name} is {array.dtype}, expected {kind}")
