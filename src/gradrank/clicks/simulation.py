"""Simulated users: clicks on the rankings of a logging policy, determined by a seed.

The probability that a document is relevant to a user is gamma. `Simulation` contains it, and the true propensities, for
evaluation only.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, unknown
from gradrank.clicks.log import ClickLog

Users = Literal["position_based", "trust_bias", "cascade", "dependent_click", "dynamic_bayesian"]
Exploration = Literal["none", "swap", "shuffle", "plackett_luce"]
# Probabilities of a click and of stopping after it, for grades 0, 1 and 2 (Hofmann et al. 2013).
NOISE = {
    "perfect": ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
    "navigational": ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    "informational": ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
}
BLOCK = 1 << 18  # sessions that are drawn at once


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated log and its truth.

    log: the ClickLog, whose `docid` is the row of the document. relevance: (n,) probabilities gamma. propensities: (k,)
    probabilities that a user examines a position, or None for users who go from top to bottom, whose examination
    depends on the clicks above. alpha, beta: (k,) numbers with P(click) = alpha_k gamma + beta_k; None for these users.
    """

    log: ClickLog
    relevance: np.ndarray
    propensities: np.ndarray | None
    alpha: np.ndarray | None = None
    beta: np.ndarray | None = None


def relevance_probabilities(y: Any, noise: float | str = 0.1) -> np.ndarray:
    """Return (n,) probabilities gamma that a user finds a document relevant. y: (n,) grades from 0.

    noise: a number e, for gamma = e + (1 - e) (2^y - 1) / (2^max - 1) (Ai et al. 2018); or `perfect`, `navigational` or
    `informational`, whose probabilities for three grades are in NOISE.
    """
    grades = np.asarray(y)
    if isinstance(noise, str):
        if noise not in NOISE:
            raise GradrankError(f"noise: {unknown('noise', noise, NOISE)}. Fix: give a known name or a number")
        if grades.max(initial=0) > 2:
            raise GradrankError(f"noise: {noise!r} has probabilities for grades 0 to 2. Fix: give a number such as .1")
        return np.array(NOISE[noise][0])[grades.astype(int)]
    if not 0 <= noise < 1:
        raise GradrankError(f"noise: expected a number from 0 to below 1, found {noise!r}. Fix: give .1")
    top = np.exp2(grades.max(initial=0)) - 1
    return noise + (1 - noise) * (np.exp2(grades) - 1) / (top if top > 0 else 1.0)


def simulate(
    y: Any,
    scores: Any,
    *,
    qid: Any,
    sessions: int,
    seed: int,
    users: Users = "position_based",
    eta: float = 1.0,
    noise: float | str = 0.1,
    depth: int = 10,
    exploration: Exploration = "none",
    share: float = 1.0,
    temperature: float = 1.0,
    continuation: float = 0.9,
) -> Simulation:
    """Return the clicks of simulated users on the rankings by `scores`.

    Parameters
    ----------
    y, scores
        (n,) grades and scores of the logging policy. Documents of one query are contiguous.
    qid
        (n,) ids of the queries. Each session has a query that is drawn uniformly.
    sessions, seed
        Number of sessions, and the seed of all random numbers.
    users
        `position_based`: P(click) = theta_k gamma, theta_k = k^-eta (Craswell et al. 2008; Joachims et al. 2017).
        `trust_bias`: theta_k (e+_k gamma + e-_k (1 - gamma)), e+_k = .98 - (k - 1) / 100, e-_k = .65 / k (after Agarwal
        et al. 2019). `cascade`: from the top to the first click. `dependent_click`: after a click at position k, the
        user goes on with probability k^-eta (Guo et al. 2009). `dynamic_bayesian`: a click satisfies with the
        probability gamma, otherwise the user goes on with probability `continuation` (Chapelle and Zhang 2009).
    eta
        Severity of the position bias: 0 none, 1 usual, 2 strong.
    noise
        See `relevance_probabilities`.
    depth
        Number of shown positions.
    exploration
        `none`: every session of a query shows the same ranking. `swap`: a random pair of neighbours is exchanged.
        `shuffle`: the shown documents are in random order. `plackett_luce`: documents are drawn without replacement
        with probabilities proportional to exp(score / temperature).
    share
        Share of the sessions with exploration.

    Raises
    ------
    GradrankError
        If an argument is out of its range.

    Examples
    --------
    >>> from gradrank.clicks import simulate
    >>> result = simulate([2, 0, 1], [3.0, 2.0, 1.0], qid=[1, 1, 1], sessions=1000, seed=1)
    >>> result.propensities.round(2).tolist(), len(result.log.rows)
    ([1.0, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14, 0.12, 0.11, 0.1], 3000)
    """
    grades, values, ids = np.asarray(y), np.asarray(scores, dtype=float), np.asarray(qid)
    _check_arguments(grades, values, ids, sessions, users, exploration, share, temperature, depth, eta)
    relevance = relevance_probabilities(grades, noise)
    stops = np.array(NOISE[noise][1])[grades.astype(int)] if isinstance(noise, str) else relevance
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    ends = np.r_[starts[1:], len(ids)]
    generator = np.random.default_rng(seed)
    query = np.sort(generator.integers(len(starts), size=sessions))
    parts = []
    for first in range(0, sessions, BLOCK):
        block = query[first : first + BLOCK]
        shown = _shown(values, starts, ends, block, depth, exploration, share, temperature, generator)
        clicked = _clicks(shown, relevance, stops, users, eta, continuation, generator)
        session, column = np.nonzero(shown >= 0)
        parts.append(
            pl.DataFrame(
                {
                    "session": session + first,
                    "qid": ids[starts][block[session]],
                    "docid": shown[session, column],
                    "position": column + 1,
                    "clicks": clicked[session, column].astype(np.int64),
                }
            )
        )
    rows = pl.concat(parts).with_columns(impressions=pl.lit(1, pl.Int64))
    if users not in ("position_based", "trust_bias"):
        return Simulation(ClickLog(rows), relevance, None)
    theta = np.arange(1, depth + 1) ** -eta
    positive, negative = _trust(depth) if users == "trust_bias" else (np.ones(depth), np.zeros(depth))
    return Simulation(ClickLog(rows), relevance, theta, theta * (positive - negative), theta * negative)


def _trust(depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the (k,) probabilities of a click on an examined document: on a relevant and on an irrelevant one."""
    ranks = np.arange(1, depth + 1)
    return 0.98 - (ranks - 1) / 100, 0.65 / ranks


def _check_arguments(
    grades: np.ndarray,
    scores: np.ndarray,
    qid: np.ndarray,
    sessions: int,
    users: str,
    exploration: str,
    share: float,
    temperature: float,
    depth: int,
    eta: float,
) -> None:
    problems = []
    if not len(grades) == len(scores) == len(qid) or not len(qid):
        problems.append(f"y, scores and qid have the lengths {len(grades)}, {len(scores)} and {len(qid)}")
    elif len(np.unique(qid)) != 1 + np.count_nonzero(qid[1:] != qid[:-1]):
        problems.append("qid: the documents of a query are not contiguous")
    if not np.all(np.isfinite(scores)):
        problems.append("scores: not all are finite numbers")
    if users not in get_args(Users):
        problems.append(f"users: {unknown('users', users, get_args(Users))}")
    if exploration not in get_args(Exploration):
        problems.append(f"exploration: {unknown('exploration', exploration, get_args(Exploration))}")
    for name, value, is_valid, expected in (
        ("sessions", sessions, sessions >= 1, "an integer from 1"),
        ("depth", depth, depth >= 1, "an integer from 1"),
        ("share", share, 0 <= share <= 1, "a number from 0 to 1"),
        ("temperature", temperature, temperature > 0, "a positive number"),
        ("eta", eta, eta >= 0, "a number from 0"),
    ):
        if not is_valid:
            problems.append(f"{name}: expected {expected}, found {value!r}")
    if problems:
        raise GradrankError("; ".join(problems) + ". Fix: correct these arguments of simulate")


def _shown(
    scores: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    query: np.ndarray,
    depth: int,
    exploration: str,
    share: float,
    temperature: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return the (s, depth) rows of the shown documents, -1 after the last. query: (s,) sorted numbers of queries."""
    shown = np.full((len(query), depth), -1)
    bounds = np.flatnonzero(np.r_[True, query[1:] != query[:-1], True])
    for first, last in pairwise(bounds):
        start, end = starts[query[first]], ends[query[first]]
        order = start + np.argsort(-scores[start:end], kind="stable")
        top = order[:depth]
        shown[first:last, : len(top)] = top
        explores = first + np.flatnonzero(generator.random(last - first) < share)
        if exploration == "none" or not len(explores) or len(order) < 2:
            continue
        if exploration == "plackett_luce":
            keys = scores[start:end] / temperature + generator.gumbel(size=(len(explores), end - start))
            shown[explores, : len(top)] = start + np.argsort(-keys, axis=1, kind="stable")[:, :depth]
        elif exploration == "shuffle":
            shown[explores, : len(top)] = generator.permuted(np.tile(top, (len(explores), 1)), axis=1)
        elif len(top) > 1:
            upper = generator.integers(len(top) - 1, size=len(explores))
            pair = shown[explores, upper]
            shown[explores, upper] = shown[explores, upper + 1]
            shown[explores, upper + 1] = pair
    return shown


def _clicks(
    shown: np.ndarray,
    relevance: np.ndarray,
    stops: np.ndarray,
    users: str,
    eta: float,
    continuation: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return (s, k) booleans. shown: (s, k) rows of documents, -1 without a document."""
    exists = shown >= 0
    gamma = np.where(exists, relevance[shown], 0.0)
    ranks = np.arange(1, shown.shape[1] + 1)
    theta = ranks**-eta
    drawn = generator.random(shown.shape)
    if users == "position_based":
        return drawn < theta * gamma
    if users == "trust_bias":
        positive, negative = _trust(shown.shape[1])
        return exists & (drawn < theta * (positive * gamma + negative * (1 - gamma)))
    clicked = np.zeros(shown.shape, dtype=bool)
    examines = np.ones(len(shown), dtype=bool)
    stop = np.where(exists, stops[shown], 1.0)
    chance = generator.random(shown.shape)
    for k in range(shown.shape[1]):
        clicked[:, k] = examines & (drawn[:, k] < gamma[:, k])
        if users == "cascade":
            examines &= ~clicked[:, k]
        elif users == "dependent_click":
            examines &= ~clicked[:, k] | (chance[:, k] < theta[k])
        else:
            satisfied = clicked[:, k] & (chance[:, k] < stop[:, k])
            examines &= ~satisfied & (generator.random(len(shown)) < continuation)
    return clicked
