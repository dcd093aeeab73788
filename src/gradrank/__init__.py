"""gradrank: a reproducible learning-to-rank benchmark, and `scan_letor`, its reader of ranking data for Polars."""

from typing import TYPE_CHECKING, Any

from gradrank.base.processor import pin

if TYPE_CHECKING:
    from gradrank.data.text.letor import scan_letor

__all__ = ["__version__", "scan_letor"]
__version__ = "0.2.0"

pin()  # before anything numeric is imported, here or in the program that imports this package


def __getattr__(name: str) -> Any:
    """`scan_letor` with what it needs, numpy, Polars and compiled code, once it is asked for."""
    if name == "scan_letor":
        from gradrank.data.text.letor import scan_letor

        return scan_letor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
