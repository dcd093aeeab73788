"""The models, each in one file or one folder. gradrank.training.model describes what a model file defines.

The package can be called: `gradrank.models()` returns the table of all models, and `gradrank.models("lambdamart")`
returns the table of the parameters of one model. The package itself is callable, because importing it would replace a
function `models` of `gradrank`.

>>> import gradrank
>>> gradrank.models().filter(name="ranksvm").select("year", "needs_pairs", "installed").row(0)
(1999, True, True)
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class _CallablePackage(ModuleType):
    def __call__(self, name: str | None = None) -> "pl.DataFrame":
        from gradrank import model_table

        return model_table(name)


sys.modules[__name__].__class__ = _CallablePackage  # documented in "Customizing module attribute access" of Python
