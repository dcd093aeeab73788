"""Values of a new ranking, estimated from the clicks on another one."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, unknown
from gradrank.clicks.log import ClickLog
from gradrank.clicks.propensities import checked_propensities

Estimator = Literal["ips", "snips", "dr"]
Measure = Literal["dcg", "click_rate"]
Z = 1.959963984540054


@dataclass(frozen=True, eq=False)
class ClickValue:
    """An estimate of `evaluate`.

    value: the estimate per impression of a ranking. low, high: its 95% interval over sessions (over queries in a log
    without sessions). effective: the effective sample size of the clicks, (sum of weights)^2 / (sum of their squares).
    clipped: the share of the clicks on documents whose exposure was raised to `clip`. not_shown: the share of the
    documents in the evaluated positions that the log never shows; they count as irrelevant, so the value is then too
    low (for `dr`, as relevant as `relevance` says).
    """

    value: float
    low: float
    high: float
    effective: float
    clipped: float
    not_shown: float
    measure: str
    estimator: str

    def __str__(self) -> str:
        return (
            f"{self.measure} = {self.value:.4f} [{self.low:.4f}, {self.high:.4f}] ({self.estimator}; effective clicks "
            f"{self.effective:,.0f}, clipped {self.clipped:.1%}, documents never shown {self.not_shown:.1%})"
        )


def evaluate(
    log: ClickLog,
    ranking: pl.DataFrame,
    propensities: Any,
    *,
    measure: Measure = "dcg",
    k: int = 10,
    estimator: Estimator = "ips",
    clip: float = 0.01,
) -> ClickValue:
    """Estimate the value of a ranking from a log of other rankings, by inverse propensities.

    Parameters
    ----------
    log
        The click log.
    ranking
        Frame with `qid`, `docid` and `rank` (from 1) of the new ranking. For `dr`, also `relevance`: the model's
        estimate of the probability of relevance of each document.
    propensities
        (k,) probabilities that a user examines a position of the log, or a result of `estimate_propensities`.
    measure
        `dcg`: sum of gamma / log2(1 + rank) over the first k documents. `click_rate`: sum of gamma theta_rank, the
        expected number of clicks on the first k documents.
    estimator
        `ips`: the clicks on each document, divided by its exposure (Joachims et al. 2017). The exposure is the sum over
        positions of the share of the sessions that show the document there, times the propensity (Oosterhuis and de
        Rijke 2020). `snips`: divided by the sum of the inverse exposures of all clicks, which gives the mean weight of
        a relevant document (Swaminathan and Joachims 2015). A common factor of all propensities changes nothing.
        `dr`: doubly robust: where the log shows a document too rarely, `relevance` takes the place of the clicks
        (Oosterhuis 2023).
    clip
        Least exposure; smaller ones are raised to it, which lowers the variance and biases the value.

    Raises
    ------
    GradrankError
        If columns or propensities are missing, or if no query of the ranking is in the log.

    Examples
    --------
    >>> import polars as pl
    >>> from gradrank.clicks import evaluate
    >>> from gradrank.clicks import simulate
    >>> made = simulate([0, 2], [2.0, 1.0], qid=[1, 1], sessions=100_000, seed=1, noise=0.0)
    >>> better = pl.DataFrame({"qid": [1, 1], "docid": [1, 0], "rank": [1, 2]})
    >>> round(evaluate(made.log, better, made.propensities).value, 1)
    1.0
    """
    theta = _checked(log, ranking, propensities, measure, estimator, clip)
    weight = (pl.col("rank") <= k).cast(pl.Float64) * _weight(measure, theta)
    target = ranking.with_columns(
        weight=weight, model=pl.col("relevance") if estimator == "dr" else pl.lit(0.0, pl.Float64)
    ).select("qid", "docid", "weight", "model")
    rows = log.rows.join(target.select("qid").unique(), on="qid", how="semi", maintain_order="left")
    if not len(rows):
        raise GradrankError("ranking: no query of the ranking is in the log. Fix: give a ranking of the same queries")
    rows = rows.with_columns(theta=pl.Series(theta[rows["position"].to_numpy().astype(int) - 1]))
    sessions = log.sessions()
    documents = _documents(rows, target, clip, sessions)
    queries = documents.group_by("qid").agg(
        value=(pl.col("weight") * pl.col("relevance")).sum(), total=pl.col("corrected").sum()
    )
    counts = sessions.join(queries, on="qid", how="inner", maintain_order="left")
    share = counts["sessions"].to_numpy() / counts["sessions"].sum()
    total = float(share @ counts["total"].to_numpy()) if estimator == "snips" else 1.0
    value = float(share @ counts["value"].to_numpy()) / total if total else np.nan
    error = _error(rows, documents, counts, value, total, estimator == "snips", log.has_sessions)
    clicked = documents.filter(pl.col("clicks") > 0)
    inverse = 1 / clicked["raised"].to_numpy()
    clicks = clicked["clicks"].to_numpy()
    evaluated = documents.filter(pl.col("weight") > 0)
    return ClickValue(
        value,
        value - Z * error,
        value + Z * error,
        float((clicks @ inverse) ** 2 / (clicks @ inverse**2)) if len(clicks) else 0.0,
        float(clicked.filter(pl.col("exposure") < clip)["clicks"].sum() / clicks.sum()) if len(clicks) else 0.0,
        float((evaluated["exposure"] == 0).mean()) if len(evaluated) else 0.0,  # type: ignore[arg-type]
        f"{measure}@{k}",
        estimator,
    )


def _documents(rows: pl.DataFrame, target: pl.DataFrame, clip: float, sessions: pl.DataFrame) -> pl.DataFrame:
    """Return one row per document of the ranking in the queries of the log.

    `exposure` is sum over positions of P(shown there) theta, 0 for a document that is never shown, and `raised` at
    least `clip`. `corrected` is the click rate per session divided by `raised`; `relevance` is `corrected` plus the
    part of `model` that the clicks do not replace.
    """
    per_document = rows.group_by("qid", "docid").agg(
        pl.col("clicks").sum(), exposed=(pl.col("impressions") * pl.col("theta")).sum()
    )
    joined = target.join(sessions, on="qid", how="inner", maintain_order="left").join(
        per_document, on=["qid", "docid"], how="left", maintain_order="left"
    )
    exposure = pl.col("exposed").fill_null(0.0) / pl.col("sessions")
    documents = joined.with_columns(pl.col("clicks").fill_null(0.0), exposure=exposure)
    documents = documents.with_columns(raised=pl.max_horizontal("exposure", pl.lit(clip)))
    documents = documents.with_columns(corrected=pl.col("clicks") / (pl.col("sessions") * pl.col("raised")))
    kept = pl.col("model") * (1 - pl.col("exposure") / pl.col("raised"))
    return documents.with_columns(relevance=pl.col("corrected") + kept)


def _error(
    rows: pl.DataFrame,
    documents: pl.DataFrame,
    counts: pl.DataFrame,
    value: float,
    total: float,
    is_ratio: bool,
    has_sessions: bool,
) -> float:
    """Return the standard error of the value, linearised: over sessions, or over queries without sessions."""
    columns = documents.select("qid", "docid", "weight", "raised", "exposure", "corrected")
    joined = rows.join(columns, on=["qid", "docid"], how="inner", maintain_order="left")
    weight = joined["weight"].to_numpy() - (value if is_ratio else 0.0)
    rate = joined["corrected"].to_numpy() * joined["raised"].to_numpy() / joined["exposure"].to_numpy()
    expected = joined["impressions"].to_numpy() * joined["theta"].to_numpy() * rate
    residual = weight * (joined["clicks"].to_numpy() - expected) / joined["raised"].to_numpy()
    unit = "session" if has_sessions else "qid"
    noise = joined.select(unit).with_columns(residual=pl.Series(residual)).group_by(unit).agg(pl.col("residual").sum())
    of_query = counts["value"].to_numpy() - value * (counts["total"].to_numpy() if is_ratio else 1.0)
    sessions = counts["sessions"].to_numpy()
    squares = float((noise["residual"].to_numpy() ** 2).sum())
    squares += float(np.sum(sessions * of_query**2) if has_sessions else np.sum((sessions * of_query) ** 2))
    return float(np.sqrt(squares) / sessions.sum() / total) if total else np.nan


def _checked(
    log: ClickLog, ranking: pl.DataFrame, propensities: Any, measure: str, estimator: str, clip: float
) -> np.ndarray:
    """Return the propensities as an array. Raises GradrankError with all problems."""
    problems = []
    if estimator not in get_args(Estimator):
        problems.append(f"estimator: {unknown('estimator', estimator, get_args(Estimator))}")
    if measure not in get_args(Measure):
        problems.append(f"measure: {unknown('measure', measure, get_args(Measure))}")
    needed = ["qid", "docid", "rank", *(["relevance"] if estimator == "dr" else [])]
    if missing := [name for name in needed if name not in ranking.columns]:
        problems.append(f"ranking: no column {', '.join(missing)}")
    elif ranking.select(pl.struct("qid", "docid").is_duplicated().any()).item():
        problems.append("ranking: a document of a query is ranked twice")
    if not 0 < clip < 1:
        problems.append(f"clip: expected a number between 0 and 1, found {clip!r}")
    if problems:
        raise GradrankError("; ".join(problems) + ". Fix: correct these arguments")
    return checked_propensities(propensities, log.depth)


def _weight(measure: str, theta: np.ndarray) -> pl.Expr:
    """Return the weight of a rank."""
    if measure == "dcg":
        return 1 / (pl.col("rank") + 1).log(2)
    padded = pl.Series(np.r_[0.0, theta])
    return pl.lit(padded).gather(pl.min_horizontal(pl.col("rank"), pl.lit(len(theta))).cast(pl.UInt32))
