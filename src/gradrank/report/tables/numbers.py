"""How numbers are written for readers: with a fixed number of digits, a dash where there is none."""

from typing import Any

from gradrank.report.tables.verdicts import MARKS

NONE, MINUS = "–", "\N{MINUS SIGN}"
TEXT, P, VERDICT = "", "p", "verdict"  # forms of a column beside those of `format`
LEAST_P = 1e-4


def shown(value: Any, form: str, minus: str = "-") -> str:
    """A value in the form of its column: text, a p value, a verdict with its mark, else as `format` has it.

    minus: the sign of negative numbers.
    """
    if missing(value):
        return NONE
    if form == P:
        return p_value(value)
    if form == VERDICT:
        return f"{MARKS[value]} {value}" if value else ""
    return value if form == TEXT else format(value, form).replace("-", minus)


def missing(value: Any) -> bool:
    """Whether there is none: None or nan."""
    return value is None or value != value


def number(value: float | None, form: str = ".4f") -> str:
    """As on a page: with a true minus sign."""
    return shown(value, form, MINUS)


def p_value(p: float | None) -> str:
    """`0.0123`, `<0.0001`."""
    return f"<{LEAST_P:.4f}" if p is not None and p < LEAST_P else number(p)


def setting(value: Any) -> str:
    """A parameter's value: 20, ndcg@10, 64 × 32."""
    return " × ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def seconds(value: float) -> str:
    """`0.42 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`: about three digits."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def microseconds(value: float | None) -> str:
    """`0.42 µs`, `12.3 µs`, `1,234 µs`: about three digits."""
    return NONE if missing(value) else f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} µs"


def size(count: float | None) -> str:
    """Bytes as `512 B`, `1.2 kB`, `34.5 MB`."""
    if missing(count):
        return NONE
    return f"{count:.0f} B" if count < 1e3 else f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def best(means: dict[str, float | None], decimals: int = 4) -> set[str]:
    """The names with the highest mean as printed: equal at `decimals` digits is equally good; none where all are 0."""
    rounded = {name: round(mean, decimals) for name, mean in means.items() if not missing(mean)}
    return {name for name, mean in rounded.items() if mean == max(rounded.values()) and any(rounded.values())}
