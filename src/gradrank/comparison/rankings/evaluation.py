"""Evaluation of one ranking: values per query, means and intervals, and the output of LETOR's evaluation program."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.conventions import selection_convention
from gradrank.base.errors import GradrankError
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import number
from gradrank.comparison.rankings.inputs import Judged, judged, ranking, with_fix
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.comparison.rankings.tied_scores import (
    TiedMean,
    TiedScores,
    tied_scores,
    tied_scores_note,
    warn_of_tied_scores,
)
from gradrank.comparison.statistics import mean_interval
from gradrank.measures.conventions import DEFAULT, Convention, resolve
from gradrank.measures.metrics import metric_label, metric_names
from gradrank.measures.query_values import query_table, short_lists_note, zeros_of_short_lists
from gradrank.training.fold_folder import FoldFolder


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Result):
    """The values of one ranking under one convention, as `evaluate` returns them.

    Printing an Evaluation shows `means`. In a notebook, it is shown as an HTML table.

    per_query: frame with one row per query. The columns are `qid` and one per metric. The queries have the order of
    their first rows. Undefined values are null. convention: the choices of the evaluation program. confidence:
    confidence level of the intervals. note: a line about queries with the value 0 because they have few documents, and
    a line about equal scores; may be empty. tied: the means that depend on the order of equal scores, by metric; each
    has the fields `mean`, `expected` (the mean over all orders) and `queries` (the number of queries whose value
    depends on the order).
    """

    per_query: pl.DataFrame
    convention: Convention
    confidence: float
    note: str = ""
    tied: Mapping[str, TiedMean] = field(default_factory=dict)

    @cached_property
    def means(self) -> pl.DataFrame:
        """Frame with one row per metric: `metric`, `mean`, `low`, `high` and `queries`.

        `mean` is the mean over the queries with a value, and `queries` is the number of these queries. `low` and `high`
        are the bounds of the interval of the mean by Student's t over queries (`statistics.mean_interval`). They are
        null for fewer than two queries.
        """
        return means_over_queries(self.per_query, self.confidence)

    def sections(self) -> list[Section]:
        """Return the table of the means."""
        caption = (
            f"Means over {len(self.per_query):,} queries under the convention `{self.convention.name}`, with "
            f"{100 * self.confidence:g}% intervals by Student's t"
        )
        lines = [
            [metric_label(row["metric"]), *map(number, (row["mean"], row["low"], row["high"])), f"{row['queries']:,}"]
            for row in self.means.to_dicts()
        ]
        return [section(caption, ["metric", "mean", "low", "high", "queries"], 1, lines, "evaluation", self.note)]


def means_over_queries(per_query: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """Return the frame `means` of an Evaluation from its frame `per_query`."""
    names = per_query.columns[1:]
    values = [per_query[name].drop_nulls().to_numpy() for name in names]
    mean, low, high = zip(*(mean_interval(of_metric, confidence) for of_metric in values), strict=True)
    columns = {"metric": names, "mean": mean, "low": low, "high": high, "queries": [len(each) for each in values]}
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(("mean", "low", "high"), pl.Float64)).fill_nan(None)


def check_confidence(confidence: Any) -> None:
    """Raise GradrankError if the confidence level is not a number between 0 and 1."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise GradrankError(f"confidence: expected a number between 0 and 1, found {confidence!r}. Fix: give 0.95")


def evaluate(
    y: Any,
    scores: Any,
    *,
    qid: Any = None,
    metrics: Iterable[Any] | str = ("ndcg@10", "map"),
    convention: str | Convention | None = None,
    confidence: float = 0.95,
    docid: Any = None,
) -> Evaluation:
    """Evaluate a ranking with one or more metrics under a named convention.

    Arrays can be given as NumPy arrays, lists, Polars Series, pandas Series or Arrow arrays. The rows can be in any
    order; the rows of a query need not be next to each other. Under conventions with `ties="file"`, the order of the
    rows decides between equal scores. If this order changes a value, the result has a note with the mean over all
    orders.

    Parameters
    ----------
    y
        (n,) relevance grades (integers from 0 to 31), or judgements with ids: a dict of dicts, a data frame of pandas,
        Polars, Arrow, PyTerrier or Hugging Face, Qrels of ranx, or an iterable of Qrel of ir_measures. It can also be
        the path of TREC qrels, of a table (Parquet, Feather, JSON, JSON lines, CSV or TSV), of a data file in any form
        that training reads, or of a stored collection. A document is relevant if its grade is 1 or more.
    scores
        (n,) finite numbers, or a ranking with ids in one of the forms of `y`, or the path of a score file: a TREC run,
        one score per line, or a table with columns such as `qid`, `docid` and `score`. A higher score means a better
        rank. Documents that a ranking with ids leaves out, and documents without a judgement, are treated as in
        trec_eval.
    qid
        (n,) query ids: integers or text. Required if `y` is an array, and not allowed if the data in `y` have ids.
    metrics
        Names of metrics, such as `ndcg@10` or `map(rel=2)`; `gradrank.metrics()` lists them. Names from the literature,
        of trec_eval (`ndcg_cut_10`, or `ndcg_cut` for all its cutoffs), of ir_measures (`nDCG@10`, `AP(rel=2)`, or its
        objects) and of ranx are accepted. The results have gradrank's names.
    convention
        Name of a convention, such as `letor4` or `trec`, or a Convention. `gradrank.conventions()` lists the names. The
        default is `standard`. If `scores` is the file scores.parquet of a trained fold, the default is the convention
        with which the model of the fold was selected.
    confidence
        Confidence level of the intervals of the means.
    docid
        (n,) document ids. The ids break ties under `trec`, and match the documents of a TREC run to the rows of `y`.

    Returns
    -------
    Evaluation
        Values per query (`per_query`) and means with intervals (`means`), as Polars frames.

    Raises
    ------
    GradrankError
        If the data are malformed, or if a metric or convention is unknown.

    Examples
    --------
    >>> from gradrank import evaluate
    >>> result = evaluate([2, 0, 1, 0], [0.5, 0.9, 0.7, 0.1], qid=[1, 1, 1, 2], metrics=["ndcg@3", "AP"])
    >>> result.per_query["ndcg@3"].round(4).to_list()
    [0.5869, 0.0]
    >>> result.means["mean"].round(4).to_list()
    [0.2934, 0.2917]
    """
    refuse_fork("evaluate")
    names = requested_metrics(metrics)
    resolved = requested_convention(default_convention(scores) if convention is None else convention)
    check_confidence(confidence)
    found = values_per_query(judged(y, qid, docid, resolved.takes_any_grade), scores, "scores", resolved, names)
    note = notes(found.short, {"": found.tied}, resolved, 2)
    return Evaluation(found.table, resolved, confidence, note, found.tied.means)


def default_convention(scores: Any, fold: Path | None = None) -> str:
    """Return the name of the convention with which the model behind `scores` was selected, or else DEFAULT.

    scores: as in `evaluate`. Only the path of the file scores.parquet of a trained fold leads to a model. fold: the
    folder of the trained fold that computed the scores, if it is known. Raises GradrankError if `fold` is no such
    folder.
    """
    if fold is not None:
        trained = FoldFolder(fold)
        if not trained.finished:
            raise GradrankError(f"{fold}: no trained model in this folder. Fix: give a trained fold, or a convention")
    else:
        trained = FoldFolder(Path(scores).parent) if isinstance(scores, str | Path) else None
        if trained is None or not trained.finished or Path(scores) != trained.scores_path:
            return DEFAULT
    return selection_convention(trained.spec())


class ValuesPerQuery(NamedTuple):
    """The values of one ranking.

    table: frame with one row per query: `qid`, and one column per metric. short: the result of `short_lists_note`.
    tied: the effect of equal scores. is_ranked: (q,) booleans, True for queries with a document in the ranking.
    """

    table: pl.DataFrame
    short: str
    tied: TiedScores
    is_ranked: np.ndarray


def values_per_query(
    judged: Judged, scores: Any, name: str, convention: Convention, metrics: Sequence[str]
) -> ValuesPerQuery:
    """Return the values of one ranking.

    metrics: names in gradrank's own spelling. name: name of the scores in error messages.
    """
    judgements, values, ranked = ranking(judged, scores, name)
    if convention.ties == "docid" and (is_large := np.abs(values) > np.finfo(np.float32).max).any():
        raise GradrankError(
            f"{name}: the score {values[is_large][0]:g} is beyond the range of float32, in which trec_eval compares "
            "scores. Fix: give smaller scores, such as the ranks, or another convention"
        )
    table = query_table(judgements, values, convention, metrics, ranked)
    zeros = zeros_of_short_lists(metrics, judgements.labels, judgements.offsets, convention)
    by_metric = {metric: table[metric].fill_null(np.nan).to_numpy() for metric in metrics}
    documents = judgements.labels, judgements.offsets, convention, ranked, judgements.status, judgements.stratum
    return ValuesPerQuery(
        table.select(pl.Series("qid", judgements.ids), *metrics),
        short_lists_note(zeros, len(table), convention.name),
        tied_scores(by_metric, values, *documents),
        np.ones(len(table), bool) if ranked is None else np.logical_or.reduceat(ranked, judgements.offsets[:-1]),
    )


def notes(short: str, tied: Mapping[str, TiedScores], convention: Convention, stacklevel: int) -> str:
    """Return the notes on short lists and on equal scores, one per line, and warn if equal scores matter noticeably.

    short: the result of `short_lists_note`. tied: the effects of equal scores, by the name of the ranking.
    """
    about_ties = tied_scores_note(tied, convention)
    warn_of_tied_scores(tied, about_ties, stacklevel + 1)
    return "\n".join(filter(None, (short, about_ties)))


@with_fix("give a name that gradrank.conventions() lists")
def requested_convention(convention: str | Convention) -> Convention:
    """Return the convention with this name, or the given Convention. Raises GradrankError for an unknown name."""
    return resolve(convention)


@with_fix("give a name that gradrank.metrics() lists, or that another program has for one of these metrics")
def requested_metrics(metrics: Iterable[Any] | str, argument: str = "metrics") -> list[str]:
    """Return the metric names in gradrank's own spelling. argument: name of the argument in error messages."""
    if hasattr(metrics, "NAME"):  # one object of ir_measures
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise GradrankError(f"{argument}: expected a list of names, found {metrics!r}. Fix: give metrics=['ndcg@10']")
    given = [metrics] if isinstance(metrics, str) else metrics
    names = [each for name in given for spelled in _spellings(name) for each in metric_names(spelled)]
    if not names:
        raise GradrankError(f"{argument}: no metric is given. Fix: give at least one name, such as metrics=['ndcg@10']")
    for name in names:
        if names.count(name) > 1:
            raise GradrankError(f"{argument}: {name!r} is given twice. Fix: leave one of them out")
    return names


def _spellings(name: Any) -> list[Any]:
    """Return names that `metric_names` knows for a name or object whose meaning differs in another program.

    The parameter of trec_eval's set_F is the square of beta, and ir_measures passes its beta on as this parameter. The
    object SetRelP of ir_measures is written as a SetP, and a cutoff after the brackets replaces one within them.
    """
    text = str(name) if hasattr(name, "NAME") else name
    if not isinstance(text, str):
        return [name]
    text = re.sub(r"(?:cutoff|k)=\d+,?(?=[^()]*\)@\d)", "", re.sub(r"\s", "", text))
    if re.match(r"setp\(.*relative=true", text, re.IGNORECASE):
        return [re.sub(r"relative=true,?", "", "set_relative_p" + text[len("setp") :], flags=re.IGNORECASE)]
    squares = re.match(r"set_f[._]([\d.,]+)|setf\(.*?beta=([\d.]+),?", text, re.IGNORECASE)
    if not squares:
        return [text if isinstance(name, str) else name]
    options = "".join(re.findall(r"\(.*", re.sub(r"beta=[\d.]+,?", "", text)))
    betas = [sqrt(float(square)) for square in (squares[1] or squares[2]).split(",")]
    return [f"f{str(beta).removesuffix('.0')}{options}" for beta in betas]


LETOR_TABLES = (
    {f"P@{k}": f"p@{k}" for k in range(1, 11)} | {"MAP": "map"},
    {f"NDCG@{k}": f"ndcg@{k}" for k in range(1, 11)} | {"MeanNDCG": "mean_ndcg"},
)
LETOR_METRICS = [name for table in LETOR_TABLES for name in table.values()]


def letor_report(y: Any, scores: Path | str, convention: str | Convention = "letor4") -> str:
    """Return the two tables that LETOR's evaluation program prints, character for character.

    The arguments and errors are those of `evaluate`.
    """
    return letor_tables(evaluate(y, scores, metrics=LETOR_METRICS, convention=convention).per_query)


def letor_tables(values: pl.DataFrame) -> str:
    """Return the two tables of `letor_report` from the values per query of all LETOR_METRICS."""
    lines = []
    for table in LETOR_TABLES:
        means = (f"{values[name].mean():.4f}" for name in table.values())
        lines += ["\t".join(["qid", *table]), "\t".join(["Average", *means]), ""]
    return "\n".join(lines) + "\n"
