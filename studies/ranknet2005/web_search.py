"""Tables 3 to 6 of the paper: its six methods on a public collection.

The collection replaces the paper's private one. Every method is trained with several seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues, timings
from gradrank.bench.report.tables.table import Row
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.tables import difference_row
from gradrank.data.pairs import pair_counts
from gradrank.data.stored import StoredCollection
from studies.ranknet2005.experiments import METRIC, Training, over_seeds
from studies.ranknet2005.published import PRIVATE, published, value

PARTS = {"train": "training", "vali": "validation", "test": "test"}
# The keys are our variants. The values are the names of the method in Tables 4 and 6 of the paper. The order is that of
# Table 4.
METHODS = {
    "table4_quad_prank": ("Quad PRank", "Quad PRank"),
    "table4_linear_prank": ("Linear PRank", "Linear PRank"),
    "table4_oap_bpm": ("OAP-BPM", "OAP-BPM"),
    "table4_rankprop": ("RankProp", "RankProp"),
    "table4_one_layer": ("One layer net", "One layer RankNet"),
    "table4_two_layer": ("Two layer net", "Two layer RankNet"),
}


def web_search(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> dict[str, Any]:
    """Return the facts of the section on Tables 3 to 6. trainings: the trainings of each variant."""
    by_method = table4_trainings(trainings)
    rankprop = "table4_rankprop"
    return {
        "decay": inputs.params(dataset, rankprop)["weight_decay"] if rankprop in inputs.models else None,
        "features": _fact("features"),
        "unlabelled": _fact("unlabelled_documents_train_percent"),
        "seeds": min(map(len, by_method.values()), default=0),
        "sizes": _sizes(inputs, dataset),
        "measured": [_row(method, split, own) for method, own in by_method.items() for split in PARTS],
        "epochs": _epochs(by_method),
        "published_times": _published_times(),
        "times": _times(inputs, dataset, by_method),
    }


def table4_trainings(trainings: Mapping[str, Sequence[Training]]) -> dict[str, Sequence[Training]]:
    """Return the trainings of METHODS, in the order of Table 4."""
    return {method: trainings[method] for method in METHODS if method in trainings}


def _fact(metric: str, model: str = "") -> float:
    """Return a published number of the paper's section 6.1."""
    number = value("text 6.1", PRIVATE, model, 0, metric)
    assert number is not None
    return number


def _sizes(inputs: Inputs, dataset: str) -> list[Row]:
    """Return the rows of Table 3 and the numbers of section 6.1. Ours are means over folds."""
    stored = StoredCollection.open(inputs.data / dataset)
    quad = METHODS["table4_quad_prank"][0]
    rows = [
        _size("all", "features", _fact("features"), stored.features),
        _size("all", "features of quadratic PRank", _fact("features", quad), quadratic_features(stored.features)),
    ]
    for split, part in PARTS.items():
        text, note = published()["Table 3", PRIVATE, "", 0, f"queries_{part.replace('training', 'train')}"]
        published_sizes = {"queries": float(text), "documents": float(note.split()[0])}
        for what, key in (("queries", "queries"), ("documents", "rows")):
            ours = [sum(stored.part(part)[key] for part in fold[split]) for fold in stored.folds]
            rows.append(_size(part, what, published_sizes[what], float(np.mean(ours))))
    unlabelled = _fact("unlabelled_documents_train_percent")
    return [
        *rows,
        _size("training", "share of the unjudged documents, %", unlabelled, 0),
        _size("training", "pairs", _fact("pairs_train"), _training_pairs(stored)),
    ]


def _size(part: str, what: str, published: float, ours: float) -> Row:
    return {"split": part, "what": what, "published": published, "ours": float(ours)}


def quadratic_features(features: int) -> int:
    """Return the number of features and of their products, squares included."""
    return features * (features + 3) // 2


def _training_pairs(stored: StoredCollection) -> float:
    """Return the number of training pairs of unequal grades, averaged over folds."""
    parts = {part for fold in stored.folds for part in fold["train"]}
    read = {part: stored.read([part]) for part in parts}
    pairs = {part: pair_counts(rows.labels, rows.offsets, False).sum() for part, rows in read.items()}
    return float(np.mean([sum(pairs[part] for part in fold["train"]) for fold in stored.folds]))


def _row(method: str, split: str, trainings: Sequence[Training]) -> Row:
    """Return the row of Tables 4 and 5 of one method and part."""
    name, part = METHODS[method][0], PARTS[split]
    published = (
        value("Table 5", PRIVATE, name, 0, "ndcg@15_train")
        if split == "train"
        else value("Table 4", PRIVATE, name, 0, f"ndcg@15_{part}")
    )
    means = [training.mean(split) for training in trainings]
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
    return (
        {"model": method, "method": name, "split": part}
        | difference_row(published, float(np.mean(means)))
        | {"half_width": half_width(over_seeds(trainings, split)), "spread": spread, "seeds": len(means)}
    )


def half_width(values: QueryValues) -> float:
    """Return 1.96 standard errors over queries. The value of a query is its mean over the folds that contain it."""
    _, query = np.unique(values.qids, return_inverse=True)
    query_values = values.values[METRIC]
    known = ~np.isnan(query_values)
    counts = np.bincount(query[known], minlength=query.max() + 1)
    means = np.bincount(query[known], query_values[known], query.max() + 1)[counts > 0] / counts[counts > 0]
    return float(1.96 * means.std(ddof=1) / np.sqrt(len(means)))


def _epochs(by_method: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return the rows of the selected epochs, and of the numbers of perceptrons that OAP-BPM selected."""
    rows = []
    for method, trainings in by_method.items():
        kept = [step for training in trainings for step in training.kept]
        epochs = [int(step["epoch"]) for step in kept]
        numbers = [int(step["members"]) for step in kept if step.get("members")]
        counted = ", ".join(f"{number} ({numbers.count(number)})" for number in sorted(set(numbers)))
        rows.append(
            {"model": method, "method": METHODS[method][0]}
            | {"published": value("text 6.2", PRIVATE, METHODS[method][0], 0, "best_epoch")}
            | {"ours": float(np.median(epochs)), "least": min(epochs), "most": max(epochs)}
            | {"epochs": int(min(step["epochs"] for step in kept)), "perceptrons": counted}
        )
    return rows


def _published_times() -> list[Row]:
    """Return the published numbers of Table 6."""
    fastest = _published_minutes(METHODS["table4_linear_prank"][1])
    return [
        {"model": method, "method": name, "theirs": _published_time(name)}
        | {"their_ratio": _published_minutes(name) / fastest}
        for method, (_, name) in sorted(METHODS.items(), key=lambda item: _published_minutes(item[1][1]))
    ]


def _times(inputs: Inputs, dataset: str, by_method: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return the rows of Table 6: the training time of 100 epochs, extrapolated from the trained epochs."""
    ours = {}
    for method, (first, *_) in by_method.items():
        cost = Cost.of(timings(inputs.method(dataset, method)))
        epochs = np.mean([step["epochs"] for step in first.kept])
        ours[method] = 100 * cost.mean_fit_seconds / epochs if cost else np.nan
    linear = "table4_linear_prank"
    fastest = _published_minutes(METHODS[linear][1])
    rows = []
    for method in sorted(by_method, key=ours.__getitem__):
        theirs = _published_minutes(METHODS[method][1])
        rows.append(
            {"model": method, "method": METHODS[method][1], "theirs": 60 * theirs, "ours": ours[method]}
            | {"their_ratio": theirs / fastest, "our_ratio": ours[method] / ours.get(linear, np.nan)}
        )
    return rows


def _published_time(method: str) -> str:
    """Return a published training time, which the paper prints as h:mm."""
    return published()["Table 6", PRIVATE, method, 0, "train_time_h_mm"][0]


def _published_minutes(method: str) -> float:
    """Return a published training time in minutes."""
    hours, minutes = _published_time(method).split(":")
    return 60 * int(hours) + int(minutes)
