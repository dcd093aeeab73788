"""gradrank: learning to rank as a library and a reproducible benchmark.

The names of the public API are imported when they are first used, so `import gradrank` is fast and has no side effects.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradrank.base.errors import DegenerateModelWarning, GradrankWarning, TiedScoresWarning
    from gradrank.base.processor import pin
    from gradrank.bench.report.tables.results_table import table
    from gradrank.comparison.rankings.agreement import agreement
    from gradrank.comparison.rankings.comparison import compare, plot_queries
    from gradrank.comparison.rankings.evaluation import evaluate
    from gradrank.comparison.rankings.explanation import conventions, explain_convention, metrics
    from gradrank.comparison.rankings.stored_values import load_results
    from gradrank.data.datasets import datasets, load_dataset
    from gradrank.data.text.letor import scan_letor
    from gradrank.integrations.optuna import search_space
    from gradrank.ranker.click_ranker import ClickRanker
    from gradrank.ranker.ranker import Ranker, load
    from gradrank.training.literature.model_tables import model_table as models

__version__ = "0.2.0"

# key: public name; value: the module that defines it. `models` is a package that can be called.
_MODULES = {
    "ClickRanker": "gradrank.ranker.click_ranker",
    "DegenerateModelWarning": "gradrank.base.errors",
    "GradrankWarning": "gradrank.base.errors",
    "Ranker": "gradrank.ranker.ranker",
    "TiedScoresWarning": "gradrank.base.errors",
    "agreement": "gradrank.comparison.rankings.agreement",
    "compare": "gradrank.comparison.rankings.comparison",
    "conventions": "gradrank.comparison.rankings.explanation",
    "datasets": "gradrank.data.datasets",
    "evaluate": "gradrank.comparison.rankings.evaluation",
    "explain_convention": "gradrank.comparison.rankings.explanation",
    "load": "gradrank.ranker.ranker",
    "load_dataset": "gradrank.data.datasets",
    "load_results": "gradrank.comparison.rankings.stored_values",
    "metrics": "gradrank.comparison.rankings.explanation",
    "model_table": "gradrank.training.literature.model_tables",
    "pin": "gradrank.base.processor",
    "plot_queries": "gradrank.comparison.rankings.comparison",
    "scan_letor": "gradrank.data.text.letor",
    "search_space": "gradrank.integrations.optuna",
    "table": "gradrank.bench.report.tables.results_table",
}
__all__ = [
    "ClickRanker",
    "DegenerateModelWarning",
    "GradrankWarning",
    "Ranker",
    "TiedScoresWarning",
    "__version__",
    "agreement",
    "compare",
    "conventions",
    "datasets",
    "evaluate",
    "explain_convention",
    "load",
    "load_dataset",
    "load_results",
    "metrics",
    "models",
    "pin",
    "plot_queries",
    "scan_letor",
    "search_space",
    "table",
]


def __getattr__(name: str) -> Any:
    """Import and return a name of the public API."""
    if name == "models":
        return import_module("gradrank.models")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
