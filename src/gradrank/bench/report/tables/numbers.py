"""Format numbers for readers: a fixed number of digits, and a dash for a missing value."""

from typing import Any

from gradrank.base.numbers import NONE, is_missing, number, p_value
from gradrank.bench.report.tables.verdicts import MARKS

TEXT, P, VERDICT = "", "p", "verdict"  # column forms in addition to the format specifications of `format`


def format_value(value: Any, form: str, minus: str = "-") -> str:
    """Return a value as text.

    form: TEXT, P (a p value), VERDICT (a verdict after its mark) or a format specification such as `.4f`. minus: the
    sign of negative numbers. A missing value is a dash.
    """
    if is_missing(value):
        return NONE
    if form == P:
        return p_value(value)
    if form == VERDICT:
        return f"{MARKS[value]} {value}" if value else ""
    return value if form == TEXT else number(value, form, minus)


def setting(value: Any) -> str:
    """Return a parameter's value as text: `20`, `ndcg@10`, `64 × 32`."""
    return " × ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def seconds(value: float) -> str:
    """Return a time to about three digits: `0.42 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def microseconds(value: float | None) -> str:
    """Return a time to about three digits: `0.42 µs`, `12.3 µs`, `1,234 µs`."""
    if value is None or is_missing(value):
        return NONE
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} µs"


def size(count: float | None) -> str:
    """Return a number of bytes as text: `512 B`, `1.2 kB`, `34.5 MB`."""
    if count is None or is_missing(count):
        return NONE
    return f"{count:.0f} B" if count < 1e3 else f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def descending(value: float | None) -> float:
    """Return a sort key that puts the highest value first and missing values last."""
    return float("inf") if value is None or is_missing(value) else -value
