"""Parsing of JSON files that other programs wrote, with clear errors."""

import json
from pathlib import Path
from typing import Any, NoReturn

from gradrank.export.read_trees import Malformed


def parsed_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises Malformed if the text is not JSON, contains NaN or an infinite number, repeats a key in an object, or is
    nested too deeply.
    """
    try:
        return json.loads(path.read_text("utf-8"), parse_constant=_refuse, object_pairs_hook=_unique)
    except RecursionError:
        raise Malformed("the values are nested too deeply") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(f"not a JSON text ({error})") from None
    except ValueError as error:  # an integer of more than 4300 digits
        raise Malformed(str(error)) from None


def shown(value: Any) -> str:
    """Return a short text about a JSON value for an error message."""
    return f"a {type(value).__name__}" if isinstance(value, (dict, list)) else repr(value)[:60]


def _refuse(constant: str) -> NoReturn:
    raise Malformed(f"{constant} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(result := dict(pairs)) < len(pairs):
        raise Malformed("a key occurs twice in an object")
    return result
