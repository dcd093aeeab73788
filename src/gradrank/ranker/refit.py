"""Refit: the training of a method on all queries, with the number of steps that the validation parts of folds selected.

A step is a boosting round, an epoch or a grid point. No query is left to select the number of steps, so the median of
the folds is used. Its validation values estimate the quality of the refitted model, which is trained on more queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.conventions import Convention
from gradrank.data.collection import Collection
from gradrank.measures.metrics import compute
from gradrank.training.best_of import FrozenStep
from gradrank.training.fit import fit
from gradrank.training.model import Callback, Model, ModelParams

if TYPE_CHECKING:
    import polars as pl

Z = 1.96  # the 97.5% quantile of the normal distribution
REFIT = "refit"  # the entry of spec.json


@dataclass(frozen=True)
class FoldSelection:
    """The training on one fold: the selected step, and the values of the validation queries under a convention.

    Parameters
    ----------
    fold, seed
        The number of the fold, from 1, and the seed of the training.
    step
        The number of the selected step, from 1; None if the method selects no step.
    values
        (q,) values of the metric of the queries of the validation part; NaN if undefined.
    """

    fold: int
    seed: int
    step: int | None
    values: np.ndarray


def selected_step(history: "pl.DataFrame", params: Mapping[str, Any]) -> int | None:
    """Return the number of the step that the validation part selected; None for a method that selects no step.

    history: the training history. params: all parameters of the method.
    """
    column = f"vali_{params.get('select_by')}"
    if column not in history.columns or not len(history):
        return None
    return int(history["step"][int(np.nanargmax(history[column].to_numpy()))])


def query_values(metric: str, scores: np.ndarray, part: Collection) -> np.ndarray:
    """Return the (q,) values of the queries of a part under its convention, in expectation over ties."""
    return compute([metric], scores, part.labels, part.offsets, part.convention.in_expectation())[metric]


def frozen_fit(
    cls: type[Model], whole: Collection, params: ModelParams, seed: int, step: int | None, callback: Callback
) -> Model:
    """Return the model that is trained on all queries of `whole` up to a step.

    step: None if the method has no steps, or if its steps are alternatives, such as the features of `single_feature`.
    An alternative is selected again, on all queries.
    """
    vali = whole if step is None else FrozenStep.of(whole, step)
    return fit(cls, whole, vali, params, seed, callback)


def has_alternatives(cls: type[Model]) -> bool:
    """Return True if the steps of a method are not the length of a training, but alternatives."""
    return cls.name in ("coordinate_ascent", "single_feature")


def median_step(selections: Sequence[FoldSelection]) -> int | None:
    """Return the lower median of the selected steps; None if the method selects no step."""
    steps = [selection.step for selection in selections if selection.step is not None]
    return median_low(steps) if steps else None


def refit_entry(
    selections: Sequence[FoldSelection], step: int | None, metric: str, convention: Convention, whole: Collection
) -> dict[str, Any]:
    """Return the entry `refit` of spec.json: the step, and the validation values with 95% intervals.

    The value of a fold is the mean over its validation queries, and `value` is the mean over all trainings. The
    intervals are 1.96 standard errors over queries. That of `value` is over the validation queries of all folds, each
    with its mean over seeds. It does not cover the variance of the training queries.
    """
    entry: dict[str, Any] = {"queries": whole.queries, "documents": whole.rows, "metric": metric}
    entry |= {"convention": convention.name, "ties": "in expectation"}
    entry |= {"rule": "lower median of the steps that the folds selected", "step": step} if step is not None else {}
    entry["folds"] = []
    for selection in selections:
        mean, half = _interval(selection.values)
        found = {"fold": selection.fold, "seed": selection.seed, "queries": len(selection.values)}
        found |= {} if selection.step is None else {"step": selection.step}
        entry["folds"].append(found | {"value": mean, "half_width": half})
    by_fold: dict[int, list[np.ndarray]] = {}
    for selection in selections:
        by_fold.setdefault(selection.fold, []).append(selection.values)
    pooled = np.concatenate([np.mean(values, axis=0) for values in by_fold.values()])
    means = [found["value"] for found in entry["folds"] if found["value"] is not None]
    return entry | {"value": round(float(np.mean(means)), 6) if means else None, "half_width": _interval(pooled)[1]}


def _interval(values: np.ndarray) -> tuple[float | None, float | None]:
    """Return the mean of the defined values, and half its 95% interval; None without enough values."""
    defined = values[~np.isnan(values)]
    mean = round(float(defined.mean()), 6) if len(defined) else None
    half = round(float(Z * defined.std(ddof=1) / np.sqrt(len(defined))), 6) if len(defined) > 1 else None
    return mean, half
