"""The methods of `gradrank.Ranker` that export or explain a trained model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gradrank.base.threads import use_threads
from gradrank.comparison.rankings.tied_scores import warn_of_tied_scores
from gradrank.explanations.importance import Importance, group_columns, importance
from gradrank.explanations.pairs import PairExplanation, explain_documents
from gradrank.ranker.export import export_fold
from gradrank.ranker.inputs import Reader, input_errors, query_rows
from gradrank.ranker.parameters import resolve_threads
from gradrank.training.trained_fold import TrainedFold

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
