"""Variances, intervals and corrections of differences, for the scripts that do not import gradrank."""

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import nctdtrinc
from scipy.stats import t as student


def fold_means(values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the means of the last axis, (..., q), within each fold."""
    return np.stack([values[..., folds == fold].mean(axis=-1) for fold in np.unique(folds)], axis=-1)


def query_variance(values: np.ndarray, folds: np.ndarray) -> tuple[float, float]:
    """Return the variance of the mean over folds of (q,) values, and its degrees of freedom."""
    names = np.unique(folds)
    parts = [values[folds == fold].var(ddof=1) / np.sum(folds == fold) for fold in names]
    return sum(parts) / len(names) ** 2, len(values) - len(names)


def components(values: np.ndarray, folds: np.ndarray) -> dict:
    """Return the variance components of (T, S, q) values."""
    means = fold_means(values, folds)
    tuners, seeds, count = means.shape
    seed = means.var(axis=1, ddof=1).mean() / count if seeds > 1 else 0.0
    between = means.mean(axis=(1, 2)).var(ddof=1) if tuners > 1 else 0.0
    query = query_variance(values.mean(axis=(0, 1)), folds)
    freedom = tuners - 1 if tuners > 1 else count * (seeds - 1)
    return {
        "query": query,
        "seed": seed,
        "tuning": max(0.0, between - seed / seeds),
        "chance": (max(between, seed / seeds) / tuners, freedom),
        "tuners": tuners,
        "mean": float(means.mean()),
    }


def satterthwaite(terms: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error and the degrees of freedom of a sum of independent terms (variance, freedom)."""
    total = sum(variance for variance, _ in terms)
    spread = sum(variance**2 / freedom for variance, freedom in terms if variance > 0 and freedom > 0)
    return math.sqrt(total), sum(v for v, f in terms if v > 0 and f > 0) ** 2 / spread if spread else math.inf


def half_width(terms: list[tuple[float, float]]) -> float:
    error, freedom = satterthwaite(terms)
    return float(student.ppf(0.975, freedom)) * error


def pooled_variance(own: Iterable[dict]) -> tuple[float, float]:
    """Return the variance of one tuner's mean, pooled over methods with several tuners, and its degrees of freedom."""
    terms = [(*each["chance"], each["tuners"]) for each in own if each["tuners"] > 1]
    freedom = sum(own_freedom for _, own_freedom, _ in terms)
    if not freedom:
        return 0.0, 0
    return sum(variance * tuners * own_freedom for variance, own_freedom, tuners in terms) / freedom, freedom


def chance_terms(own: list[dict], pooled: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the variances due to tuners and seeds. Those below the pooled variance are replaced by it."""
    kept, replaced = [], 0.0
    for each in own:
        floor = pooled[0] / each["tuners"]
        if each["tuners"] > 1 and each["chance"][0] <= floor:
            replaced += floor
        else:
            kept.append(each["chance"])
    return [*kept, (replaced, pooled[1])]


def means_and_halves(values: dict[str, np.ndarray], folds: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the mean and half the width of its interval for the (T, S, q) values of each method."""
    own = {name: components(each, folds) for name, each in values.items()}
    pooled = pooled_variance(own.values())
    return {
        name: (each["mean"], half_width([each["query"], *chance_terms([each], pooled)])) for name, each in own.items()
    }


def holm(p: list[float]) -> list[float]:
    corrected, running = [0.0] * len(p), 0.0
    for place, index in enumerate(np.argsort(p, kind="stable")):
        running = max(running, (len(p) - place) * p[index])
        corrected[index] = min(1.0, running)
    return corrected


def one_sided(distance: float, error: float, freedom: float) -> float:
    return float(distance <= 0) if error == 0 else float(student.sf(distance / error, freedom))


def detectable(error: float, freedom: float, comparisons: int) -> float:
    """Return the true difference that is significant with a probability of 80%, at the level .05 / comparisons."""
    critical = float(student.isf(0.05 / 2 / comparisons, freedom))
    if math.isinf(freedom):
        return error * (critical + float(student.ppf(0.8, freedom)))
    return error * float(nctdtrinc(freedom, 0.2, critical))
