"""The format `linear`: one weight per feature name, as CSV or JSON. The suffix of the file selects one of them.

The normalisation `global` of the data set is a part of the weights, so the score is the sum of the weights times the
features as they are in the data, plus the intercept.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader
from gradrank.export.writable_forms import linear_of, linear_without_normaliser

INTERCEPT = "(intercept)"  # the name of the intercept in CSV files
HEADER = ["feature", "weight"]


class LinearFormat(ModelFormat):
    name = "linear"
    summary = "one weight per feature name, as CSV or JSON; the suffix of the file selects one of them"
    tolerance: ClassVar[float] = 1e-5  # gradrank rounds normalised features to float32
    extension = ".json"

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        form = linear_of(model.form)
        if form is None:
            raise NotExpressible("the score is not a weighted sum of the features")
        form = linear_without_normaliser(form, model.normaliser_of_documents())
        named = dict(zip(model.names, form.weights.tolist(), strict=True))
        if out.suffix == ".json":
            text = json.dumps({"intercept": form.intercept, "weights": named}, indent=2, ensure_ascii=False)
            out.write_text(text + "\n", encoding="utf-8")
        elif out.suffix == ".csv":
            if INTERCEPT in named:
                raise GradrankError(f"{out.name}: a feature is called {INTERCEPT!r}. Fix: write JSON, or give --names")
            with out.open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows([HEADER, [INTERCEPT, form.intercept], *named.items()])
        else:
            raise GradrankError(f"{out.name}: the format linear is CSV or JSON. Fix: end the name with .csv or .json")
        return [out]

    def read(self, path: Path) -> Reader:
        try:
            if path.suffix == ".json":
                content = json.loads(path.read_text(encoding="utf-8"))
                return LinearReader(content["weights"], float(content["intercept"]))
            with path.open(encoding="utf-8", newline="") as stream:
                header, *rows = csv.reader(stream)
            weights = {name: float(weight) for name, weight in rows}
            if header != HEADER or len(weights) != len(rows):
                raise ValueError("the header is wrong, or a name occurs twice")
            return LinearReader(weights, weights.pop(INTERCEPT))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise GradrankError(f"{path}: not a file of the format linear ({error!r}). Fix: export again") from None


class LinearReader(Reader):
    """The score sum_i weight_i x_i + intercept, computed in float64."""

    def __init__(self, weights: Mapping[str, float], intercept: float) -> None:
        self._names, self._intercept = tuple(weights), intercept
        self._weights = np.array([float(weight) for weight in weights.values()])

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return (features.astype(np.float64) * self._weights).sum(axis=1) + self._intercept
