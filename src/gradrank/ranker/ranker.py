"""Ranker: every method of gradrank as a scikit-learn estimator."""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gradrank.base.conventions import selection_convention
from gradrank.base.errors import DegenerateModelWarning, GradrankError, GradrankWarning
from gradrank.base.forks import refuse_fork
from gradrank.base.processor import use_threads
from gradrank.comparison.rankings.inputs import group_rows, query_ids, same_length
from gradrank.measures.metrics import compute
from gradrank.ranker.inputs import (
    ROWS,
    Reader,
    check_equal_within_queries,
    check_has_order,
    held_out_queries,
    input_errors,
)
from gradrank.ranker.trained_model import (
    ESTIMATOR_DEFAULTS,
    METRIC,
    TrainedModel,
    check_names,
    named_convention,
    resolve_method,
    resolve_seed,
    resolve_threads,
)
from gradrank.training.best_of import History
from gradrank.training.fit import degenerate_model_note, fit, resolve
from gradrank.training.fold_folder import FoldFolder, partial_folder, publish
from gradrank.training.model import ModelParams
from gradrank.training.registry import get_model
from gradrank.training.trained_fold import TrainedFold
from gradrank.training.training_queries import check_weights


class Ranker(TrainedModel):
    """A method of gradrank as a scikit-learn estimator.

    Parameters
    ----------
    method
        The name of a method, such as "lambdamart" or "ranksvm". `gradrank.models()` lists them.
    random_state
        The seed: an integer, a NumPy RandomState, or None for a different seed at each `fit`. A training job of the
        workflow uses the seed `job_seed` in its spec.json.
    n_jobs
        The number of threads for training and scoring. None means 1, and -1 means the number of processors. The last
        digits of the scores can depend on the number of threads.
    convention
        The name of the convention of `score` and of the selection on validation data, for example of the number of
        trees. The selection takes the mean over all orders of equal scores. The default is that of `gradrank.evaluate`.
        A training job of the workflow uses the convention in its spec.json. `gradrank.conventions()` lists the names.
    **params
        Parameters of the method. Parameters that are not given have their defaults. `gradrank.models("lambdamart")`
        lists them.

    Attributes
    ----------
    n_features_in_
        The number of features.
    feature_names_in_
        The (d,) names of the features, if X was a data frame with text as column names.
    held_out_qid_
        The ids of the queries that `fit` held out to select the model. Empty if `fit` had an eval_set.
    history_
        A Polars frame with one row per training step and the values that the method reported.
    seed_
        The seed that `fit` used.

    Raises
    ------
    GradrankError
        If the method or a parameter is unknown. `fit`, `predict` and `score` raise this error for invalid data.

    Examples
    --------
    >>> import numpy as np
    >>> from gradrank import Ranker
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.clip(np.round(X[:, 0] + 1), 0, 4).astype(int)
    >>> qid = np.repeat(np.arange(40), 10)
    >>> ranker = Ranker("regression", random_state=1).fit(X, y, qid=qid)
    >>> ranker.predict(X[:10], qid=qid[:10]).argmax() == X[:10, 0].argmax()
    np.True_
    """

    n_features_in_: int
    feature_names_in_: np.ndarray
    # `qid` is passed on by Pipeline, GridSearchCV and cross_validate if metadata routing is enabled.
    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}

    def __init__(
        self,
        method: str = "lambdamart",
        *,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        convention: str = "standard",
        **params: Any,
    ) -> None:
        check_names(method, params)
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.convention = convention
        self._method_params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters: those of the estimator, and those of the method, including defaults."""
        return {name: getattr(self, name) for name in ESTIMATOR_DEFAULTS} | self._defaults() | self._method_params

    def _defaults(self) -> dict[str, Any]:
        """Return the defaults of the parameters of the method."""
        fields = get_model(self.method).Params.model_fields
        return {name: field.get_default() for name, field in fields.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the estimator.

        If the method changes, parameters of the new method that are not given have their defaults.
        """
        first = {name: params.pop(name) for name in ESTIMATOR_DEFAULTS if name in params}
        method = first.get("method", self.method)
        changed = self._method_params | params if method == self.method else params
        check_names(method, changed)
        self._method_params = changed
        for name, value in first.items():
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = ESTIMATOR_DEFAULTS | {"method": self.method} | self._defaults()
        params = self.get_params().items()
        shown = {name: value for name, value in params if repr(value) != repr(defaults[name])}
        text = ", ".join([repr(self.method), *(f"{name}={value!r}" for name, value in shown.items())])
        return f"Ranker({text if len(text) <= N_CHAR_MAX else text[:N_CHAR_MAX] + '...'})"

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Train the method, and return the estimator. A model that learned no order is a DegenerateModelWarning.

        Parameters
        ----------
        X
            (n, d) features: a NumPy array, or a Polars, pandas or Arrow table. The features are converted to float32.
            NaN is a missing value, which some methods accept.
        y
            (n,) relevance grades, integers from 0.
        qid
            (n,) query ids, integers or text. The rows of a query need not be next to each other.
        sample_weight
            (n,) weights of the documents. The column `uses_weights` of `gradrank.models()` tells which methods use
            weights of documents, weights that are equal within each query, or none. Weights that a method cannot use
            are refused. The validation data are not weighted.
        eval_set
            Validation data as a tuple (X, y, qid). The validation data select the model, for example the number of
            trees. If None, a fifth of the queries is held out (attribute `held_out_qid_`).

        Raises
        ------
        GradrankError
            If an argument is invalid, or if the method cannot be trained on the data. The estimator stays as it was.
        """
        before = vars(self).copy()
        try:
            return self._fit(X, y, qid, sample_weight, eval_set)
        except BaseException:  # a new order of the columns must not meet the weights of an earlier fit
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: tuple[Any, Any, Any] | None) -> Self:
        with input_errors():
            convention = named_convention(self.convention)
            cls, params = resolve_method(self.method, self._method_params)
            reader = Reader(self, cls.takes_missing)
            train = reader.rows(X, y, qid, sample_weight, is_new=True)
            check_has_order(train.collection)
            for text in train.warnings:
                warnings.warn(text, GradrankWarning, stacklevel=3)
            if train.collection.weights is not None:
                uneven = train.collection.uneven_query
                check_weights(cls, None if uneven is None else train.qids[uneven])
            seed = resolve_seed(self.random_state)
            if eval_set is None:
                is_held_out = held_out_queries(train.collection.queries, seed)
                parts = [train.collection.select_queries(chosen) for chosen in (~is_held_out, is_held_out)]
                held_out = train.qids[is_held_out]
            else:
                parts = [train.collection, reader.validation(eval_set)]
                held_out = train.qids[:0]
            parts = [replace(part, convention=convention) for part in parts]
            history = History(self.method, every_seconds=np.inf)
            with use_threads(resolve_threads(self.n_jobs)):
                model = fit(cls, parts[0], parts[1], params, seed, history)
                note = degenerate_model_note(model, params, parts[0])
        self.fold_ = TrainedFold(model, self._specification(params, seed))
        self.seed_, self.held_out_qid_, self.history_ = seed, held_out, history.frame()
        if note:
            warnings.warn(note, DegenerateModelWarning, stacklevel=3)  # the caller of `fit`
        return self

    def _specification(self, params: ModelParams, seed: int) -> dict[str, Any]:
        """Return the entries of a training job's spec.json that also apply to data given as arrays."""
        spec = {"model": self.method, "params": params.model_dump(mode="json"), "features": self.n_features_in_}
        spec |= {"names": self.feature_names_in_.tolist()} if hasattr(self, "feature_names_in_") else {}
        return spec | {"missing": "keep", "seed": seed, "job_seed": seed, "convention": self.convention}

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return (n,) float64 scores in the order of the rows. A higher score means a better rank in the query.

        Parameters
        ----------
        X
            (n, d) features, as in `fit`.
        qid
            (n,) query ids. Required only for methods that score the documents of a query together.

        Raises
        ------
        GradrankError
            If an argument is invalid.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self)
        with input_errors():
            features = Reader(self, self.fold_.model.takes_missing).features(X)
            if qid is None:
                if self.fold_.scores_whole_queries:
                    raise GradrankError(
                        f"qid: missing, but {self.method} scores the documents of a query together. Fix: give qid"
                    )
                return self._scored(features, np.array([0, len(features)]))
            _, offsets, rows = group_rows(same_length(query_ids(qid, "qid"), len(features), "qid", ROWS))
            if rows is None:
                return self._scored(features, offsets)
            scores = np.empty(len(features))
            scores[rows] = self._scored(features[rows], offsets)
            return scores

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 over queries under the convention of the estimator, in expectation over ties.

        The default convention, `standard`, has the gain 2^y - 1 and the discount 1/log2(rank + 1). A query without
        relevant documents has the value 0. The value of a query is the mean over all orders of equal scores. With the
        order of the rows, a model without any order could win a grid search if the rows are sorted by grade. Other
        measures: `gradrank.evaluate(y, ranker.predict(X, qid=qid), qid=qid)`.

        X, y, qid: as in `fit`. sample_weight: (n,) weights, equal within each query. The mean over queries is weighted
        by these weights.
        """
        check_is_fitted(self)
        with input_errors():
            convention = named_convention(self.convention).in_expectation()
            rows = Reader(self, self.fold_.model.takes_missing).rows(X, y, qid, sample_weight)
            check_equal_within_queries(rows)
            data = rows.collection
            scores = self._scored(data.features, data.offsets)
            values = compute([METRIC], scores, data.labels, data.offsets, convention)[METRIC]
            return float(np.average(values, weights=data.query_weights))

    def save(self, folder: Path | str) -> None:
        """Write the trained model into a folder, in the format of results/<dataset>/<model>/fold<k>.

        An earlier model in the folder is replaced. `gradrank predict --model` and `gradrank.load` read the folder.
        Raises GradrankError if the folder contains files that gradrank has not written.
        """
        check_is_fitted(self)
        refuse_fork("save")
        out = FoldFolder(Path(folder))
        with input_errors(), partial_folder(out.folder) as partial:
            self.history_.write_parquet(partial.history_path)
            self.fold_.save(partial)
            publish(partial, out)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Return the ranker in a folder. The folder is one that `save` wrote, or a fold that a workflow trained.

        Raises GradrankError if the folder contains no trained model, is damaged or was edited.
        """
        refuse_fork("load")
        fold, files = TrainedFold.load(folder), FoldFolder(Path(folder))
        spec = fold.spec
        try:
            _, params = resolve(spec["model"], spec.get("params", {}))  # with tuples, which JSON stores as lists
        except GradrankError as error:
            raise GradrankError(f"{files.spec_path}: {error}. Fix: train the model again") from None
        values = {name: getattr(params, name) for name in spec.get("params", {})}
        own = {"random_state": spec.get("job_seed"), "convention": selection_convention(spec)}
        ranker = cls(spec["model"], **own, **values)
        ranker.fold_, ranker.seed_ = fold, spec.get("job_seed")
        ranker.history_ = files.history() if files.history_path.is_file() else History(ranker.method).frame()
        ranker.n_features_in_, ranker.held_out_qid_ = fold.schema.width, np.array([])
        if fold.schema.names:
            ranker.feature_names_in_ = np.array(fold.schema.names, dtype=object)
        return ranker

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle: the attributes, and the contents of the files that `save` would write."""
        state: dict[str, Any] = {**super().__getstate__()}  # pyright: ignore[reportGeneralTypeIssues, reportAssignmentType] - typed as object
        if "fold_" in state:
            with tempfile.TemporaryDirectory() as folder:
                self.fold_.save(FoldFolder(Path(folder)))
                paths = [path for path in Path(folder).rglob("*") if path.is_file()]
                state["fold_"] = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.get("fold_")
        super().__setstate__({name: value for name, value in state.items() if name != "fold_"})
        if files is not None:
            with tempfile.TemporaryDirectory() as folder:
                for name, content in files.items():
                    path = Path(folder) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                self.fold_ = TrainedFold.load(folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.allow_nan = get_model(self.method).takes_missing
        return tags

    def _scored(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        with use_threads(resolve_threads(self.n_jobs)):
            return self.fold_.score(features, offsets)


def load(folder: Path | str) -> Ranker:
    """Return the trained ranker in a folder.

    folder: a folder that `Ranker.save` wrote, or a fold of a workflow, such as results/mq2007/lambdamart/fold1. Raises
    GradrankError if the folder contains no trained model, is damaged or was edited.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import gradrank
    >>> X, y, qid = np.arange(12.0).reshape(12, 1), np.tile([0, 1, 2], 4), np.repeat([1, 2, 3, 4], 3)
    >>> folder = tempfile.mkdtemp()
    >>> gradrank.Ranker("regression", random_state=1).fit(X, y, qid=qid).save(folder)
    >>> gradrank.load(folder).predict(X[:3]).argsort()
    array([0, 1, 2])
    """
    return Ranker.load(folder)
