"""Estimation of propensities: the probability that a user examines a position, relative to the first position.

All methods assume position-based users: P(click) = theta_k gamma. `harvest` and `position_based` need queries whose
documents are shown at several positions. `randomised` needs documents in random order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit

from gradrank.base.errors import GradrankError, unknown
from gradrank.clicks.log import ClickLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method = Literal["randomised", "harvest", "position_based"]
STEPS = 5000  # the largest number of steps of an iteration
TOLERANCE = 1e-7  # an iteration ends if no propensity changes more
LEAST = 1e-9  # the smallest value of a probability in an iteration


@dataclass(frozen=True, eq=False)
class Propensities:
    """Estimated propensities.

    table: frame with one row per position: `position`, `propensity`, the bounds `low` and `high` of its 95% interval
    (percentiles of the bootstrap over sessions, or over queries in a log without sessions), and `identified`, which is
    False if nothing in the log connects the position with the first one. Its propensity is then null.

    note: what the estimate assumes.
    """

    table: pl.DataFrame
    method: str
    note: str

    def values(self) -> np.ndarray:
        """Return the (k,) propensities, nan where they are not identified."""
        return self.table["propensity"].fill_null(np.nan).to_numpy()

    def plot(self, truth: Any = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the propensities over the positions, with their intervals, and return the matplotlib axes.

        truth: (k,) true propensities of a simulated log, for a second line. ax: the axes to draw into; None for those
        of a new figure. Raises GradrankError if matplotlib is not installed (extra `plots`).
        """
        from gradrank.plots.charts import line_chart

        positions = self.table["position"].to_numpy()
        lines = {"estimate": self.values()} | ({} if truth is None else {"truth": np.asarray(truth)[: len(positions)]})
        ax = line_chart(positions, lines, None, "plot", ax)
        low, high = (self.table[name].fill_null(np.nan).to_numpy() for name in ("low", "high"))
        ax.fill_between(positions, low, high, alpha=0.2)
        ax.set_xlabel("position")
        ax.set_ylabel("propensity, relative to position 1")
        return ax


def checked_propensities(propensities: Any, depth: int) -> np.ndarray:
    """Return the propensities of the first `depth` positions as a (depth,) array.

    propensities: numbers, at least one per position, or a result of `estimate_propensities`. Raises GradrankError if a
    position has no propensity, or if one is not above 0 and at most 1.
    """
    given = propensities.values() if isinstance(propensities, Propensities) else propensities
    theta = np.asarray(given, dtype=float)
    if theta.ndim != 1 or len(theta) < depth:
        raise GradrankError(
            f"propensities: expected {depth} numbers, one per position of the log, found the shape {theta.shape}. "
            "Fix: give one number per position"
        )
    theta = theta[:depth]
    bad = np.flatnonzero(~((theta > 0) & (theta <= 1)))
    if len(bad):
        raise GradrankError(
            f"propensities: position {bad[0] + 1} has {theta[bad[0]]:g}, not a number above 0 and at most 1. Fix: "
            "correct it, or leave out this position of the log if it is not identified"
        )
    return theta


NOTES: Mapping[str, str] = {
    "randomised": "assumes that the documents of a query are in random order, so that all positions show documents of "
    "the same relevance on average",
    "harvest": "uses documents that the log shows at two positions; assumes that both have users of the same kind",
    "position_based": "assumes a relevance of its own for every document of a query, and position-based users",
}


def estimate_propensities(
    log: ClickLog, method: Method = "harvest", *, samples: int = 100, seed: int = 0
) -> Propensities:
    """Return the propensities of the positions of a log, relative to position 1.

    Parameters
    ----------
    log
        The click log.
    method
        `randomised`: click rates per position, for a log with documents in random order. `harvest`: AllPairs, which
        compares click rates of the same documents at two positions (Agarwal et al. 2019). `position_based`: maximum
        likelihood of the position-based model with a relevance of its own for each document (Craswell et al. 2008). If
        documents rarely change their positions, it finds too little position bias, which its intervals do not show.
    samples, seed
        Number and seed of the bootstrap samples. With 0, there are no intervals.

    Raises
    ------
    GradrankError
        If the method is unknown, the log has no click, or no position but the first is identified.

    Examples
    --------
    >>> from gradrank.clicks import estimate_propensities
    >>> from gradrank.clicks import simulate
    >>> made = simulate([1, 0, 1, 0], [4, 3, 2, 1], qid=[1, 1, 1, 1], sessions=9000, seed=1, exploration="shuffle")
    >>> estimate_propensities(made.log, "randomised").table["propensity"].round(1).to_list()
    [1.0, 0.5, 0.3, 0.2]
    """
    if method not in get_args(Method):
        raise GradrankError(f"method: {unknown('method', method, get_args(Method))}. Fix: use a known method")
    if not log.rows["clicks"].sum():
        raise GradrankError("clicks: the log has no click. Fix: give a longer log")
    cells = _Cells.of(log)
    estimate = _ESTIMATES[method]
    found = estimate(cells, cells.clicks, cells.impressions)
    if np.sum(~np.isnan(found)) < 2:
        raise GradrankError(
            f"method: {method!r} finds no document that is shown at position 1 and at another one, so relevance and "
            "position cannot be separated. Fix: log several rankings per query, or give known propensities"
        )
    drawn = np.array([estimate(cells, *counts) for counts in cells.resampled(log, samples, seed)])
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0) if samples else np.full((2, len(found)), np.nan)
    table = pl.DataFrame(
        {
            "position": np.arange(1, len(found) + 1),
            "propensity": found,
            "low": low,
            "high": high,
            "identified": ~np.isnan(found),
        }
    )
    return Propensities(table.fill_nan(None), method, NOTES[method])


@dataclass(frozen=True, eq=False)
class _Cells:
    """The counts of a log by query, document and position.

    document, position: (c,) numbers from 0. clicks, impressions: (c,) counts. depth: the number of positions.
    """

    document: np.ndarray
    position: np.ndarray
    clicks: np.ndarray
    impressions: np.ndarray
    depth: int

    @classmethod
    def of(cls, log: ClickLog) -> "_Cells":
        rows = log.aggregated().rows
        documents = rows.select(pl.struct("qid", "docid").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
        position = rows["position"].to_numpy().astype(np.int64) - 1
        return cls(documents, position, rows["clicks"].to_numpy(), rows["impressions"].to_numpy(), log.depth)

    def resampled(self, log: ClickLog, samples: int, seed: int) -> "list[tuple[np.ndarray, np.ndarray]]":
        """Return the clicks and impressions of bootstrap samples with Poisson weights."""
        unit = "session" if log.has_sessions else "qid"
        keys = ["qid", "docid", "position"]
        cells = log.aggregated().rows.select(keys).with_row_index("cell")
        of_row = log.rows.join(cells, on=keys, how="left", maintain_order="left")["cell"].to_numpy()
        of_unit = log.rows.select(pl.col(unit).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
        clicks, impressions = log.rows["clicks"].to_numpy(), log.rows["impressions"].to_numpy()
        generator = np.random.default_rng(seed)
        counts = []
        for _ in range(samples):
            weight = generator.poisson(1.0, size=of_unit.max() + 1)[of_unit]
            shape = len(self.clicks)
            counts.append(
                (
                    np.bincount(of_row, weight * clicks, minlength=shape),
                    np.bincount(of_row, weight * impressions, minlength=shape),
                )
            )
        return counts


def _randomised(cells: _Cells, clicks: np.ndarray, impressions: np.ndarray) -> np.ndarray:
    """Return the click rate of each position divided by that of the first."""
    shown = np.bincount(cells.position, impressions, minlength=cells.depth)
    rate = np.divide(
        np.bincount(cells.position, clicks, minlength=cells.depth),
        shown,
        out=np.full(cells.depth, np.nan),
        where=shown > 0,
    )
    return rate / rate[0] if rate[0] > 0 else np.full(cells.depth, np.nan)


def _harvest(cells: _Cells, clicks: np.ndarray, impressions: np.ndarray) -> np.ndarray:
    """Return the propensities of the AllPairs estimator.

    For each two positions, only documents that are shown at both count. Their click rates at k have the expectation
    theta_k r, with one unknown r per pair of positions. theta and r maximise the likelihood of Poisson numbers of
    clicks, whose weighted counts are the sums of the rates.
    """
    depth = cells.depth
    order = np.lexsort((cells.position, cells.document))
    document, position = cells.document[order], cells.position[order]
    shown = impressions[order] > 0
    rate = np.divide(clicks[order], impressions[order], out=np.zeros(len(order)), where=shown)
    sums = np.zeros((depth, depth))  # [k, l]: the sum of the rates at k of documents that are shown at k and l
    steps = int(np.bincount(document).max()) if len(document) else 0
    for step in range(1, steps):
        pair = (document[step:] == document[:-step]) & shown[step:] & shown[:-step]
        k, other = position[:-step][pair], position[step:][pair]
        np.add.at(sums, (k, other), rate[:-step][pair])
        np.add.at(sums, (other, k), rate[step:][pair])
    return _fitted(sums)


def _fitted(sums: np.ndarray) -> np.ndarray:
    """Return (d,) relative propensities from the sums of click rates of pairs of positions.

    Given r, theta_k = sum_l s_kl / sum_l r_kl; given theta, r_kl = (s_kl + s_lk) / (theta_k + theta_l).
    """
    both = sums + sums.T
    connected = _connected(both > 0)
    theta = np.ones(len(sums))
    for _ in range(STEPS):
        r = both / (theta[:, None] + theta[None, :])
        total = r.sum(axis=1)
        new = np.divide(sums.sum(axis=1), total, out=np.zeros(len(sums)), where=total > 0)
        new = np.maximum(new, LEAST) / max(new[0], LEAST)
        change = np.max(np.abs(new - theta)[connected], initial=0.0)
        theta = new
        if change < TOLERANCE:
            break
    return np.where(connected, theta, np.nan)


def _connected(linked: np.ndarray) -> np.ndarray:
    """Return (d,) booleans: True for positions that a chain of pairs connects with position 1."""
    reached = np.zeros(len(linked), dtype=bool)
    reached[0] = True
    while True:
        wider = reached | linked[reached].any(axis=0)
        if (wider == reached).all():
            return reached
        reached = wider


def _position_based(cells: _Cells, clicks: np.ndarray, impressions: np.ndarray) -> np.ndarray:
    """Return the propensities of the position-based model with one relevance per document, relative to position 1."""
    documents = int(cells.document.max()) + 1
    used = impressions > 0
    linked = np.zeros((cells.depth, documents), dtype=bool)
    linked[cells.position[used], cells.document[used]] = True
    connected = _connected((linked.astype(float) @ linked.T.astype(float)) > 0)
    start = np.clip(np.nan_to_num(_harvest(cells, clicks, impressions), nan=0.5), 0.01, 0.99)
    rate = np.bincount(cells.document, clicks, minlength=documents) / np.maximum(
        np.bincount(cells.document, impressions * start[cells.position], minlength=documents), LEAST
    )
    first = np.r_[start, np.clip(rate, 0.01, 0.99)]
    unclicked = impressions - clicks

    def cost(logits: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean negative log-likelihood per impression, and its gradient."""
        probabilities = np.clip(expit(logits), LEAST, 1 - LEAST)
        theta, gamma = probabilities[cells.position], probabilities[cells.depth + cells.document]
        clicked = theta * gamma
        none = 1 - clicked
        total = impressions.sum()
        value = -np.sum(clicks * np.log(clicked) + unclicked * np.log(none)) / total
        odds = unclicked * clicked / none
        by_theta = (clicks - odds) * (1 - theta)
        by_gamma = (clicks - odds) * (1 - gamma)
        gradient = np.r_[
            np.bincount(cells.position, by_theta, minlength=cells.depth),
            np.bincount(cells.document, by_gamma, minlength=documents),
        ]
        return float(value), -gradient / total

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": 1e-11, "gtol": 1e-7, "maxcor": 20}
    found = minimize(cost, np.log(first / (1 - first)), jac=True, method="L-BFGS-B", options=options)
    theta = expit(found.x[: cells.depth])
    return np.where(connected, theta / theta[0], np.nan)


_ESTIMATES: Mapping[str, Callable[[_Cells, np.ndarray, np.ndarray], np.ndarray]] = {
    "randomised": _randomised,
    "harvest": _harvest,
    "position_based": _position_based,
}
