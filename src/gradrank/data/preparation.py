"""Preparation of features for a method: missing values and categories, as learned on the training part of a fold.

A feature with categories is stored as codes: 0 for the first level, 1 for the second and so on, and NaN for a missing
value. The levels are text. A method that takes missing values or categories gets them as they are. For other methods,
features are replaced by columns of numbers:

- A missing number becomes the mean or the median of the training part. With `indicator`, it becomes the mean, and one
  further column is 1 where the feature is missing, if it is missing in the training part.
- A feature with at most MOST_ONE_HOT levels becomes one column per level, which is 1 in rows with this level.
- A feature with more levels becomes one column, the mean grade of the level, which is shrunk to the mean grade of all
  rows (scikit-learn's TargetEncoder). Rows of the training part get the value of the other rows only: the queries of
  the training part are divided into FOLDS groups, and each group gets the values of the other groups.

A level that the training part lacks counts as missing. In one-hot columns, a missing level is 0 everywhere. As a mean
grade, it is that of the missing values of the training part, or that of all rows.

The learned values are stored as JSON in spec.json, next to the model.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from gradrank.data.normalisation import Normaliser

Fill = Literal["mean", "median", "indicator"]
Kind = Literal["number", "filled", "indicator", "category", "one_hot", "mean_grade"]
FILLS = get_args(Fill)
MOST_ONE_HOT = 10  # levels; more columns than this make linear models slow, and rare levels have few rows
FOLDS = 5  # groups of queries, as many as the folds of TargetEncoder


@dataclass(frozen=True)
class Step:
    """The columns that one feature becomes.

    Parameters
    ----------
    column
        The column of the feature, from 0.
    kind
        `number`: the feature as it is. `filled`: missing values have the value in `values`. `indicator`: 1 where the
        feature is missing. `category`: the codes in `values`, and NaN for others. `one_hot`: one column per code in
        `values`. `mean_grade`: for each code, the number at its place in `values`; the last one is for missing values.
    values
        See `kind`.
    """

    column: int
    kind: Kind
    values: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """The number of columns that the feature becomes."""
        return len(self.values) if self.kind == "one_hot" else 1

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the (n, width) float32 columns of (n,) values of the feature."""
        if self.kind == "filled":
            values = np.where(np.isnan(values), np.float32(self.values[0]), values)
        elif self.kind == "indicator":
            values = np.isnan(values)
        elif self.kind == "category":
            values = np.where(np.isin(values, self.values), values, np.float32(np.nan))
        elif self.kind == "one_hot":
            return (values[:, None] == np.array(self.values, np.float32)).astype(np.float32)
        elif self.kind == "mean_grade":
            last = len(self.values) - 1
            is_known = (values >= 0) & (values < last)
            values = np.array(self.values)[np.where(is_known, values, last).astype(np.int64)]
        return values.astype(np.float32, copy=False)[:, None]


@dataclass(frozen=True)
class Preparation:
    """The preparation of (n, d) features: the steps in the order of their columns, and then the normalisation.

    steps: None if the features stay as they are before the normalisation. normaliser: None without a normalisation.
    """

    steps: tuple[Step, ...] | None = None
    normaliser: Normaliser | None = None

    @staticmethod
    def learn(
        features: np.ndarray,
        labels: np.ndarray,
        levels: Mapping[int, int],
        fill: Fill | None,
        takes: Collection[str],
        normalise: Literal["query", "global"] | None = None,
    ) -> "Preparation":
        """Learn the preparation on the training part.

        Parameters
        ----------
        features, labels
            (n, d) float32 and (n,) grades of the training part.
        levels
            A dict from the column of a feature with categories to the number of its levels.
        fill
            The replacement of missing numbers; None if they stay missing.
        takes
            Data that the method takes as they are: `missing`, `categorical`, both or none.
        normalise
            The normalisation after the steps; None without one.
        """
        steps: list[Step] = []
        for column, values in enumerate(features.T):
            if column in levels:
                steps.append(_category(column, values, labels, levels[column], "categorical" in takes))
            elif fill is None or "missing" in takes:
                steps.append(Step(column, "number"))
            else:
                steps += _filled(column, values, fill)
        prepared = Preparation(tuple(steps) if any(step.kind != "number" for step in steps) else None)
        if normalise == "global":
            return Preparation(prepared.steps, Normaliser.of_training_part(prepared._stepped(features)))
        return Preparation(prepared.steps, Normaliser(normalise) if normalise else None)

    @property
    def changes(self) -> bool:
        """True if the preparation changes any feature."""
        return self.steps is not None or self.normaliser is not None

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """The columns, after the preparation, that have codes of categories."""
        kinds = [step.kind for step in self.steps or () for _ in range(step.width)]
        return tuple(place for place, kind in enumerate(kinds) if kind == "category")

    def sources(self, width: int) -> np.ndarray:
        """Return, for each column after the preparation, the column of its feature. width: the number of features."""
        if self.steps is None:
            return np.arange(width)
        return np.array([step.column for step in self.steps for _ in range(step.width)], np.int64)

    def names(self, names: Sequence[str], levels: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the names of the columns after the preparation.

        names: the d names of the features. levels: a dict from the name of a feature with categories to its levels.
        """
        found: list[str] = []
        for step in self.steps or [Step(column, "number") for column in range(len(names))]:
            name = names[step.column]
            if step.kind == "one_hot":
                found += [f"{name}={levels[name][int(code)]}" for code in step.values]
            else:
                found.append(
                    {"indicator": f"{name} is missing", "mean_grade": f"mean grade of {name}"}.get(step.kind, name)
                )
        return found

    def __call__(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the prepared float32 features.

        features: (n, d) float32. offsets: (q+1,); query i has the rows offsets[i]:offsets[i+1].
        """
        return self._normalised(self._stepped(features), offsets)

    def of_training_part(self, features: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the prepared features of the training part, in which no mean grade depends on the row's own query.

        features, offsets: as in `__call__`. labels: (n,) grades.
        """
        prepared = self._stepped(features)
        first = 0
        for step in self.steps or ():
            if step.kind == "mean_grade":
                group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) % FOLDS
                for number in range(FOLDS):
                    own = group == number
                    if own.any() and not own.all():
                        values, levels = features[:, step.column], len(step.values) - 1
                        others = _mean_grades(step.column, values[~own], labels[~own], levels)
                        prepared[own, first] = others(values[own])[:, 0]
            first += step.width
        return self._normalised(prepared, offsets)

    def _stepped(self, features: np.ndarray) -> np.ndarray:
        if self.steps is None:
            return features
        return np.concatenate([step(features[:, step.column]) for step in self.steps], axis=1)

    def _normalised(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        if self.normaliser is None:
            return features
        codes = features[:, self.categorical]
        normalised = self.normaliser(features, offsets)
        normalised[:, self.categorical] = codes
        return normalised

    def entries(self) -> dict[str, Any]:
        """Return the entries of spec.json, from which `of` builds the preparation again with equal bits."""
        entries: dict[str, Any] = {}
        if self.steps is not None:
            entries["prepare"] = [[step.column, step.kind, *step.values] for step in self.steps]
        if self.normaliser is not None:
            entries["normalise"] = self.normaliser.entry()
        return entries

    @staticmethod
    def of(spec: Mapping[str, Any], width: int) -> "Preparation":
        """Build from spec.json. width: the number of features. Raises TypeError or ValueError if it is malformed."""
        steps = None
        if "prepare" in spec:
            steps = tuple(_checked(entry, width) for entry in spec["prepare"])
            width = sum(step.width for step in steps)
        normaliser = Normaliser.of(spec["normalise"], width) if "normalise" in spec else None
        return Preparation(steps, normaliser)


def _checked(entry: Any, width: int) -> Step:
    """Return a step from its entry. Raises TypeError or ValueError if it is malformed."""
    column, kind, *values = entry
    lengths = {"number": values == [], "indicator": values == [], "filled": len(values) == 1}
    is_valid = kind in get_args(Kind) and lengths.get(kind, len(values) > 0) and isinstance(column, int)
    if not is_valid or not 0 <= column < width or not np.isfinite(np.array(values, np.float64)).all():
        raise ValueError(f"prepare: {entry!r}")
    return Step(column, kind, tuple(map(float, values)))


def _filled(column: int, values: np.ndarray, fill: Fill) -> list[Step]:
    """Return the steps of a feature of numbers. A feature that is always missing becomes 0."""
    present = values[~np.isnan(values)].astype(np.float64)
    value = 0.0 if not len(present) else float(np.median(present) if fill == "median" else present.mean())
    steps = [Step(column, "filled", (float(np.float32(value)),))]
    return [*steps, Step(column, "indicator")] if fill == "indicator" and len(present) < len(values) else steps


def _category(column: int, values: np.ndarray, labels: np.ndarray, levels: int, is_native: bool) -> Step:
    """Return the step of a feature with categories."""
    codes = tuple(np.unique(values[~np.isnan(values)]).astype(np.float64).tolist())
    if not codes:  # always missing in the training part
        return Step(column, "mean_grade", (0.0, 0.0))
    if is_native:
        return Step(column, "category", codes)
    if len(codes) <= MOST_ONE_HOT:
        return Step(column, "one_hot", codes)
    return _mean_grades(column, values, labels, levels)


def _mean_grades(column: int, values: np.ndarray, labels: np.ndarray, levels: int) -> Step:
    """Return the mean grades of the levels, shrunk as scikit-learn's TargetEncoder does with its defaults."""
    from sklearn.preprocessing import TargetEncoder

    codes = np.where(np.isnan(values), levels, values).astype(np.int64)[:, None]
    if len(np.unique(labels)) < 2 or len(labels) < 2:
        return Step(column, "mean_grade", (float(labels.mean()) if len(labels) else 0.0,) * (levels + 1))
    encoder = TargetEncoder(categories=[np.arange(levels + 1)], target_type="continuous")  # pyright: ignore[reportArgumentType] - a list is documented
    encoder.fit(codes, labels.astype(np.float64))
    encoded = encoder.transform(np.arange(levels + 1)[:, None])[:, 0]
    seen = np.bincount(codes[:, 0], minlength=levels + 1) > 0
    encoded[~seen[: levels + 1]] = encoded[levels] if seen[levels] else encoder.target_mean_
    return Step(column, "mean_grade", tuple(encoded.tolist()))
