"""Ranker: every method of gradrank as a scikit-learn estimator."""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gradrank.base.conventions import selection_convention
from gradrank.base.errors import DegenerateModelWarning, GradrankError, GradrankWarning, InputError
from gradrank.base.forks import refuse_fork
from gradrank.base.processor import use_threads
from gradrank.comparison.rankings.inputs import integer_query_ids, row_groups, same_length
from gradrank.data.collection import Collection
from gradrank.data.preparation import FILLS, Fill, Preparation
from gradrank.measures.conventions import DEFAULT, Convention
from gradrank.measures.metrics import compute
from gradrank.ranker.inputs import (
    FIX_OF_QID,
    ROWS,
    GroupedRows,
    Reader,
    check_equal_within_queries,
    check_has_order,
    held_out_queries,
    input_errors,
)
from gradrank.ranker.model_card import CARD, model_card
from gradrank.ranker.refit import (
    REFIT,
    FoldSelection,
    frozen_fit,
    has_alternatives,
    median_step,
    query_values,
    refit_entry,
    selected_step,
)
from gradrank.ranker.scorer import Scorer
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
from gradrank.training.fit import degenerate_model_note, fit, resolve, taken_as_is
from gradrank.training.fold_folder import FoldFolder, partial_folder, publish
from gradrank.training.label_gains import Gain, with_gains
from gradrank.training.model import Model, ModelParams
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
        The number of threads for training and scoring with trees of LightGBM, CatBoost and XGBoost. None means 1, and
        -1 means the number of processors. Other methods use one thread, because the last digits of their scores would
        depend on the number of threads. The number never changes the model and its scores.
    convention
        The name of the convention that `score` uses, and under which the validation data select, for example, the
        number of trees. The selection takes the mean over all orders of equal scores. The default is `standard`, as in
        `gradrank.evaluate`. A training job of the workflow uses the convention in its spec.json.
        `gradrank.conventions()` lists the names.
    gain
        The gain of each grade in NDCG, for `score`, for the selection on validation data, and for the training of
        methods whose definition has gains, such as "lambdamart": "exponential" for 2^y - 1, "linear" for y, a list with
        the gain of each grade from 0, or a function of the grade. With a gain that is not "exponential", `y` may have
        fractions and numbers above 31. None means the gain of the convention in `score` and in the selection, and
        2^y - 1 in the training.
    unjudged
        The negative label of documents that were not judged, such as -1. These documents are left out of training,
        selection and `score`; `predict` ranks them. None means that all documents were judged.
    missing
        The replacement of missing numbers for a method that does not accept them: the `mean` or the `median` of the
        training rows, or `indicator` for the mean and a further column that is 1 where the number is missing. With
        None, such a method refuses missing numbers. Methods that accept missing values get them unchanged.
    verbose
        If True, `fit` prints the values of each training step on standard error.
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
    best_iteration_
        The step that the validation data selected, from 1. Only methods that report their steps have it.
    feature_importances_
        The (d,) shares of the features in the weights of a linear model, or in the splits of trees.
    history_
        A Polars frame with one row per training step and the values that the method reported.
    seed_
        The seed that `fit` used.

    Raises
    ------
    GradrankError
        `fit` raises this error if the method or a parameter is unknown. `fit`, `predict` and `score` raise it for
        invalid data.

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
        convention: str = DEFAULT,
        gain: Gain | None = None,
        unjudged: float | None = None,
        missing: Literal["mean", "median", "indicator"] | None = None,
        verbose: bool = False,
        **params: Any,
    ) -> None:
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.convention = convention
        self.gain = gain
        self.unjudged = unjudged
        self.missing = missing
        self.verbose = verbose
        self._method_params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator and of the method, including defaults."""
        return {name: getattr(self, name) for name in ESTIMATOR_DEFAULTS} | self._defaults() | self._method_params

    def _defaults(self) -> dict[str, Any]:
        """Return the defaults of the parameters of the method; empty for an unknown method, which `fit` refuses."""
        if not self._is_known:
            return {}
        fields = get_model(self.method).Params.model_fields
        return {name: field.get_default() for name, field in fields.items()}

    @property
    def _is_known(self) -> bool:
        """True if there is a method with this name."""
        try:
            check_names(self.method, {})
        except GradrankError:
            return False
        return True

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the estimator. As in scikit-learn, `fit` checks the values.

        If `method` changes, the parameters of the new method have their defaults unless they are given.
        """
        first = {name: params.pop(name) for name in ESTIMATOR_DEFAULTS if name in params}
        method = first.get("method", self.method)
        is_same = method is self.method or (isinstance(method, str) and method == self.method)
        self._method_params = self._method_params | params if is_same else params
        for name, value in first.items():
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = ESTIMATOR_DEFAULTS | {"method": self.method} | self._defaults()
        params = self.get_params().items()
        shown = {name: value for name, value in params if repr(value) != repr(defaults.get(name))}
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
        """Train the method, and return the estimator. Emit a DegenerateModelWarning if the model learned no order.

        Parameters
        ----------
        X
            (n, d) features: a NumPy array, a SciPy sparse matrix, a Polars frame or lazy frame, a pandas frame, an
            Arrow table or dataset, or a dataset of Hugging Face. The features are converted to dense float32. NaN is a
            missing value, which some methods accept. Categorical columns and text columns of a data frame are
            categories. Trees of LightGBM use categories directly. For other methods, a feature with at most ten levels
            becomes one column per level, and a feature with more levels becomes the mean grade of the level. In
            `predict`, a level that does not occur in the training rows is a missing value.
        y
            (n,) relevance grades, integers from 0 to 31. With a `gain` that is not "exponential", they may be any
            finite numbers from 0, such as grades up to 10,000 or gains. The column `accepts` of `gradrank.models()`
            lists the methods that accept gains; other methods refuse such labels.
        qid
            (n,) query ids, integers or text. The rows of a query need not be next to each other. A data frame X can
            have a column `qid` instead, which is then not used as a feature. There is no default: without query ids,
            `fit` raises an error.
        sample_weight
            (n,) weights of the documents, or (q,) weights of the queries in the order of their first rows in X. A
            weight of 0 leaves the query or the document out. The column `uses_weights` of `gradrank.models()` shows
            whether a method uses weights of documents, weights that are equal within each query, or no weights. Weights
            that a method cannot use are refused. The validation data are not weighted.
        eval_set
            Validation data as a tuple (X, y, qid). The validation data select the model, for example the number of
            trees. If None, a fifth of the queries is held out (attribute `held_out_qid_`).

        Raises
        ------
        GradrankError
            If an argument is invalid, or if the method cannot be trained on the data. The estimator stays as it was.
        """
        with self._unchanged_by_errors():
            return self._fit(X, y, qid, sample_weight, eval_set)

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Restore the attributes after an error: a new order of the columns must not meet the weights of another."""
        before = vars(self).copy()
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: tuple[Any, Any, Any] | None) -> Self:
        with input_errors():
            convention = named_convention(self.convention, self.gain)
            cls, params, reader, train = self._training_rows(X, y, qid, sample_weight)
            seed = resolve_seed(self.random_state)
            if eval_set is None:
                is_held_out = held_out_queries(train.collection.queries, seed)
                parts = [train.collection.select_queries(chosen) for chosen in (~is_held_out, is_held_out)]
                held_out = train.qids[is_held_out]
            else:
                parts = [train.collection, reader.validation(eval_set)]
                held_out = train.qids[:0]
            preparation, parts = self._prepared(cls, reader, parts, convention)
            history = self._new_history()
            with use_threads(resolve_threads(self.n_jobs)):
                model = self._train(cls, parts[0], parts[1], params, seed, history)
                note = degenerate_model_note(model, params, parts[0])
        self.fold_ = TrainedFold(model, self._specification(params, seed, preparation, reader))
        self.seed_, self.held_out_qid_, self.history_ = seed, held_out, history.frame()
        if note:
            warnings.warn(note, DegenerateModelWarning, stacklevel=3)  # the caller of `fit`
        return self

    def _train(
        self, cls: type[Model], train: Collection, vali: Collection, params: ModelParams, seed: int, history: History
    ) -> Model:
        """Return the trained model. A subclass can train in another way on the same parts."""
        return fit(cls, train, vali, params, seed, history)

    def _training_rows(
        self, X: Any, y: Any, qid: Any, sample_weight: Any
    ) -> tuple[type[Model], ModelParams, Reader, GroupedRows]:
        """Return the class and the parameters of the method, and the checked rows of the training data."""
        check_names(self.method, self._method_params)
        cls, params = resolve_method(self.method, self._method_params)
        reader = Reader(self, cls.takes_missing or _fill(self.missing) is not None, self._label_form)
        train = reader.rows(X, y, qid, sample_weight, is_new=True)
        check_has_order(train.collection)
        for text in train.warnings:
            warnings.warn(text, GradrankWarning, stacklevel=4)
        if train.collection.weights is not None:
            uneven = train.collection.uneven_query
            check_weights(cls, None if uneven is None else train.qids[uneven])
        return cls, params, reader, train

    def _prepared(
        self, cls: type[Model], reader: Reader, parts: Sequence[Collection], convention: Convention
    ) -> tuple[Preparation, list[Collection]]:
        """Return what the features become for the method, learned on the first part, and the parts with it."""
        names = parts[0].names or ()
        levels = {names.index(name): len(values) for name, values in reader.levels.items()}
        learned = Preparation.learn(parts[0].features, parts[0].labels, levels, _fill(self.missing), taken_as_is(cls))
        prepared = [
            replace(part.prepared(learned, reader.levels, number == 0), convention=convention)
            for number, part in enumerate(parts)
        ]
        return learned, with_gains(prepared, self.gain)

    def _new_history(self) -> History:
        return History(self.method, every_seconds=0.0 if self.verbose else np.inf)

    def refit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, folds: int = 5) -> Self:
        """Train the method on all queries, with a number of steps selected over folds, and return the estimator.

        `fit` holds out a fifth of the queries to select the number of rounds or epochs. `refit` divides the queries
        into folds and trains once per fold, with the queries of the fold as validation data. Then it trains on all
        queries, with the lower median of the selected numbers of steps. `fold_.spec["refit"]` contains this number and
        the validation values of the folds, with 95% intervals over queries. `save` writes them into spec.json and into
        a model card.

        X, y, qid, sample_weight: as in `fit`. folds: number of folds, at least 2.

        Raises
        ------
        GradrankError
            If an argument is invalid, or if the method cannot be trained on the data. The estimator stays as it was.

        Examples
        --------
        >>> import numpy as np
        >>> from gradrank import Ranker
        >>> X = np.random.default_rng(0).normal(size=(400, 3))
        >>> y = np.clip(np.round(X[:, 0] + X[:, 1] + 1), 0, 4).astype(int)
        >>> ranker = Ranker("lambdamart", random_state=1, rounds=20, min_data_in_leaf=5)
        >>> entry = ranker.refit(X, y, qid=np.repeat(np.arange(40), 10)).fold_.spec["refit"]
        >>> entry["queries"], len(entry["folds"]), 1 <= entry["step"] <= 20
        (40, 5, True)
        """
        with self._unchanged_by_errors():
            return self._refit(X, y, qid, sample_weight, folds)

    def _refit(self, X: Any, y: Any, qid: Any, sample_weight: Any, folds: int) -> Self:
        with input_errors():
            convention = named_convention(self.convention, self.gain)
            cls, params, reader, train = self._training_rows(X, y, qid, sample_weight)
            whole, seed = train.collection, resolve_seed(self.random_state)
            if not isinstance(folds, int) or not 2 <= folds <= whole.queries:
                raise GradrankError(
                    f"folds: {folds!r} is not a number from 2 to {whole.queries}, the number of queries. Fix: give one"
                )
            fold_of_query = np.random.default_rng(seed).permutation(whole.queries) % folds
            selections, settings = [], params.model_dump(mode="json")
            with use_threads(resolve_threads(self.n_jobs)):
                for number in range(folds):
                    is_held_out = fold_of_query == number
                    chosen = [whole.select_queries(each) for each in (~is_held_out, is_held_out)]
                    _, (part, vali) = self._prepared(cls, reader, chosen, convention)
                    history = self._new_history()
                    scores = fit(cls, part, vali, params, seed, history).score(vali.features, vali.offsets)
                    values = query_values(METRIC, scores, vali)
                    step = None if has_alternatives(cls) else selected_step(history.frame(), settings)
                    selections.append(FoldSelection(number + 1, seed, step, values))
                step = median_step(selections)
                preparation, (whole,) = self._prepared(cls, reader, [whole], convention)
                model = frozen_fit(cls, whole, params, seed, step, self._new_history())
                note = degenerate_model_note(model, params, whole)
        entry = refit_entry(selections, step, METRIC, convention, whole)
        self.fold_ = TrainedFold(model, self._specification(params, seed, preparation, reader) | {REFIT: entry})
        self.seed_, self.held_out_qid_, self.history_ = seed, train.qids[:0], History(self.method).frame()
        if note:
            warnings.warn(note, DegenerateModelWarning, stacklevel=3)
        return self

    def _specification(
        self, params: ModelParams, seed: int, preparation: Preparation, reader: Reader
    ) -> dict[str, Any]:
        """Return the entries of a training job's spec.json that also apply to data given as arrays."""
        spec = {"model": self.method, "params": params.model_dump(mode="json"), "features": self.n_features_in_}
        spec |= {"names": self.feature_names_in_.tolist()} if hasattr(self, "feature_names_in_") else {}
        spec |= {} if self.gain is None or callable(self.gain) else {"gain": self.gain}
        spec |= {} if self.unjudged is None else {"unjudged": self.unjudged}
        spec |= preparation.entries() | ({"levels": reader.levels} if reader.levels else {})
        return spec | {"missing": "keep", "seed": seed, "job_seed": seed, "convention": self.convention}

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return (n,) float64 scores in the order of the rows. A higher score means a better rank in the query.

        Parameters
        ----------
        X
            (n, d) features, as in `fit`. If the features have names, a data frame can also have columns with known
            names, such as `query_id`, `docid`, `label` or `rank`: the query ids are used, and the others are ignored.
            Any other column is refused by its name.
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
            reader = self._reader()
            X, qid = reader.query_column(X, qid)
            features = reader.features(X)
            if qid is None:
                if self.fold_.scores_whole_queries:
                    raise GradrankError(
                        f"qid: missing, but {self.method} scores the documents of a query together. Fix: {FIX_OF_QID}"
                    )
                return self._scored(features, np.array([0, len(features)]))
            _, offsets, rows = row_groups(same_length(integer_query_ids(qid, "qid"), len(features), "qid", ROWS))
            if rows is None:
                return self._scored(features, offsets)
            scores = np.empty(len(features))
            scores[rows] = self._scored(features[rows], offsets)
            return scores

    def scorer(self) -> Scorer:
        """Return a scorer for servers, which scores the documents of one query per call.

        Several threads may call it at the same time. A call has no set-up and fewer checks than `predict`: in addition
        to the model, an array of 100 documents takes 0.02 ms on one core. The class `Scorer` describes the argument of
        a call.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self)
        return Scorer(self.fold_)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 over queries under the convention of the estimator, in expectation over ties.

        The default convention, `standard`, has the gain 2^y - 1 and the discount 1/log2(rank + 1). A query without
        relevant documents has the value 0. The value of a query is the mean over all orders of equal scores. If equal
        scores kept the order of the rows, a model that orders nothing could win a grid search on rows that are sorted
        by grade. For other measures, use `gradrank.evaluate(y, ranker.predict(X, qid=qid), qid=qid)`.

        X, y, qid: as in `fit`. sample_weight: (q,) weights of the queries, or (n,) weights that are equal within each
        query. The mean over queries is weighted by these weights.
        """
        check_is_fitted(self)
        with input_errors():
            convention = named_convention(self.convention, self.gain).in_expectation()
            rows = self._reader().rows(X, y, qid, sample_weight)
            check_equal_within_queries(rows)
            data = rows.collection
            scores = self._scored(data.features, data.offsets)
            values = compute([METRIC], scores, data.labels, data.offsets, convention)[METRIC]
            return float(np.average(values, weights=data.query_weights))

    def save(self, folder: Path | str) -> None:
        """Write the trained model into a folder, in the format of results/<dataset>/methods/<model>/fold<k>.

        An earlier model in the folder is replaced. `gradrank predict --model` and `gradrank.load` read the folder. A
        model of `refit` has a model card, model_card.md: data, features, parameters, validation values and limits.
        Raises GradrankError if the folder contains files that gradrank has not written, or if `gain` is a function.
        """
        check_is_fitted(self)
        if callable(self.gain):
            raise InputError(
                "gain: a function cannot be saved. Fix: give a list with the gain of each grade, or train on the gains "
                "as y with gain='linear'"
            )
        refuse_fork("save")
        out = FoldFolder(Path(folder))
        with input_errors(), partial_folder(out.folder) as partial:
            self.history_.write_parquet(partial.history_path)
            if REFIT in self.fold_.spec:
                (partial.folder / CARD).write_text(model_card(self.fold_), encoding="utf-8")
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
        own |= {name: spec.get(name) for name in ("gain", "unjudged")}
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
        tags.input_tags.sparse = True
        takes_missing = self._is_known and get_model(self.method).takes_missing
        tags.input_tags.allow_nan = takes_missing or self.missing is not None
        return tags

    def _scored(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        with use_threads(resolve_threads(self.n_jobs)):
            return self.fold_.score(features, offsets)


def _fill(missing: Any) -> Fill | None:
    """Return the checked parameter `missing`."""
    if missing is not None and missing not in FILLS:
        raise GradrankError(f"missing: {missing!r} is unknown. Fix: give {', '.join(map(repr, FILLS))} or None")
    return missing


def load(folder: Path | str) -> Ranker:
    """Return the trained ranker in a folder.

    folder: a folder that `Ranker.save` wrote, or a fold of a workflow, such as results/mq2007/methods/lambdamart/fold1.
    Raises GradrankError if the folder contains no trained model, is damaged or was edited.

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
