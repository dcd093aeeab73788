"""Format numbers for readers: a fixed number of digits, and a dash for a missing value."""

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

from gradrank.report.tables.verdicts import MARKS

NONE, MINUS = "–", "\N{MINUS SIGN}"
TEXT, P, VERDICT = "", "p", "verdict"  # forms of a column other than the format specifications of `format`
LEAST_P = 1e-4

Key = TypeVar("Key", bound=Hashable)


def format_value(value: Any, form: str, minus: str = "-") -> str:
    """Return a value as text.

    form: TEXT, P (a p value), VERDICT (a mark followed by the verdict) or a format specification such as `.4f`. minus:
    the sign of negative numbers. A missing value becomes a dash.
    """
    if is_missing(value):
        return NONE
    if form == P:
        return p_value(value)
    if form == VERDICT:
        return f"{MARKS[value]} {value}" if value else ""
    return value if form == TEXT else format(value, form).replace("-", minus)


def is_missing(value: Any) -> bool:
    """Return True for None and nan."""
    return value is None or value != value


def number(value: float | None, form: str = ".4f") -> str:
    """Return a number as text with a typographic minus sign."""
    return format_value(value, form, MINUS)


def p_value(p: float | None) -> str:
    """Return a p value as text: `0.0123` or `<0.0001`."""
    return f"<{LEAST_P:.4f}" if p is not None and p < LEAST_P else number(p)


def setting(value: Any) -> str:
    """Return the value of a parameter as text, such as `20`, `ndcg@10` or `64 × 32`."""
    return " × ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def seconds(value: float) -> str:
    """Return a time in seconds as text with about three digits, such as `0.42 s`, `2 min 05 s` or `1 h 02 min`."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def microseconds(value: float | None) -> str:
    """Return a time in microseconds as text with about three digits, such as `0.42 µs`, `12.3 µs` or `1,234 µs`."""
    if value is None or is_missing(value):
        return NONE
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} µs"


def size(count: float | None) -> str:
    """Return a number of bytes as text: `512 B`, `1.2 kB`, `34.5 MB`."""
    if count is None or is_missing(count):
        return NONE
    return f"{count:.0f} B" if count < 1e3 else f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def best(means: Mapping[Key, float | None], decimals: int = 4) -> set[Key]:
    """Return the keys whose mean is highest after rounding to `decimals` decimals.

    The set is empty if every mean rounds to 0.
    """
    rounded = {key: round(mean, decimals) for key, mean in means.items() if mean is not None and not is_missing(mean)}
    return {key for key, mean in rounded.items() if mean == max(rounded.values()) and any(rounded.values())}


def descending(value: float | None) -> float:
    """Return a sort key that puts the highest value first and missing values last."""
    return float("inf") if value is None or is_missing(value) else -value
