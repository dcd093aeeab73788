"""The parameters of `gradrank.Ranker`, and its methods that export or explain a trained model.

The parameters are those of the estimator, and those of the method that it trains.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError, InputError, nearest
from gradrank.base.processor import use_threads
from gradrank.comparison.rankings.tied_scores import warn_of_tied_scores
from gradrank.data.reader import Batch
from gradrank.explanations.importance import Importance, group_columns, importance
from gradrank.explanations.pairs import PairExplanation, explain_documents
from gradrank.measures.conventions import resolve as resolve_convention
from gradrank.ranker.inputs import Reader, input_errors, query_rows
from gradrank.training.fit import resolve
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model, parameter_hint
from gradrank.training.trained_fold import TrainedFold

# The parameters of the estimator that are not parameters of the method, with their defaults.
ESTIMATOR_DEFAULTS: dict[str, Any] = {
    "method": "lambdamart",
    "random_state": None,
    "n_jobs": None,
    "convention": "standard",
}


def check_names(method: Any, params: Mapping[str, Any]) -> None:
    """Raise InputError if there is no such method, or if the method lacks one of the parameters."""
    if not isinstance(method, str):
        raise InputError(
            f"method: expected the name of a method, found {method!r}. Fix: give a name of gradrank.models()"
        )
    with input_errors():
        valid = get_model(method).Params.model_fields
    for name in params:
        if name not in valid:
            hint = parameter_hint(name) or nearest(name, [*valid, *ESTIMATOR_DEFAULTS])
            raise InputError(
                f"{name}: {method} has no such parameter{hint}. Fix: correct the name; gradrank.models({method!r}) "
                "lists the parameters"
            )


def resolve_method(method: str, params: Mapping[str, Any]) -> tuple[type[Model], ModelParams]:
    """Return the class of the method and its checked parameters.

    Raises GradrankError if a parameter is invalid, or if the method combines the scores of other methods.
    """
    cls, resolved = resolve(method, {name: _plain(value) for name, value in params.items()})
    if members := cls.members(resolved):
        raise GradrankError(
            f"method: {method} combines the scores of {', '.join(members)}, which must be trained first. Fix: train it "
            "in a workflow, and load the fold with gradrank.load"
        )
    return cls, resolved


def named_convention(name: Any) -> Convention:
    """Return the convention called `name`. Raises GradrankError for an unknown name and for anything but a name."""
    if not isinstance(name, str):
        raise InputError(f"convention: {name!r} is not a name. Fix: use a name in gradrank.conventions()")
    return resolve_convention(name)


def resolve_seed(random_state: Any) -> int:
    """Return the seed that `random_state` stands for. Raises GradrankError if it stands for none."""
    if isinstance(random_state, int | np.integer):
        if not 0 <= random_state < 2**31:
            raise GradrankError(
                f"random_state: {random_state} is out of range. Fix: give an integer from 0 to {2**31 - 1}"
            )
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise GradrankError(f"random_state: {error}. Fix: give an integer, or None") from None


def resolve_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` stands for. Raises GradrankError if it stands for none."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise GradrankError(
            f"n_jobs: {n_jobs!r} is not a number of threads. Fix: give a positive integer, -1 for all processors, or "
            "None for one thread"
        )
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def _plain(value: Any) -> Any:
    """Return a parameter with NumPy types converted to Python types. Parameter grids often contain NumPy types."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value


def export_fold(
    fold: TrainedFold, path: Path | str, to: str, names: Sequence[str] | None, batch: Batch | None
) -> list[Path]:
    """Write a trained fold to `path` in the format `to`, and return the written files.

    names: the (d,) names of the features; None for those of the training data. batch: documents on which the written
    file is compared with the fold; None for no comparison. Raises GradrankError as `Ranker.export` does.
    """
    from gradrank.export.export import check, export, feature_names

    used = feature_names(fold, names)
    files = export(fold, to, path, used)
    if batch is not None:
        check(fold, to, files[0], [batch], used)
    return files


METRIC = "ndcg@10"  # the measure of `Ranker.score`, and the default of `importance`


class TrainedModel(BaseEstimator):
    """A base class of Ranker with the methods that only use the trained model.

    fold_: the trained model, set by `fit`. convention, n_jobs: parameters of Ranker.
    """

    fold_: TrainedFold
    convention: str
    n_jobs: int | None

    def importance(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        metric: str = METRIC,
        groups: Mapping[str, Sequence[str]] | None = None,
        repeats: int = 5,
        seed: int = 0,
    ) -> Importance:
        """Return how much a metric drops if the values of a feature are permuted within each query.

        The result has one row per feature, with a 95% interval over queries. The convention is that of the estimator.

        X, y, qid: as in `fit`. metric: see `gradrank.evaluate`. groups: dict from the name of a group to the names of
        its features, which are permuted together; the result then has one row per group. Without column names in X,
        the features are called f1 to fd. repeats: number of permutations. seed: seed of the permutations. Raises
        GradrankError if an argument is invalid.
        """
        check_is_fitted(self)
        with input_errors(), use_threads(resolve_threads(self.n_jobs)):
            data = Reader(self, self.fold_.model.takes_missing).rows(X, y, qid).collection
            columns = None if groups is None else group_columns(self.fold_.schema.feature_names, groups)
            options = {"convention": self.convention, "groups": columns, "repeats": repeats, "seed": seed}
            found = importance(self.fold_, data, metric, **options)
        warn_of_tied_scores({"": found.tied}, found.note, stacklevel=2)
        return found

    def explain(
        self, X: Any, *, qid: Any = None, query: Any = None, pair: tuple[int, int] | None = None, seed: int = 0
    ) -> PairExplanation:
        """Return the contributions of the features to the difference of the scores of two documents of a query.

        They sum to the difference, and are exact or have a standard error, depending on the model (docs/explain.md).

        X, qid: as in `predict`, with all documents of the query; without qid, all rows are one query. query: id of the
        query. If None, it is the query of the pair, or the only query. pair: row numbers of the two documents in X,
        from 0. If None, the first two documents of the ranking. seed: seed of the sampling. Raises GradrankError if an
        argument is invalid.
        """
        check_is_fitted(self)
        with input_errors(), use_threads(resolve_threads(self.n_jobs)):
            features = Reader(self, self.fold_.model.takes_missing).features(X)
            rows, name, chosen = query_rows(len(features), qid, query, pair)
            names = [str(row) for row in rows]
            return explain_documents(self.fold_, features[rows], names, "row numbers of X, from 0", name, chosen, seed)

    def export(
        self, path: Path | str, to: str, *, names: Sequence[str] | None = None, check: tuple[Any, Any] | None = None
    ) -> list[Path]:
        """Write the trained model in the format of another program, and return the written files.

        Parameters
        ----------
        path
            The file. An existing file is replaced. Some formats write more files next to it.
        to
            The name of the format, such as "onnx". docs/export.md lists the formats.
        names
            The (d,) names of the features in the file. The default is `feature_names_in_`, or f1 to fd.
        check
            A tuple (X, qid). An independent program reads the file, and its scores and their order are compared with
            those of `predict`.

        Raises
        ------
        GradrankError
            If an argument is invalid, if the scores or their order differ, or if the format cannot express the model.
            In the last case, the message lists the formats that can.

        Examples
        --------
        >>> import tempfile, gradrank
        >>> X, y, qid = [[3.0], [1.0], [2.0]] * 4, [2, 0, 1] * 4, [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
        >>> ranker = gradrank.Ranker("regression", random_state=1).fit(X, y, qid=qid)
        >>> (path,) = ranker.export(f"{tempfile.mkdtemp()}/weights.csv", to="linear", names=["age"], check=(X, qid))
        >>> path.name
        'weights.csv'
        """
        check_is_fitted(self)
        with input_errors():
            batch = check and Reader(self, self.fold_.model.takes_missing).batch(*check)
            return export_fold(self.fold_, path, to, names, batch)
