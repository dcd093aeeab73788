"""The jobs of the study: RankSVM with the hinge loss in the primal, with the L2 penalty and with the L1 penalty."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.models.ranksvm import RankSVMNDCGParams, RankSVMParams
from gradrank.training.selection import Criterion
from gradrank.training.solvers.ranksvm import group_by_grade, solve_smoothed_hinge

PENALTIES = ("l2", "l1")
PARAMS = {"pair": RankSVMParams(), "ndcg": RankSVMNDCGParams()}  # the grid of C and the criterion by weighting
METRICS = ("ndcg@10", "ndcg@15", "map", "ndcg_beta")
CONVENTION = "letor4"
DIGITS = 6  # decimal places of the values in the file of a job


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Train the forms on every fold of a data set. `seed` has no effect, because nothing is random.

    Returns the data set and, for each form, one dict per fold with the selected C, the query ids and the values of the
    test queries. The name of a form is that of `form_name`.
    """
    stored = StoredCollection.open(data / settings["dataset"])
    forms: dict[str, list[dict[str, Any]]] = {}
    for parts in stored.folds:
        for weighting in PARAMS:
            for penalty in PENALTIES:
                fold = _run_fold(stored, parts, weighting, penalty)
                forms.setdefault(form_name(weighting, penalty), []).append(fold)
    return {"dataset": settings["dataset"], "forms": forms}


def form_name(weighting: str, penalty: str) -> str:
    """Return the name of a form, such as `ranksvm_ndcg_l1_sparse` for the hinge loss with the L1 penalty."""
    model = "ranksvm_ndcg" if weighting == "ndcg" else "ranksvm"
    return f"{model}_l1_{'primal' if penalty == 'l2' else 'sparse'}"


def _run_fold(
    stored: StoredCollection, parts: Mapping[str, Sequence[int]], weighting: str, penalty: str
) -> dict[str, Any]:
    """Return the selected C, the query ids and the values of the test queries of a fold."""
    with guard_test_part([stored.part_file(part) for part in parts["test"]], form_name(weighting, penalty)):
        train, vali = (stored.read(parts[split]) for split in ("train", "vali"))
        C, weights = select_form(train, vali, weighting, penalty)
    test = stored.read(parts["test"])
    scores = test.features.astype(np.float64) @ weights
    values = compute(METRICS, scores, test.labels, test.offsets, CONVENTION, ids=None)
    rounded = {metric: _listed(of_metric) for metric, of_metric in values.items()}
    return {"C": C, "qids": test.qids.tolist(), "values": rounded}


def _listed(values: np.ndarray) -> list[float | None]:
    """Return values as a list with None for nan, as in JSON."""
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def select_form(train: Collection, vali: Collection, weighting: str, penalty: str) -> tuple[float, np.ndarray]:
    """Return the C with the best validation value, the smallest of equal ones, and its (d,) weights."""
    params = PARAMS[weighting]
    features, pairs = train.features.astype(np.float64), group_by_grade(train, weighting)
    criterion = Criterion(params.select_by, vali.labels, vali.offsets, vali.convention)
    weights, best = np.zeros(features.shape[1]), (-np.inf, 0.0, np.zeros(features.shape[1]))
    for C in sorted(params.C):
        weights = solve_smoothed_hinge(features, pairs, C, weights, penalty)
        value = criterion.mean(vali.features.astype(np.float64) @ weights)
        if value > best[0]:
            best = value, C, weights
    return best[1], best[2]
