"""Numbers as text for readers: a fixed number of digits, and a dash for a missing value."""

from typing import Any

NONE, MINUS = "–", "\N{MINUS SIGN}"
LEAST_P = 1e-4


def is_missing(value: Any) -> bool:
    """Return True for None and nan."""
    return value is None or value != value


def number(value: float | None, form: str = ".4f", minus: str = MINUS) -> str:
    """Return a number as text, with a typographic minus sign by default. A missing number is a dash."""
    return NONE if value is None or is_missing(value) else format(value, form).replace("-", minus)


def p_value(p: float | None) -> str:
    """Return a p value as text: `0.0123` or `<0.0001`."""
    return f"<{LEAST_P:.4f}" if p is not None and p < LEAST_P else number(p)
