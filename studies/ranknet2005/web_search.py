"""Tables 3 to 6 of the paper: its six methods on a public collection.

The collection replaces the paper's private one. Every method is trained with several seeds.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues, timings
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.tables import difference_columns, difference_row
from gradrank.data.pairs import pair_counts
from gradrank.data.stored import StoredCollection
from studies.ranknet2005.experiments import CONVENTION, METRIC, Training, over_seeds
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
NAMED = (Column("model", "variant"), Column("method", "published as"))


def web_search(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> PageSection:
    """Return the section on Tables 3 to 6 for one data set. trainings: the trainings of each variant."""
    by_method = table4_trainings(trainings)
    return PageSection(
        f"tables3456_{dataset}",
        f"Tables 3 to 6, on {dataset}",
        [
            "The paper's collection is private: levels get no verdict, the order of the methods does (the next "
            "section). Each method is trained for 100 epochs, as the paper says, and keeps the epoch with the best "
            "NDCG@15 on validation: RankNet by plain gradient descent at rate .001, halved when the mean error rose, "
            "one step per query along the sum over its pairs, not one step per pair as in the paper (for steps per "
            "pair, see the experiments below); PRank unless its training error has not changed for 10 epochs; RankProp "
            f"as a single-layer net{_decay(inputs, dataset)}; OAP-BPM at tau .3, the number of its perceptrons chosen "
            "on validation.",
            f"The paper replaces the counts among its {_fact('features'):,.0f} features by their logs. The features "
            f"of {dataset} are published after scaling within each query, so there are no counts here.",
            f"NDCG@15 as the paper defines it (`{CONVENTION}`), mean over folds and {_seeds(by_method)} seeds; ± is "
            "1.96 standard errors over queries, spread the standard deviation over seeds. Training selects by the same "
            "measure with the discount of LETOR's program, which has none at rank 2, and without queries of fewer than "
            "15 documents.",
        ],
        [
            _sizes(inputs, dataset),
            _measured(dataset, by_method),
            _epochs(dataset, by_method),
            _published_times(dataset),
            _times(inputs, dataset, by_method),
        ],
    )


def table4_trainings(trainings: Mapping[str, Sequence[Training]]) -> dict[str, Sequence[Training]]:
    """Return the trainings of METHODS, in the order of Table 4."""
    return {method: trainings[method] for method in METHODS if method in trainings}


def _seeds(by_method: Mapping[str, Sequence[Training]]) -> int:
    """Return the number of seeds of the method with the fewest seeds; 0 if there are no methods."""
    return min(map(len, by_method.values()), default=0)


def _decay(inputs: Inputs, dataset: str) -> str:
    """Return a clause on the weight decay of RankProp, which the paper does not mention; empty without RankProp."""
    method = "table4_rankprop"
    if method not in inputs.models:
        return ""
    decay = inputs.params(dataset, method)["weight_decay"]
    return f", by AdamW with a weight decay of {decay:g}, which the paper does not mention"


def _fact(metric: str, model: str = "") -> float:
    """Return a published number of the paper's section 6.1."""
    number = value("text 6.1", PRIVATE, model, 0, metric)
    assert number is not None
    return number


def _sizes(inputs: Inputs, dataset: str) -> Table:
    """Return Table 3 and the numbers of section 6.1. Ours are means over folds."""
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
    rows += [
        _size("training", "share of the unjudged documents, %", unlabelled, 0),
        _size("training", "pairs", _fact("pairs_train"), _training_pairs(stored)),
    ]
    return Table(
        f"table3_{dataset}",
        "Table 3: the data",
        (
            Column("split", "part"),
            Column("what", ""),
            Column("published", "published", ",.0f"),
            Column("ours", "ours, mean over folds", ",.0f"),
        ),
        rows,
        "The paper's validation and test parts have every document that was returned for a query, judged or not. Its "
        f"training part has the judged documents and {unlabelled:.0f}% of the others, chosen at random as examples of "
        "low relevance. All parts here have only judged documents. Pairs are those of unequal grades within a query.",
    )


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


def _measured(dataset: str, by_method: Mapping[str, Sequence[Training]]) -> Table:
    """Return Tables 4 and 5: the means of each method on each part."""
    return Table(
        f"tables45_{dataset}",
        "Tables 4 and 5: NDCG@15",
        (
            *NAMED,
            Column("split", "part"),
            *difference_columns(),
            Column("half_width", "half 95% interval", ".4f"),
            Column("spread", "spread", ".4f"),
            Column("seeds", "seeds", "d"),
        ),
        [_row(method, split, trainings) for method, trainings in by_method.items() for split in PARTS],
        "Table 5 is the training part, published of the two nets alone. A training query counts once, with its mean "
        "over the folds that train on it.",
    )


def _row(method: str, split: str, trainings: Sequence[Training]) -> Row:
    """Return the row of one method and part."""
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


def _epochs(dataset: str, by_method: Mapping[str, Sequence[Training]]) -> Table:
    """Return the table of the selected epochs, and of the numbers of perceptrons that OAP-BPM selected."""
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
    return Table(
        f"epochs_{dataset}",
        "Section 6.2: the epochs that were kept",
        (
            *NAMED,
            Column("published", "published", ".0f"),
            Column("ours", "ours, median", ".0f"),
            Column("least", "least", "d"),
            Column("most", "most", "d"),
            Column("epochs", "epochs trained, at least", "d"),
            Column("perceptrons", "perceptrons chosen (folds and seeds)"),
        ),
        rows,
        "Over folds and seeds. The paper says for the two nets in which epoch validation was best.",
    )


def _published_times(dataset: str) -> Table:
    """Return the published numbers of Table 6."""
    fastest = _published_minutes(METHODS["table4_linear_prank"][1])
    return Table(
        f"table6_published_{dataset}",
        "Table 6: the published training times of 100 epochs",
        [*NAMED, Column("theirs", "theirs, h:mm"), Column("their_ratio", "linear PRank = 1", ".1f")],
        [
            {"model": method, "method": name, "theirs": _published_time(name)}
            | {"their_ratio": _published_minutes(name) / fastest}
            for method, (_, name) in sorted(METHODS.items(), key=lambda item: _published_minutes(item[1][1]))
        ],
        "A 3 GHz machine of 2005, on the paper's private collection. Our times differ from run to run, so they are "
        "only in the report of a run.",
    )


def _times(inputs: Inputs, dataset: str, by_method: Mapping[str, Sequence[Training]]) -> Table:
    """Return Table 6: the training time of 100 epochs, extrapolated from the trained epochs."""
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
    return Table(
        f"table6_{dataset}",
        "Table 6: our training times of 100 epochs",
        [
            *NAMED,
            Column("theirs", "theirs, seconds", ",.0f"),
            Column("ours", "ours, seconds per fold", ",.2f"),
            Column("their_ratio", "theirs, linear PRank = 1", ".1f"),
            Column("our_ratio", "ours, linear PRank = 1", ".1f"),
        ],
        rows,
        "Theirs: a 3 GHz machine of 2005, a private collection. Ours: the run's training, mean over folds, one thread, "
        "validation after each epoch included.",
        timed=True,
    )


def _published_time(method: str) -> str:
    """Return a published training time, which the paper prints as h:mm."""
    return published()["Table 6", PRIVATE, method, 0, "train_time_h_mm"][0]


def _published_minutes(method: str) -> float:
    """Return a published training time in minutes."""
    hours, minutes = _published_time(method).split(":")
    return 60 * int(hours) + int(minutes)
