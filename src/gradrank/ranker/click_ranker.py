"""ClickRanker: methods of gradrank that learn from a click log."""

import sys
import warnings
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gradrank.base.errors import GradrankError, GradrankWarning, unknown
from gradrank.clicks.debias import CLIP, ClickLabels, Form, debias, document_table
from gradrank.clicks.log import ClickLog
from gradrank.clicks.propensities import checked_propensities, estimate_propensities
from gradrank.clicks.session_lists import session_lists
from gradrank.clicks.session_training import TRAINERS, SessionPart, train_on_sessions
from gradrank.data.collection import Collection
from gradrank.ranker.inputs import held_out_queries, input_errors
from gradrank.ranker.ranker import Ranker
from gradrank.ranker.trained_model import check_names, resolve_method, resolve_seed
from gradrank.training.best_of import FrozenStep, History
from gradrank.training.label_gains import MOST_LEVELS
from gradrank.training.model import Model, ModelParams

Correction = Literal["none", "ips", "affine", "dr", "pairwise", "position", "dual"]
ON_LABELS = ("none", "ips", "affine", "dr")
OWN_PARAMETERS = ("method", "correction", "clip", "form", "regularization", "random_state", "n_jobs", "missing")


class ClickRanker(BaseEstimator):
    """A method of gradrank that learns from clicks in place of grades.

    The model is selected on held-out queries by the NDCG of estimated relevance, so training sees no grades.

    Parameters
    ----------
    method
        The name of a method, such as "lambdamart". `gradrank.models()` lists them.
    correction
        The correction of the position bias:
        `none`: clicks count as relevance (the naive method).
        `ips`: inverse propensities (Joachims et al. 2017; Oosterhuis and de Rijke 2020), for every method that accepts
        gains and weights of queries.
        `affine`: the same, with the affine correction for trust bias (Vardasbi et al. 2020); `fit` needs `beta`.
        `dr`: doubly robust (Oosterhuis 2023): `ips`, and the estimates `relevance` of another model for documents whose
        exposure is below `clip`, or that were never shown.
        `pairwise`: the bias of clicked and unclicked positions is learned with the trees (Hu et al. 2019). For
        `lambdamart` and `lambdamart_faithful`, and for `xgboost_ndcg` as its parameter lambdarank_unbiased.
        `position`: LightGBM's `position`, for `lambdamart` and `lambdamart_faithful`: one bias per position is added to
        the scores in training, and not in prediction.
        `dual`: the dual learning algorithm (Ai et al. 2018), for `softmax` and each of its scorers.
    clip
        Least exposure of a document, see `gradrank.clicks.debias`.
    form
        The form of the labels of `none`, `ips`, `affine` and `dr`, see `gradrank.clicks.debias`. None means
        `documents` for methods that read labels as numbers or gains, and `clicked_documents` for those that read their
        order.
    regularization
        `position`: lambdarank_position_bias_regularization of LightGBM (None means 0). `pairwise`: p of Hu et al. 2019,
        0 for no regularization (None means 1).
    random_state, n_jobs, missing
        As in `gradrank.Ranker`.
    **params
        Parameters of the method. The default of `select_by` is `ndcg@10`, because MAP has no fractional relevance.

    Attributes
    ----------
    ranker_
        The trained `gradrank.Ranker`, with `save`, `export`, `explain` and the other methods.
    propensities_
        The (k,) propensities of the positions: those of `fit`, or the ones that the correction has learned. For
        `pairwise`, t+ of Hu et al. None if the correction has none, or if nothing identifies them.
    held_out_qid_
        The ids of the queries whose clicks have selected the model. Empty if `fit` had an eval_set.

    Examples
    --------
    >>> import numpy as np
    >>> from gradrank import ClickRanker
    >>> from gradrank.clicks import simulate
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y, qid = np.clip(np.round(X[:, 0] + 1), 0, 4).astype(int), np.repeat(np.arange(40), 10)
    >>> made = simulate(y, X[:, 1], qid=qid, sessions=20_000, seed=1)
    >>> ranker = ClickRanker("regression", correction="ips", random_state=1)
    >>> ranker = ranker.fit(X, made.log, qid=qid, propensity=made.propensities)
    >>> bool(ranker.score(X, y, qid=qid) > 0.95)
    True
    """

    form: Form | None

    def __init__(
        self,
        method: str = "lambdamart",
        *,
        correction: Correction = "ips",
        clip: float = CLIP,
        form: Form | None = None,
        regularization: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        missing: Literal["mean", "median", "indicator"] | None = None,
        **params: Any,
    ) -> None:
        self.method = method
        self.correction = correction
        self.clip = clip
        self.form = form
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.missing = missing
        self._method_params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator, and the given parameters of the method."""
        return {name: getattr(self, name) for name in OWN_PARAMETERS} | self._method_params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the estimator. `fit` checks them."""
        for name in OWN_PARAMETERS:
            if name in params:
                setattr(self, name, params.pop(name))
        self._method_params = self._method_params | params
        return self

    def fit(
        self,
        X: Any,
        clicks: Any,
        *,
        qid: Any,
        docid: Any = None,
        position: Any = None,
        session: Any = None,
        impressions: Any = None,
        propensity: Any = None,
        beta: Any = None,
        relevance: Any = None,
        eval_set: tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Train the method, and return the estimator.

        Parameters
        ----------
        X
            (n, d) features, as in `Ranker.fit`. With a ClickLog, X has one row per document of a query. Otherwise, it
            has one row per row of clicks.
        clicks
            A `ClickLog`, or (n,) clicks.
        qid
            (n,) ids of the queries. Without a `session`, each query is one list that was shown once.
        docid
            (n,) ids of the documents. With a ClickLog, the default is the row number. Without a ClickLog, rows of equal
            `qid` and `docid` are one document with the features of its first row; by default, each row is a document of
            its own, and the lists of two sessions have nothing in common.
        position, session, impressions
            (n,) positions from 1, ids of sessions, and numbers of impressions. Only without a ClickLog.
        propensity
            (k,) probabilities that a user examines a position, a result of `estimate_propensities`, or the name of one
            of its methods, such as "harvest". The corrections `ips` and `dr` need it. With `affine`, these are the
            numbers alpha. The corrections `pairwise`, `position` and `dual` use it only for the selection on held-out
            queries; None then means "harvest", and, if the log does not identify it, that all rounds or epochs are
            trained.
        beta
            (k,) probabilities of a click on an irrelevant document, for `affine`.
        relevance
            (n,) estimated probabilities of relevance of the rows of X, for `dr`.
        eval_set
            Validation data (X, y, qid) with grades or estimates, in place of the held-out queries.

        Raises
        ------
        GradrankError
            If an argument is invalid, or if the method cannot be trained on the data.
        """
        with input_errors():
            valid = (*ON_LABELS, *TRAINERS)
            if self.correction not in valid:
                raise GradrankError(
                    f"correction: {unknown('correction', self.correction, valid)}. Fix: use a known correction"
                )
            check_names(self.method, self._method_params)
            if isinstance(clicks, ClickLog):
                if any(given is not None for given in (position, session, impressions)):
                    raise GradrankError(
                        "position, session, impressions: given, but clicks is a ClickLog, which has them. Fix: leave "
                        "them out"
                    )
                log, table = clicks, document_table(clicks, qid, docid)
            else:
                log, table = _log_of_rows(clicks, qid, docid, position, session, impressions)
            if (self.correction == "dr") != (relevance is not None):
                raise GradrankError("relevance: goes with the correction 'dr'. Fix: give both, or none of them")
            if relevance is not None:
                table = table.with_columns(model=pl.Series(np.asarray(relevance, dtype=float)).gather(table["row"]))
            theta = self._propensities(log, propensity, beta)
            seed = resolve_seed(self.random_state)
            held_out, parts = _parts(log, table, seed, eval_set is not None)
            vali = eval_set or self._validation(X, parts[-1], table, theta, beta)
            train = self._train_on_labels if self.correction in ON_LABELS else self._train_on_sessions
            self.propensities_ = theta
            fitted = train(X, parts[0], table, theta, beta, vali, seed)
        self.ranker_ = Ranker(self.method, gain="linear", **self._options(seed), **self._params())
        vars(self.ranker_).update({name: value for name, value in vars(fitted).items() if name.endswith("_")})
        self.held_out_qid_ = held_out
        return self

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return (n,) scores, as `Ranker.predict` does. They do not depend on positions."""
        check_is_fitted(self)
        return self.ranker_.predict(X, qid=qid)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 on labels y as gains, as `Ranker.score` does with the gain "linear"."""
        check_is_fitted(self)
        return self.ranker_.score(X, y, qid=qid, sample_weight=sample_weight)

    def _params(self) -> dict[str, Any]:
        """Return the parameters of the method, with NDCG for the selection of the model."""
        cls, _ = resolve_method(self.method, self._method_params)
        default = {"select_by": "ndcg@10"} if "select_by" in cls.Params.model_fields else {}
        return default | self._method_params

    def _options(self, seed: int) -> dict[str, Any]:
        return {"random_state": seed, "n_jobs": self.n_jobs, "missing": self.missing}

    def _propensities(self, log: ClickLog, propensity: Any, beta: Any) -> np.ndarray | None:
        """Return the checked propensities; None if the correction needs none, or if they are not identified."""
        if (self.correction == "affine") != (beta is not None):
            raise GradrankError("beta: goes with the correction 'affine'. Fix: give both, or none of them")
        if self.correction == "none":
            return None
        if propensity is None and self.correction in ON_LABELS:
            raise GradrankError(
                f"propensity: missing, and the correction {self.correction!r} needs it. Fix: give propensity='harvest' "
                "to estimate it from the log, or known propensities"
            )
        if propensity is None:
            try:
                return checked_propensities(estimate_propensities(log, "harvest", samples=0), log.depth)
            except GradrankError:
                warnings.warn(
                    "propensity: the log does not identify the propensities, so the held-out queries cannot select the "
                    "model, and all rounds or epochs are trained. Fix: give propensity, or choose the number of rounds",
                    GradrankWarning,
                    stacklevel=3,
                )
                return None
        if isinstance(propensity, str):
            propensity = estimate_propensities(log, propensity, samples=0)  # type: ignore[arg-type]
        return checked_propensities(propensity, log.depth)

    def _validation(
        self, X: Any, log: ClickLog, table: pl.DataFrame, theta: np.ndarray | None, beta: Any
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the documents of the held-out queries with estimates of their relevance."""
        found = _debias(log, table.drop("model", strict=False), theta, beta, "documents", self.clip)
        return _taken(X, found.rows), found.labels, found.lists

    def _train_on_labels(
        self, X: Any, log: ClickLog, table: pl.DataFrame, theta: np.ndarray | None, beta: Any, vali: Any, seed: int
    ) -> Ranker:
        """Train the method on the labels of `debias`."""
        cls, params = resolve_method(self.method, self._method_params)
        form: Form = "clicked_documents" if cls.label_reading(params) == "order" else "documents"
        found = _debias(log, table, theta, beta, form if self.form is None else self.form, self.clip)
        labels, vali_labels = _with_few_levels(found.labels, np.asarray(vali[1], dtype=float))
        weights = found.weights / found.weights[np.r_[True, np.diff(found.lists) > 0]].mean()
        ranker = Ranker(self.method, gain="linear", **self._options(seed), **self._params())
        features = _taken(X, found.rows)
        weight = None if np.all(weights == weights[0]) else weights
        return ranker.fit(
            features, labels, qid=found.lists, sample_weight=weight, eval_set=(vali[0], vali_labels, vali[2])
        )

    def _train_on_sessions(
        self, X: Any, log: ClickLog, table: pl.DataFrame, theta: np.ndarray | None, beta: Any, vali: Any, seed: int
    ) -> Ranker:
        """Train the method on the lists of the sessions."""
        lists = session_lists(log, table)
        ranker = _SessionRanker(self.method, gain="linear", **self._options(seed), **self._params())
        ranker.session_training = self.correction, lists.places, self.regularization, theta is not None
        features = _taken(X, lists.rows)
        labels, vali_labels = lists.clicks.astype(float), _with_few_levels(np.asarray(vali[1], dtype=float))[0]
        ranker.fit(
            features, labels, qid=lists.lists, sample_weight=lists.weights, eval_set=(vali[0], vali_labels, vali[2])
        )
        if ranker.learned is not None:
            self.propensities_ = ranker.learned
        return ranker


class _SessionRanker(Ranker):
    """A Ranker whose rows are the lists of sessions.

    session_training: correction, (n,) positions from 0, regularization, and whether the validation part selects.
    learned: the propensities that the training has learned.
    """

    session_training: tuple[str, np.ndarray, float | None, bool]
    learned: np.ndarray | None = None

    def _train(
        self, cls: type[Model], train: Collection, vali: Collection, params: ModelParams, seed: int, history: History
    ) -> Model:
        correction, places, regularization, selects = self.session_training
        part = SessionPart(train, places, regularization)
        vali = vali if selects else FrozenStep.of(vali, sys.maxsize)
        model, self.learned = train_on_sessions(correction, cls, part, vali, params, seed, history)
        return model


def _log_of_rows(
    clicks: Any, qid: Any, docid: Any, position: Any, session: Any, impressions: Any
) -> tuple[ClickLog, pl.DataFrame]:
    """Return the log in columns, and the table of its documents (see `document_table`)."""
    if position is None:
        raise GradrankError("position: missing. Fix: give the position of each row, from 1, or a ClickLog")
    columns = {"qid": qid, "docid": docid, "position": position, "clicks": clicks}
    columns |= {"session": session, "impressions": impressions}
    frame = pl.DataFrame({name: _series(values, name) for name, values in columns.items() if values is not None})
    if docid is None:
        frame = frame.with_columns(docid=pl.int_range(pl.len()))
        if session is not None:
            frame = frame.with_columns(qid=pl.struct("session", "qid").rank("dense").cast(pl.Int64))
    if session is None and impressions is None:
        frame = frame.with_columns(session=pl.col("qid"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GradrankWarning)  # that orders do not vary; `fit` says what it cannot estimate
        log = ClickLog.read(frame)
    first = frame.with_row_index("row").unique(["qid", "docid"], keep="first", maintain_order=True)
    table = document_table(log, first["qid"], first["docid"])
    return log, table.with_columns(row=first["row"].cast(pl.Int64))


def _series(values: Any, name: str) -> pl.Series:
    """Return a column of the log. Raises GradrankError for anything but one dimension."""
    series = values if isinstance(values, pl.Series) else pl.Series(np.asarray(values))
    if isinstance(series.dtype, pl.Array | pl.List):
        raise GradrankError(f"{name}: expected one value per row. Fix: give a one-dimensional array")
    return series.rename(name)


def _parts(log: ClickLog, table: pl.DataFrame, seed: int, is_whole: bool) -> tuple[np.ndarray, list[ClickLog]]:
    """Return the ids of the held-out queries, and the log of the others and that of these queries.

    is_whole: True to hold out nothing.
    """
    queries = table.join(log.rows.select("qid").unique(), on="qid", how="semi", maintain_order="left")
    ids = queries["qid"].unique(maintain_order=True)
    if is_whole:
        return np.array([]), [log]
    chosen = held_out_queries(len(ids), seed)
    parts = [
        ClickLog(log.rows.join(pl.DataFrame({"qid": ids.filter(part)}), on="qid", how="semi", maintain_order="left"))
        for part in (~chosen, chosen)
    ]
    return ids.filter(chosen).to_numpy(), parts


def _debias(
    log: ClickLog, table: pl.DataFrame, theta: np.ndarray | None, beta: Any, form: Form, clip: float
) -> ClickLabels:
    """Return the labels of `debias`, whose rows are numbers of rows of X. The positions of the log may be fewer."""
    depth = log.depth
    offset = None if beta is None else np.asarray(beta, dtype=float)[:depth]
    found = debias(
        log,
        None if theta is None else theta[:depth],
        qid=table["qid"],
        docid=table["docid"],
        beta=offset,
        relevance=table["model"] if "model" in table.columns else None,
        form=form,
        clip=clip,
    )
    return ClickLabels(
        table["row"].to_numpy()[found.rows],
        found.labels,
        found.lists,
        found.weights,
        found.queries,
        found.clipped,
        found.negative,
    )


def _with_few_levels(*labels: np.ndarray) -> list[np.ndarray]:
    """Return the labels rounded to as many significant digits as the largest number of levels allows."""
    values = np.concatenate(labels)
    for digits in (6, 5, 4, 3, 2, 1):
        if len(np.unique(values)) <= MOST_LEVELS:
            break
        size = np.floor(np.log10(np.where(values > 0, values, 1.0)))
        unit = 10.0 ** (size - digits + 1)
        values = np.round(values / unit) * unit
    return np.split(values, np.cumsum([len(each) for each in labels])[:-1])


def _taken(X: Any, rows: np.ndarray) -> Any:
    """Return rows of the features, in the type of X."""
    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    if isinstance(X, pl.DataFrame | np.ndarray) or issparse(X):
        return X[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take"):  # a table of Arrow
        return X.take(rows)
    return np.asarray(X)[rows]
