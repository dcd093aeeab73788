"""Labels and weights from clicks, with which methods for grades learn from a click log.

The estimate of the relevance of a document is the number of its clicks, divided by the number of clicks that a relevant
document would have had at the same positions. A loss that is a sum over relevant documents then has the expectation
that it has with the true probabilities of relevance.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, unknown
from gradrank.clicks.log import SHOWN, ClickLog
from gradrank.clicks.propensities import checked_propensities

Form = Literal["documents", "clicked_documents"]
CLIP = 0.01


@dataclass(frozen=True, eq=False)
class ClickLabels:
    """The training data of `debias`, with one row per document of a list. The rows of a list are contiguous.

    rows: (m,) numbers of the documents in X. labels: (m,) estimated relevance, or 0 and 1. lists: (m,) numbers of the
    lists, from 0. weights: (m,) weights, which are equal within a list. queries: (m,) positions of the queries among
    the ids of `qid`, in the order of their first rows. clipped: share of the clicks on documents whose exposure was
    raised to `clip`. negative: share of the documents whose estimate was negative and is 0.
    """

    rows: np.ndarray
    labels: np.ndarray
    lists: np.ndarray
    weights: np.ndarray
    queries: np.ndarray
    clipped: float
    negative: float


def debias(
    log: ClickLog,
    propensities: Any = None,
    *,
    qid: Any,
    docid: Any = None,
    beta: Any = None,
    relevance: Any = None,
    form: Form = "documents",
    clip: float = CLIP,
) -> ClickLabels:
    """Return labels and weights with which a method for grades learns from clicks.

    Only documents that the log shows are returned, because the clicks say nothing about the others. With `relevance`,
    all documents of the queries in the log are returned.

    Parameters
    ----------
    log
        The click log.
    propensities
        (k,) probabilities that a user examines a position, or a result of `estimate_propensities`. None means 1 for
        all positions: the labels are then the click rates per session (the naive method). With `beta`, these are the
        numbers alpha.
    qid, docid
        (n,) ids of the query and the document of each row of X. By default, the id of a document is its row number.
    beta
        (k,) probabilities of a click on an irrelevant document. Each click rate is then alpha gamma + beta, and
        (rate - beta) / alpha is the estimate of gamma: the affine correction for trust bias (Vardasbi et al. 2020).
    relevance
        (n,) estimates of gamma of a model, for the doubly robust estimate (Oosterhuis 2023). They take the place of the
        clicks where the exposure is below `clip`: the estimate is (clicks / sessions + (clip - exposure) relevance) /
        clip. It is unbiased if the model is right, or if no exposure is below `clip`.
    form
        `documents`: one list per query. The label of a document is its estimated relevance gamma, and the weight is the
        number of sessions. For losses that are linear in the labels, such as those of `softmax` and `regression`.
        `clicked_documents`: one list per document with an estimate above 0. The document has the label 1 and the others
        of its query 0. The weight is sessions times gamma. For losses that only read the order of labels: the sum over
        pairs bounds the rank of each clicked document (Joachims et al. 2017). The number of rows is the sum over
        queries of shown documents times clicked documents.
    clip
        Least exposure; smaller ones are raised to it. The exposure of a document is the sum over positions of the share
        of the sessions that show it there, times the propensity (Oosterhuis and de Rijke 2020). A higher value lowers
        the variance, and underestimates the relevance of documents that are shown rarely or at low positions.

    Raises
    ------
    GradrankError
        If an argument is invalid, if X lacks a document of the log, or if no document has an estimate above 0.

    Examples
    --------
    >>> from gradrank.clicks import debias, simulate
    >>> made = simulate([0, 2], [2.0, 1.0], qid=[1, 1], sessions=100_000, seed=1, noise=0.1)
    >>> debias(made.log, qid=[1, 1]).labels.round(1).tolist()
    [0.1, 0.5]
    >>> debias(made.log, made.propensities, qid=[1, 1]).labels.round(1).tolist()
    [0.1, 1.0]
    """
    if form not in get_args(Form):
        raise GradrankError(f"form: {unknown('form', form, get_args(Form))}. Fix: use a known form")
    if not 0 < clip < 1:
        raise GradrankError(f"clip: expected a number between 0 and 1, found {clip!r}. Fix: give .01")
    theta = np.ones(log.depth) if propensities is None else checked_propensities(propensities, log.depth)
    offset = np.zeros(log.depth) if beta is None else _checked_beta(beta, theta, log.depth)
    table = document_table(log, qid, docid)
    if relevance is not None:
        table = table.with_columns(model=pl.Series(_checked_relevance(relevance, len(table))))
    documents = _estimates(log, table, theta, offset, clip)
    if not (documents["estimate"] > 0).any():
        raise GradrankError("clicks: no document has an estimated relevance above 0. Fix: give a longer log")
    clicks = documents["clicks"].to_numpy().astype(float)
    is_clipped = documents["exposure"].to_numpy() < clip
    clipped = float(clicks[is_clipped].sum() / clicks.sum()) if clicks.any() else 0.0
    negative = float(np.mean(documents["estimate"].to_numpy() < 0))
    documents = documents.with_columns(label=pl.max_horizontal("estimate", pl.lit(0.0)))
    rows, labels, lists, weights, queries = _ROWS[form](documents)
    return ClickLabels(rows, labels, lists, weights, queries, clipped, negative)


def document_table(log: ClickLog, qid: Any, docid: Any = None) -> pl.DataFrame:
    """Return a table with the columns `qid`, `docid`, `row` and `query`, with one row per row of X.

    query: position of the query, in the order of first rows. Raises GradrankError if a document occurs twice, or if a
    document of the log is not in the table.
    """
    ids = pl.Series("qid", np.asarray(qid) if not isinstance(qid, pl.Series) else qid)
    rows = pl.int_range(len(ids), eager=True, dtype=pl.Int64)
    names = rows if docid is None else pl.Series(np.asarray(docid) if not isinstance(docid, pl.Series) else docid)
    if len(names) != len(ids):
        raise GradrankError(f"docid: {len(names):,} ids for {len(ids):,} rows. Fix: give one id per row")
    table = pl.DataFrame({"qid": ids, "docid": names, "row": rows})
    for name in ("qid", "docid"):
        if table.schema[name].is_numeric() != log.rows.schema[name].is_numeric():
            raise GradrankError(
                f"{name}: the ids have the type {table.schema[name]} and those of the log {log.rows.schema[name]}. "
                "Fix: give ids of one type"
            )
        if table.schema[name].is_numeric():
            table = table.with_columns(pl.col(name).cast(log.rows.schema[name]))
    twice = table.filter(pl.struct("qid", "docid").is_duplicated())["row"]
    if len(twice):
        raise GradrankError(
            f"docid: {len(twice):,} rows have the query and document of another one (rows {_first(twice)}, from 0). "
            "Fix: give one row per document of a query"
        )
    lacking = log.rows.with_row_index("number", 1).join(table, on=["qid", "docid"], how="anti", maintain_order="left")
    if len(lacking):
        raise GradrankError(
            f"clicks: {len(lacking):,} rows of the log show documents that X lacks (rows {_first(lacking['number'])}). "
            "Fix: give the features of all shown documents, or leave out these rows"
        )
    queries = table.select(pl.col("qid").unique(maintain_order=True)).with_row_index("query")
    return table.join(queries, on="qid", how="left", maintain_order="left").with_columns(pl.col("query").cast(pl.Int64))


def _first(values: pl.Series) -> str:
    return ", ".join(map(str, values.head(SHOWN))) + (" ..." if len(values) > SHOWN else "")


def _checked_beta(beta: Any, alpha: np.ndarray, depth: int) -> np.ndarray:
    offset = np.asarray(beta, dtype=float)
    if offset.shape != alpha.shape or not np.all((offset >= 0) & (alpha + offset <= 1 + 1e-9)):
        raise GradrankError(
            f"beta: expected {depth} numbers from 0, at most 1 - alpha. Fix: give the probabilities of a click on an "
            "irrelevant document as beta, and those on a relevant one minus beta as propensities"
        )
    return offset


def _checked_relevance(relevance: Any, rows: int) -> np.ndarray:
    values = np.asarray(relevance, dtype=float)
    if values.shape != (rows,) or not np.all((values >= 0) & (values <= 1)):
        raise GradrankError(
            f"relevance: expected {rows:,} probabilities, one per row of X. Fix: clip the scores of a model to 0 to 1"
        )
    return values


def _estimates(log: ClickLog, table: pl.DataFrame, theta: np.ndarray, offset: np.ndarray, clip: float) -> pl.DataFrame:
    """Return one row per document, by query and row: `row`, `query`, `sessions`, `exposure`, `clicks`, `estimate`.

    table: see `document_table`. With a column `model`, documents that the log does not show are returned, too.
    """
    place = log.rows["position"].to_numpy() - 1
    shown = log.rows.with_columns(theta=pl.Series(theta[place]), beta=pl.Series(offset[place]))
    times = pl.col("impressions")
    sums = shown.group_by("qid", "docid").agg(
        pl.col("clicks").sum(), exposed=(times * pl.col("theta")).sum(), expected=(times * pl.col("beta")).sum()
    )
    if "model" in table.columns:
        joined = table.join(sums, on=["qid", "docid"], how="left").with_columns(
            pl.col("clicks", "exposed", "expected").fill_null(0)
        )
    else:
        joined = table.join(sums, on=["qid", "docid"], how="inner").with_columns(model=pl.lit(0.0))
    joined = joined.join(log.sessions(), on="qid", how="inner")
    exposure = pl.col("exposed") / pl.col("sessions")
    raised = pl.max_horizontal(exposure, pl.lit(clip))
    rate = (pl.col("clicks") - pl.col("expected")) / pl.col("sessions")
    estimate = (rate + (raised - exposure) * pl.col("model")) / raised
    return joined.with_columns(exposure=exposure, estimate=estimate).sort("query", "row")


def _per_document(documents: pl.DataFrame) -> list[np.ndarray]:
    query = documents["query"].to_numpy()
    lists = np.unique(query, return_inverse=True)[1]
    return [documents["row"].to_numpy(), documents["label"].to_numpy(), lists, documents["sessions"].to_numpy(), query]


def _per_clicked_document(documents: pl.DataFrame) -> list[np.ndarray]:
    clicked = documents.filter(pl.col("label") > 0).select(
        "query", clicked="row", weight=pl.col("sessions") * pl.col("label")
    )
    pairs = (
        clicked.with_row_index("list")
        .join(documents.select("query", "row"), on="query", how="inner", maintain_order="left_right")
        .with_columns(label=(pl.col("row") == pl.col("clicked")).cast(pl.Float64))
    )
    rows, labels, lists, weights, query = (
        pairs[name].to_numpy() for name in ("row", "label", "list", "weight", "query")
    )
    return [rows, labels, lists.astype(np.int64), weights, query]


_ROWS = {"documents": _per_document, "clicked_documents": _per_clicked_document}
