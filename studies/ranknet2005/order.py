"""The order of the paper's methods: paired comparisons over queries and seeds, and experiments that explain it.

The order differs from the order in the paper. The nets are trained with other parameters. The number of hidden units
that the nets use is measured. Some methods are trained on fewer queries.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Row, setting
from gradrank.bench.studies.study import Inputs
from gradrank.comparison.significance import decide_row
from gradrank.comparison.statistics import holm, wilcoxon
from gradrank.data.stored import StoredCollection
from gradrank.training.nets.net import Net, standardised
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.steps import Affine, run
from gradrank.training.registry import get_model
from studies.ranknet2005.experiments import METRIC, Training, jobs_on, over_seeds, training_of_job
from studies.ranknet2005.published import PRIVATE, value
from studies.ranknet2005.web_search import METHODS, quadratic_features, table4_trainings

AS_PUBLISHED, REVERSED, NOT_SEPARATED = "as published", "the other way round", "not separated"
VERDICTS = {"better": AS_PUBLISHED, "worse": REVERSED, "no evidence": NOT_SEPARATED}


def gap(first: Sequence[Training], second: Sequence[Training], split: str = "test") -> Row:
    """Return a row with the difference first minus second, and the number of seeds for which it is positive.

    The difference is averaged over the seeds that both methods have, and has a 95% interval. The squared standard error
    is the sum of two parts. One is the squared standard error over queries of the difference averaged over seeds. The
    other is the squared standard error over seeds of the difference averaged over queries. `wilcoxon` is the p value of
    Wilcoxon's test over queries.
    """
    gaps = np.array([a.mean(split) - b.mean(split) for a, b in zip(first, second, strict=False)])
    a, b = over_seeds(first[: len(gaps)], split), over_seeds(second[: len(gaps)], split)
    between = QueryValues(a.folds, a.qids, {METRIC: a.values[METRIC] - b.values[METRIC]})
    variance = (between.half_width(METRIC) / 1.96) ** 2
    if len(gaps) > 1:
        variance += gaps.var(ddof=1) / len(gaps)
    mean, half = float(gaps.mean()), float(1.96 * np.sqrt(variance))
    return {
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "seeds": f"{np.count_nonzero(gaps > 0)} of {len(gaps)}",
        "wilcoxon": wilcoxon(a.values[METRIC], b.values[METRIC]),
    }


def verdict(row: Row) -> str:
    """Return the verdict on a difference that is positive in the paper. row: a row for `decide_row`."""
    return VERDICTS[decide_row(row)]


def order(trainings: Mapping[str, Sequence[Training]]) -> dict[str, Any]:
    """Return the facts of the section on the order of the methods. trainings: the trainings of each variant."""
    methods = table4_trainings(trainings)
    means = {METHODS[method][0]: np.mean([own.mean("test") for own in runs]) for method, runs in methods.items()}
    return {
        "published_order": [METHODS[method][0] for method in reversed(methods)],
        "our_order": sorted(means, key=lambda name: -means[name]),
        "order": order_rows(methods),
        "words": (AS_PUBLISHED, NOT_SEPARATED, REVERSED),
        "wilcoxon": _net_tests(methods),
    }


def order_rows(trainings: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return one row per pair of methods. Pairs of methods that are neighbours in Table 4 come first."""
    pairs = sorted(combinations(list(trainings), 2), key=lambda pair: _rank(pair[1]) - _rank(pair[0]))
    rows = []
    for worse, better in pairs:
        difference = gap(trainings[better], trainings[worse])
        rows.append(
            {
                "better": METHODS[better][0],
                "worse": METHODS[worse][0],
                "published": _published(better) - _published(worse),
            }
            | difference
        )
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
        row["verdict"] = verdict(row)
    return rows


def _rank(method: str) -> int:
    """Return the position of a method in METHODS."""
    return list(METHODS).index(method)


def _published(method: str) -> float:
    """Return the published test value of a method. Table 4 has one for every method."""
    number = value("Table 4", PRIVATE, METHODS[method][0], 0, "ndcg@15_test")
    assert number is not None
    return number


def _net_tests(trainings: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return the rows of Wilcoxon's test between the two nets, which is the only significance test of the paper."""
    two, one = trainings["table4_two_layer"], trainings["table4_one_layer"]
    by_seed = [
        wilcoxon(a.values["test"].values[METRIC], b.values["test"].values[METRIC])
        for a, b in zip(two, one, strict=False)
    ]
    return [
        {"what": "published", "p": value("text 6.2", PRIVATE, "two layer against one layer", 0, "wilcoxon_p")},
        {"what": "ours, means over seeds", "p": gap(two, one)["wilcoxon"]},
        *({"what": f"ours, seed {seed}", "p": p} for seed, p in enumerate(by_seed, start=1)),
    ]


NETS = ("table4_one_layer", "table4_two_layer")
# (better method, worse method) according to the paper
PAIRS = (("table4_two_layer", "table4_one_layer"), ("table4_linear_prank", "table4_quad_prank"))
ALL = "all"


def explanations(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> dict[str, Any]:
    """Return the facts of the section on the experiments on one data set. trainings: the trainings of each variant."""
    nets, fewer = _net_comparisons(inputs, dataset, trainings), _fewer(inputs, dataset, trainings)
    others = [row for row in nets if row["model"] != NETS[1]]
    by_queries = [row for row in fewer if row["worse"] == METHODS["table4_quad_prank"][0]]
    return {
        "nets": nets,
        "unchanged": next((row for row in nets if row["model"] == NETS[1]), None),
        "changes": others,
        "ahead": [row["change"] for row in others if row["vali_gap"] > 0],
        "above": sum(row["verdict"] == AS_PUBLISHED for row in nets),
        "below": sum(row["verdict"] == REVERSED for row in nets),
        "units": _units(inputs, dataset),
        "fewer": fewer,
        "by_queries": by_queries,
        "has_one_sign": len({row["difference"] > 0 for row in by_queries}) == 1,
        "paper_weights": quadratic_features(569),
    }


def _change(inputs: Inputs, dataset: str, method: str) -> tuple[str, dict[str, Any]]:
    """Return the method of Table 4 that a variant changes, and the changed parameters.

    The changed parameters are a dict of their names and new values.
    """
    params = inputs.params(dataset, method)
    for base in METHODS:
        if base in inputs.models:
            others = inputs.params(dataset, base)
            if others["model"] == params["model"]:
                return base, {key: value for key, value in params.items() if value != others[key]}
    return method, {}


def _net_comparisons(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return the rows that compare every two-layer net with the one-layer net that is trained in the same way.

    If there is no such net, the one-layer net of Table 4 is used.
    """
    rows = []
    changes = {method: _change(inputs, dataset, method) for method in trainings}
    for method, (base, changed) in changes.items():
        if base != NETS[1]:
            continue
        matching = (name for name, change in changes.items() if change == (NETS[0], changed))
        one_layer = next(matching, NETS[0])
        two, one = trainings[method], trainings[one_layer]
        epochs = [step["epoch"] for training in two for step in training.kept]
        rows.append(
            {"model": method, "against": one_layer, "change": _in_words(changed)}
            | {"epoch": float(np.median(epochs)), "two": _mean(two), "one": _mean(one)}
            | {f"{split}_gap": gap(two, one, split)["difference"] for split in ("train", "vali")}
            | gap(two, one)
        )
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
        row["verdict"] = verdict(row)
    return sorted(rows, key=lambda row: row["model"] not in NETS)


def _mean(trained: Sequence[Training]) -> float:
    """Return the mean test value over folds and trainings."""
    return float(np.mean([training.mean("test") for training in trained]))


def _in_words(changed: Mapping[str, Any]) -> str:
    """Return the changed parameters in words, or `none`."""
    return ", ".join(f"{key}: {setting(value)}" for key, value in changed.items()) or "none"


def _units(inputs: Inputs, dataset: str) -> list[Row]:
    """Return the rows of the numbers of hidden units that the nets use.

    The numbers are measured on the validation documents, with the models that the workflow trained.
    """
    rows = []
    for method in inputs.models:
        base, changed = _change(inputs, dataset, method)
        if base == NETS[1]:
            measured = np.mean(list(_of_folds(inputs, dataset, method)), axis=0)
            rows.append(
                {"model": method, "change": _in_words(changed), "units": inputs.params(dataset, method)["hidden"]}
                | {"used": measured[0], "linear": measured[1]}
            )
    return sorted(rows, key=lambda row: row["model"] not in NETS)


def _of_folds(inputs: Inputs, dataset: str, method: str) -> Iterator[tuple[float, float]]:
    """Yield the result of `units_in_use` for each fold."""
    stored, params = StoredCollection.open(inputs.data / dataset), inputs.params(dataset, method)
    for number, parts in enumerate(stored.folds, start=1):
        fold = inputs.method(dataset, method).fold(number)
        ranker = get_model(params["model"]).load(fold.model_path)
        assert isinstance(ranker, NetRanker)
        yield units_in_use(ranker.net, stored.read(parts["vali"]).features)


def units_in_use(net: Net, features: np.ndarray) -> tuple[float, float]:
    """Return the effective number of tanh units, and the linear share of the variance of the scores.

    features: (n, d). The effective number is (sum of c)^2 / sum of c^2 over the units. For each unit, c is the absolute
    output weight times the standard deviation of the output. The linear share is the share of the variance that a
    linear function of the features explains.
    """
    x = standardised(features, net.mean, net.scale)
    *steps, output = net.steps
    assert isinstance(output, Affine)
    hidden = run(tuple(steps), x[:, :, None])[:, 0].astype(np.float64)
    weight = np.abs(output.weights[:, 0]) * hidden.std(axis=0)
    scores = hidden @ output.weights[:, 0]
    inputs = np.column_stack([x.astype(np.float64), np.ones(len(x))])
    residuals = scores - inputs @ np.linalg.lstsq(inputs, scores, rcond=None)[0]
    return float(weight.sum() ** 2 / (weight**2).sum()), float(1 - residuals.var() / scores.var())


def _fewer(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> list[Row]:
    """Return the rows that compare the methods of each pair in PAIRS for each number of training queries."""
    jobs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for job in jobs_on(inputs, dataset):
        if job["queries"] is not None:
            jobs.setdefault((job["method"], job["queries"]), []).append(job)
    stored, rows = StoredCollection.open(inputs.data / dataset), []
    for better, worse in PAIRS:
        weights = _weights(inputs, dataset, stored.features, (better, worse))
        for queries in sorted({queries for method, queries in jobs if method == better}):
            first, second = (jobs[method, queries] for method in (better, worse))
            documents = float(np.mean([fold["documents"] for job in first for fold in job["folds"]]))
            sides = [[training_of_job(job) for job in side] for side in (first, second)]
            rows.append(_fewer_row(better, worse, f"{queries:,}", documents, weights, *sides))
        if better in trainings and worse in trainings and jobs:
            documents = float(np.mean([_documents(stored, fold["train"]) for fold in stored.folds]))
            rows.append(_fewer_row(better, worse, ALL, documents, weights, trainings[better], trainings[worse]))
    return rows


def _weights(inputs: Inputs, dataset: str, features: int, pair: Sequence[str]) -> int:
    """Return the number of weights of the larger method of a pair.

    The larger method is quadratic PRank or the two-layer net.
    """
    if "table4_quad_prank" in pair:
        return quadratic_features(features)
    return inputs.params(dataset, NETS[1])["hidden"] * (features + 2)


def _documents(stored: StoredCollection, parts: Sequence[int]) -> int:
    """Return the number of documents in the given parts."""
    return sum(stored.part(part)["rows"] for part in parts)


def _fewer_row(
    better: str,
    worse: str,
    queries: str,
    documents: float,
    weights: int,
    first: Sequence[Training],
    second: Sequence[Training],
) -> Row:
    """Return one row: the means of both methods, their difference, and the number of weights per document."""
    return (
        {"better": METHODS[better][0], "worse": METHODS[worse][0], "queries": queries, "documents": documents}
        | {"weights": weights / documents}
        | {"first": _mean(first), "second": _mean(second)}
        | gap(first, second)
    )
