"""The parameters of `gradrank.Ranker`, and its methods that export or explain a trained model.

The parameters are those of the estimator, and those of the method that it trains.
"""

import os
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gradrank.base.conventions import Convention
from gradrank.base.errors import GradrankError, InputError, nearest
from gradrank.base.processor import use_threads
from gradrank.comparison.rankings.tied_scores import warn_of_tied_scores
from gradrank.data.reader import Batch, TrainingSchema
from gradrank.explanations.importance import Importance, group_columns, importance
from gradrank.explanations.pairs import PairExplanation, explain_documents
from gradrank.measures.conventions import DEFAULT
from gradrank.measures.conventions import resolve as resolve_convention
from gradrank.measures.metrics import metric_label
from gradrank.plots.charts import bar_chart, line_chart
from gradrank.ranker.inputs import LabelForm, Reader, input_errors, query_rows
from gradrank.training.fit import resolve
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model, parameter_hint
from gradrank.training.scoring_form import LinearForm, NoScoringForm, TreesForm
from gradrank.training.trained_fold import TrainedFold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The parameters of the estimator that are not parameters of the method, with their defaults.
ESTIMATOR_DEFAULTS: dict[str, Any] = {
    "method": "lambdamart",
    "random_state": None,
    "n_jobs": None,
    "convention": DEFAULT,
    "gain": None,
    "unjudged": None,
    "missing": None,
    "verbose": False,
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
        if name == "warm_start":
            raise InputError(
                "warm_start: no method continues an earlier training. Fix: leave it out, and give more rounds"
            )
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


def named_convention(name: Any, gain: Any = None) -> Convention:
    """Return the convention called `name`, with another gain if `gain` is not None.

    Raises GradrankError for an unknown name, for anything but a name, and for an invalid gain.
    """
    if not isinstance(name, str):
        raise InputError(f"convention: {name!r} is not a name. Fix: use a name in gradrank.conventions()")
    return resolve_convention(name, **({} if gain is None else {"gain": gain}))


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
    fold: TrainedFold,
    path: Path | str,
    to: str | None,
    names: Sequence[str] | None,
    batch: Batch | None,
    engine: str | None,
) -> list[Path]:
    """Write a trained fold to `path` in the format `to`, and return the written files.

    names: the (d,) names of the features; None for those of the training data. batch: documents on which the file is
    compared with the fold before it is in its place; None for no comparison. engine: the search engine that reads the
    file; None for no particular one. Raises GradrankError as `Ranker.export` does.
    """
    from gradrank.export.export import checked_export

    return checked_export(fold, to, path, names, engine, None if batch is None else [batch]).files


def split_shares(model: Model, schema: TrainingSchema) -> np.ndarray:
    """Return the (d,) shares of the d features in the weights or in the splits of a model.

    schema: the features of the training data. A feature that became several columns has their sum.

    Raises AttributeError if the model is neither linear nor trees.
    """
    try:
        form = model.scoring_form(len(schema.sources))
    except NoScoringForm:
        form = None
    if isinstance(form, LinearForm):
        found = np.abs(form.weights)
    elif isinstance(form, TreesForm):
        used = np.concatenate([tree.feature[tree.feature >= 0] for tree in form.trees] or [np.empty(0, int)])
        found = np.bincount(used.astype(np.int64), minlength=len(schema.sources)).astype(np.float64)
    else:
        raise AttributeError(
            f"{model.name} is neither a linear model nor trees. Use Ranker.importance, for every method"
        )
    found = np.bincount(schema.sources, weights=found, minlength=schema.width)
    return found / total if (total := found.sum()) > 0 else found


METRIC = "ndcg@10"  # the measure of `Ranker.score`, and the default of `importance`


class TrainedModel(BaseEstimator):
    """A base class of Ranker with the methods that only use the trained model.

    fold_: the trained model, set by `fit`. convention, gain, unjudged, n_jobs: parameters of Ranker.
    """

    fold_: TrainedFold
    history_: pl.DataFrame
    method: str
    convention: str
    gain: Any
    unjudged: Any
    n_jobs: int | None

    def _reader(self) -> Reader:
        """Return the reader of the arguments of a fitted estimator."""
        schema = self.fold_.schema
        fills = any(step.kind == "filled" for step in schema.preparation.steps or ())
        return Reader(self, self.fold_.model.takes_missing or fills, self._label_form, schema.levels)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The (d,) shares of the features in a linear model or in trees; they sum to 1, or are all 0.

        For a linear model, the share is that of the absolute weight, which depends on the unit of the feature. For
        trees, it is the share of the splits, as LightGBM's `importance_type="split"`. Other methods have no such
        attribute. `importance` measures the effect on a metric for every method.
        """
        check_is_fitted(self)
        return split_shares(self.fold_.model, self.fold_.schema)

    @property
    def best_iteration_(self) -> int:
        """The step (epoch, boosting round or grid point) that the validation data selected, counted from 1.

        After `refit`, it is the median of the steps that the folds selected. A method that reports no values of its
        steps has no such attribute.
        """
        check_is_fitted(self)
        if step := self.fold_.spec.get("refit", {}).get("step"):
            return int(step)
        if self._criterion not in self.history_.columns or not len(self.history_):
            raise AttributeError(f"{self.method}: its training reports no steps, so that there is no best one")
        return int(self.history_["step"].to_numpy()[np.nanargmax(self.history_[self._criterion].to_numpy())])

    @property
    def _criterion(self) -> str:
        """The column of `history_` that selects the step."""
        return f"vali_{self.fold_.spec.get('params', {}).get('select_by', METRIC)}"

    def plot_history(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the metric of the validation data that selects the model over the training steps.

        A vertical line marks `best_iteration_`. Returns the matplotlib axes. ax: the axes to draw into; None for a new
        figure. `history_` has all values of the steps.

        Raises GradrankError if the method reports no steps, or if matplotlib is not installed (extra `plots`).
        """
        check_is_fitted(self)
        try:
            best = self.best_iteration_
        except AttributeError:
            raise GradrankError(
                f"plot_history: {self.method} reports no values of training steps. Fix: choose a method trained in "
                "steps, such as lambdamart or ranknet_two_layer"
            ) from None
        metric = metric_label(self._criterion.removeprefix("vali_"))
        steps, values = self.history_["step"].to_numpy(), self.history_[self._criterion].to_numpy()
        ax = line_chart(steps, {"validation": values}, best, "plot_history", ax)
        ax.set_ylabel(metric)
        ax.set_title(f"{self.method}: {metric} of the validation data")
        return ax

    def plot_importance(self, ax: "Axes | None" = None, *, top: int = 20) -> "Axes":
        """Draw `feature_importances_` as bars, the largest first, and return the matplotlib axes.

        `ranker.importance(X, y, qid=qid).plot()` works for every method, and draws the effect of each feature on a
        metric, with intervals.

        ax: the axes to draw into; None for a new figure. top: number of features. Raises GradrankError if the method is
        neither linear nor trees, or if matplotlib is not installed (extra `plots`).
        """
        try:
            shares = self.feature_importances_
        except AttributeError:
            raise GradrankError(
                f"plot_importance: {self.method} is neither a linear model nor trees. Fix: call "
                "ranker.importance(X, y, qid=qid).plot(), which works for every method"
            ) from None
        order = np.argsort(-shares, kind="stable")[:top]
        names = [self.fold_.schema.feature_names[column] for column in order]
        ax = bar_chart(names, shares[order], "share of the weights or of the splits", "plot_importance", ax)
        ax.set_title(f"{self.method}: features")
        return ax

    @property
    def _label_form(self) -> LabelForm:
        """The labels that `fit` and `score` accept. Raises GradrankError for an invalid `gain` or `unjudged`."""
        any_grade = self.gain is not None and named_convention(self.convention, self.gain).takes_any_grade
        if self.unjudged is not None and not (isinstance(self.unjudged, Real) and float(self.unjudged) < 0):
            raise InputError(
                f"unjudged: {self.unjudged!r} is not a negative number. Fix: give the negative label of documents that "
                "were not judged, such as -1"
            )
        return LabelForm(any_grade, None if self.unjudged is None else float(self.unjudged))

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

        The result has one row per feature, with a 95% interval over queries. The metric is computed under the
        convention of the estimator.

        X, y, qid: as in `fit`. metric: see `gradrank.evaluate`. groups: dict from the name of a group to the names of
        its features, which are permuted together; the result then has one row per group. Without column names in X,
        the features are called f1 to fd. repeats: number of permutations. seed: seed of the permutations. Raises
        GradrankError if an argument is invalid.
        """
        check_is_fitted(self)
        with input_errors(), use_threads(resolve_threads(self.n_jobs)):
            convention = named_convention(self.convention, self.gain)
            data = self._reader().rows(X, y, qid).collection
            columns = None if groups is None else group_columns(self.fold_.schema.feature_names, groups)
            options = {"convention": convention, "groups": columns, "repeats": repeats, "seed": seed}
            found = importance(self.fold_, data, metric, **options)
        warn_of_tied_scores({"": found.tied}, found.note, stacklevel=2)
        return found

    def explain(
        self, X: Any, *, qid: Any = None, query: Any = None, pair: tuple[int, int] | None = None, seed: int = 0
    ) -> PairExplanation:
        """Return the contribution of each feature to the difference between the scores of two documents of a query.

        The contributions sum to the difference. Depending on the model, they are exact or have a standard error
        (docs/explain.md).

        X, qid: as in `predict`, with all documents of the query; without qid, all rows are one query. query: id of the
        query. If None, it is the query of the pair, or the only query. pair: row numbers of the two documents in X,
        from 0. If None, the first two documents of the ranking. seed: seed of the sampling. Raises GradrankError if an
        argument is invalid.
        """
        check_is_fitted(self)
        with input_errors(), use_threads(resolve_threads(self.n_jobs)):
            reader = self._reader()
            X, qid = reader.query_column(X, qid)
            features = reader.features(X)
            rows, name, chosen = query_rows(len(features), qid, query, pair)
            names = [str(row) for row in rows]
            return explain_documents(self.fold_, features[rows], names, "row numbers of X, from 0", name, chosen, seed)

    def export(
        self,
        path: Path | str,
        to: str | None = None,
        *,
        engine: str | None = None,
        names: Sequence[str] | None = None,
        check: tuple[Any, Any] | None = None,
    ) -> list[Path]:
        """Write the trained model in the format of another program, and return the written files.

        Parameters
        ----------
        path
            The file. An existing file is replaced. Some formats write more files next to it.
        to
            The name of the format, such as "onnx". docs/export.md lists the formats. With `engine`, None stands for the
            first format of the engine that can express the model.
        engine
            The search engine that reads the file, such as "opensearch@3.3" or "solr@9.2". A model is refused if its
            scores would be different in this engine. docs/search-engines.md has the rules.
        names
            The (d,) names of the features in the file. The default is `feature_names_in_`, or f1 to fd.
        check
            A tuple (X, qid). An independent program reads the file and scores X. Its scores and their order are
            compared with the result of `predict`. If they differ, no file is written.

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
            batch = check and self._reader().batch(*check)
            return export_fold(self.fold_, path, to, names, batch, engine)
