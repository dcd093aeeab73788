"""A scorer for servers: the documents of one query per call, from several threads, without a set-up per call."""

from array import array
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gradrank.base.errors import GradrankError, InputError
from gradrank.data.text.letor import Missing, fill
from gradrank.training.trained_fold import TrainedFold

DOCUMENTS = "documents"  # the name of the argument in error messages


class Scorer:
    """Scores the documents of one query per call. `Ranker.scorer` returns it.

    Several threads may call a scorer at the same time, and get the scores of `Ranker.predict`. A new scorer limits the
    numeric libraries of the process to one thread, because the last digits of their sums depend on the number of
    threads, and because a server has other requests for the other processors.

    Parameters
    ----------
    fold
        The trained model.

    Attributes
    ----------
    names
        The names of the d features, in the order of the columns of an array: those of the training data, or f1 to fd.

    Examples
    --------
    >>> import gradrank
    >>> X, y, qid = [[3.0, 0.0], [1.0, 1.0], [2.0, 0.0]] * 2, [2, 0, 1] * 2, [1] * 3 + [2] * 3
    >>> scorer = gradrank.Ranker("regression", random_state=1).fit(X, y, qid=qid).scorer()
    >>> scorer.names
    ('f1', 'f2')
    >>> scorer([{"f1": 1.0, "f2": 1.0}, {"f1": 3.0, "f2": 0.0}]).argmax()
    np.int64(1)
    """

    def __init__(self, fold: TrainedFold) -> None:
        threadpool_limits(limits=1)
        self.names = tuple(fold.schema.feature_names)
        self._fold = fold
        self._values_of = itemgetter(*self.names)
        self._has_one = len(self.names) == 1
        self._known = frozenset(self.names)
        self._missing: Missing = fold.schema.missing
        levels = fold.schema.levels
        self._codes = {
            self.names.index(name): {level: float(code) for code, level in enumerate(levels[name])} for name in levels
        }
        self(np.zeros((1, len(self.names)), np.float32))  # compiles code before the first request

    def __call__(self, documents: np.ndarray | Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the (n,) float64 scores of the n documents of one query. A higher score means a better rank.

        documents: an (n, d) array of numbers with the columns `names`, or a sequence of n mappings from the names of
        the features to their values, as in JSON. None and NaN are missing values, which are replaced as in the training
        data (`missing:`), or kept if the model accepts them. The value of a feature with categories is the level in a
        mapping, and the code of the level in an array. An unknown level counts as missing.

        Raises InputError, a ValueError, if a document lacks a feature or has another one, or if a value is text, is
        infinite, exceeds float32, or is missing and the model does not accept missing values.
        """
        features = documents if isinstance(documents, np.ndarray) else self._features(documents)
        if features.ndim != 2 or features.shape[1] != len(self.names) or features.dtype.kind not in "fiub":
            raise InputError(
                f"{DOCUMENTS}: an array of shape {features.shape} and type {features.dtype}, expected numbers of shape "
                f"(n, {len(self.names)}). Fix: give the features {self._listed()}, in this order"
            )
        if not len(features):
            return np.empty(0)
        with np.errstate(over="ignore"):  # values that exceed float32 become infinite, which the model refuses
            features = features.astype(np.float32, copy=False)
        if self._missing != "keep" and np.isnan(features).any():
            columns = np.array(features.T, order="C")  # a copy, because `fill` changes its argument
            fill(columns, np.array([len(features)]), self._missing)
            features = columns.T
        try:
            return self._fold.score(features, np.array([0, len(features)]))
        except GradrankError as error:
            fix = "" if "Fix:" in str(error) else ". Fix: replace the value, or leave the document out"
            raise InputError(f"{DOCUMENTS}: {error}{fix}") from None

    def _features(self, documents: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the (n, d) values of documents that are mappings, as float64."""
        width = len(self.names)
        try:
            if any(len(document) != width for document in documents):
                raise self._wrong_names(documents)
            rows = list(map(self._values_of, documents))
        except (KeyError, TypeError, AttributeError):
            raise self._wrong_names(documents) from None
        flat = rows if self._has_one else list(chain.from_iterable(rows))
        for place, codes in self._codes.items():
            flat[place::width] = [self._code(codes, value) for value in flat[place::width]]
        try:
            try:
                values = array("d", flat)  # refuses text, and takes half the time of `np.array`
            except TypeError:
                values = array("d", [np.nan if value is None else value for value in flat])
        except TypeError:
            raise self._not_number(flat) from None
        except OverflowError:
            raise InputError(f"{DOCUMENTS}: an integer exceeds the range of floats. Fix: give a float") from None
        return np.frombuffer(values).reshape(len(documents), width)

    @staticmethod
    def _code(codes: Mapping[str, float], level: Any) -> float:
        """Return the code of a category; NaN for an unknown level and a missing one, as in `predict`.

        codes: a dict from the text of a level to its code. Numbers have the text that they have in a table.
        """
        if isinstance(level, str):
            found = codes.get(level)
            return codes.get(level.strip(" \t"), np.nan) if found is None else found
        if level is None or (isinstance(level, float) and np.isnan(level)):
            return np.nan
        if not isinstance(level, (int, float, np.number, np.bool_)):
            raise InputError(
                f"{DOCUMENTS}: {level!r} is not a category. Fix: give the text of a level, or None for a missing value"
            )
        is_whole = isinstance(level, (float, np.floating)) and level == np.floor(level)
        return codes.get(str(int(level) if is_whole else level).lower(), np.nan)

    def _not_number(self, flat: Sequence[Any]) -> InputError:
        """Return the error for the first value that is neither a number nor None."""
        numeric = (int, float, np.number, np.bool_)
        place = next(place for place, value in enumerate(flat) if value is not None and not isinstance(value, numeric))
        row, column = divmod(place, len(self.names))
        return InputError(
            f"{DOCUMENTS}: the feature {self.names[column]!r} of document {row}, counted from 0, is {flat[place]!r}. "
            "Fix: give a number, or None for a missing value"
        )

    def _wrong_names(self, documents: Sequence[Mapping[str, Any]]) -> InputError:
        """Return the error for documents whose features are not those of the model."""
        for row, document in enumerate(documents):
            if not isinstance(document, Mapping):
                return InputError(
                    f"{DOCUMENTS}: document {row}, counted from 0, is {type(document).__name__}, not a mapping from "
                    f"names to numbers. Fix: give the features {self._listed()}"
                )
            absent = [name for name in self.names if name not in document]
            further = [str(name) for name in document if name not in self._known]
            faults = [f"lacks the features {', '.join(map(repr, absent[:12]))}"] if absent else []
            if further:
                close = get_close_matches(further[0], absent, n=1)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                faults.append(f"has {', '.join(map(repr, further[:12]))}, which the model was not trained on{hint}")
            if faults:
                return InputError(
                    f"{DOCUMENTS}: document {row}, counted from 0, {' and '.join(faults)}. Fix: give the features "
                    f"{self._listed()}"
                )
        return InputError(f"{DOCUMENTS}: not a sequence of mappings. Fix: give a list of dicts, or an array")

    def _listed(self) -> str:
        return ", ".join(self.names[:12]) + (f", .. ({len(self.names)} in all)" if len(self.names) > 12 else "")
