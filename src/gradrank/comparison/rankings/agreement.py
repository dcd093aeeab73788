"""Agreement of two rankings of the same queries: rank correlations and rank-biased overlap per query."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import number
from gradrank.comparison.rank_correlation import kendall_tau, rank_biased_overlap, spearman_rho, tau_ap
from gradrank.comparison.rankings.evaluation import check_confidence, means_over_queries
from gradrank.comparison.rankings.inputs import held, judged, ranking, read_ids_and_scores
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.data.exact_values import numbered
from gradrank.data.tables.table import raw_table
from gradrank.measures.held_data import SCORE
from gradrank.measures.judgements import document_ids

LABELS = {"kendall_tau": "Kendall's tau", "spearman_rho": "Spearman's rho", "tau_ap": "tau_AP"}
KEYS = ["query", "docid"]


@dataclass(frozen=True, repr=False, eq=False)
class Agreement(Result):
    """The agreement of two rankings, as `agreement` returns it.

    Printing an Agreement shows `means`.

    per_query: frame with one row per query. The columns are `qid`, `kendall_tau`, `spearman_rho`, `tau_ap` and `rbo@p`,
    with the persistence p. Undefined values are null. persistence, confidence: as given to `agreement`. note: text with
    the mean numbers of documents per query in the first ranking, in the second, and in both.
    """

    per_query: pl.DataFrame
    persistence: float
    confidence: float
    note: str

    @cached_property
    def means(self) -> pl.DataFrame:
        """Frame with one row per measure: `metric`, `mean`, `low`, `high` and `queries`, as in an Evaluation."""
        return means_over_queries(self.per_query, self.confidence)

    def sections(self) -> list[Section]:
        """Return the table of the means."""
        caption = (
            f"Agreement of two rankings: means over queries, with {100 * self.confidence:g}% intervals by Student's t. "
            "The second ranking is the reference of tau_AP"
        )
        lines = [
            [
                LABELS.get(row["metric"], f"RBO(p={self.persistence:g})"),
                *map(number, (row["mean"], row["low"], row["high"])),
                f"{row['queries']:,}",
            ]
            for row in self.means.to_dicts()
        ]
        return [section(caption, ["measure", "mean", "low", "high", "queries"], 1, lines, "agreement", self.note)]


def agreement(
    a: Any,
    b: Any,
    y: Any = None,
    *,
    qid: Any = None,
    docid: Any = None,
    persistence: float = 0.9,
    confidence: float = 0.95,
) -> Agreement:
    """Measure how well two rankings agree: Kendall's tau, Spearman's rho, tau_AP and rank-biased overlap per query.

    Judgements are not needed. Kendall's tau-b, Spearman's rho and tau_AP compare the documents that both rankings have.
    All three are undefined if there are fewer than two such documents. Kendall's tau-b and Spearman's rho are also
    undefined if a ranking gives all these documents the same score. Rank-biased overlap compares the rankings as they
    are, and is extrapolated beyond their ends (RBO_ext). tau_AP and rank-biased overlap are means over all orders of
    equal scores.

    Parameters
    ----------
    a, b
        The two rankings, in one of the forms of `scores` in `evaluate`. tau_AP gives more weight to the top of `a`, and
        takes `b` as the reference.
    y
        Judgements, in one of the forms of `evaluate`. Only the queries of the judgements are compared, and the grades
        do not matter. Required for score files and arrays without ids, whose rows are in the order of the data.
    qid
        (n,) query ids, if `a` and `b` are arrays.
    docid
        (n,) document ids, if `a` or `b` is an array and the other one has ids.
    persistence
        The parameter p of rank-biased overlap, between 0 and 1. The larger it is, the more weight the lower ranks have.
    confidence
        Confidence level of the intervals of the means.

    Returns
    -------
    Agreement
        Values per query (`per_query`) and means with intervals (`means`), as Polars frames.

    Raises
    ------
    GradrankError
        If the rankings are malformed, have no query in common, or have no ids and neither `y` nor `qid` is given.

    Sources: Kendall 1945; Spearman 1904; Yilmaz, Aslam and Robertson 2008; Webber, Moffat and Zobel 2010; equal scores
    in rank-biased overlap as RBO^a of Corsi and Urbano 2024.

    Examples
    --------
    >>> import polars as pl
    >>> from gradrank import agreement
    >>> result = agreement({"q": ["x", "y", "z"]}, {"q": ["y", "x", "w"]}, persistence=0.5)
    >>> result.per_query.select("kendall_tau", "tau_ap", pl.col("rbo@0.5").round(4)).row(0)
    (-1.0, -1.0, 0.4167)
    """
    refuse_fork("agreement")
    check_confidence(confidence)
    if not isinstance(persistence, int | float) or not 0 < persistence < 1:
        raise GradrankError(f"persistence: expected a number between 0 and 1, found {persistence!r}. Fix: give 0.9")
    if y is None and qid is not None:
        y = np.zeros(len(qid), np.int64)
    if y is None:
        first, second = (_run(scores, name) for scores, name in ((a, "a"), (b, "b")))
        queries = pl.concat([first["query"], second["query"]]).unique(maintain_order=True)
        ((qids, names),) = numbered([queries.to_list()])
        ids = qids if names is None else np.array(names, dtype=object)
    else:
        data = judged(y, qid, docid, any_grade=True)
        first, second = (_judged_run(data, scores, name) for scores, name in ((a, "a"), (b, "b")))
        ids = data.judgements.ids
        queries = pl.Series(ids).cast(pl.String)
    if not first["query"].is_in(second["query"].implode()).any():
        raise GradrankError(
            f"a, b: the rankings have no query in common. The ids are of the form {first['query'][0]!r} in a and "
            f"{second['query'][0]!r} in b. Fix: write the same ids into both"
        )
    place = pl.DataFrame({"query": queries}).with_row_index("place")
    both = first.join(second, on=KEYS, how="full", suffix="_b", coalesce=True).join(place, on="query")
    both = both.sort("place", "docid")
    a_scores, b_scores = (both[name].fill_null(np.nan).to_numpy() for name in ("score", "score_b"))
    is_common = ~np.isnan(a_scores) & ~np.isnan(b_scores)
    offsets = np.append(0, np.cumsum(np.bincount(both["place"].to_numpy(), minlength=len(queries))))
    common = a_scores[is_common], b_scores[is_common], np.append(0, np.cumsum(is_common))[offsets]
    values = {
        "kendall_tau": kendall_tau(*common),
        "spearman_rho": spearman_rho(*common),
        "tau_ap": tau_ap(*common),
        f"rbo@{persistence:g}": rank_biased_overlap(a_scores, b_scores, offsets, float(persistence)),
    }
    table = pl.DataFrame({"qid": ids} | values).with_columns(pl.col(values).fill_nan(None))
    return Agreement(table, persistence, confidence, _note(a_scores, b_scores, is_common, len(queries)))


def _run(scores: Any, name: str) -> pl.DataFrame:
    """Return the columns `query`, `docid` and `score` of a ranking with ids. name: its name in error messages."""
    if isinstance(scores, str | Path):
        return read_ids_and_scores(scores)
    frame = held(scores, name, SCORE)
    if frame is None:
        raise GradrankError(
            f"{name}: the ranking has no ids of queries and documents. Fix: give qid, or a ranking with ids"
        )
    return read_ids_and_scores(raw_table(frame, name))


def _judged_run(data: Any, scores: Any, name: str) -> pl.DataFrame:
    """Return the columns of `_run` for a ranking of the queries of judgements."""
    judgements, values, ranked = ranking(data, scores, name)
    docids = document_ids(judgements.docids, len(values))
    frame = pl.DataFrame({"query": judgements.id_of_row, "docid": docids, "score": values})
    return frame if ranked is None else frame.filter(ranked)


def _note(a: np.ndarray, b: np.ndarray, is_common: np.ndarray, queries: int) -> str:
    counts = [np.sum(each) / queries for each in (~np.isnan(a), ~np.isnan(b), is_common)]
    return "Documents per query: {:.1f} in the first ranking, {:.1f} in the second, {:.1f} in both".format(*counts)
