"""The order of the paper's methods: paired comparisons over queries and seeds, and experiments that explain it.

The order differs from the order in the paper. The nets are trained with other parameters. The number of hidden units
that the nets use is measured. Some methods are trained on fewer queries.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, P, Row, Table, setting
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.comparison.significance import RULE, decide_row
from gradrank.comparison.statistics import holm, wilcoxon
from gradrank.data.stored import StoredCollection
from gradrank.training.nets.layer_functions import affine
from gradrank.training.nets.net import Net, standardised
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.registry import get_model
from studies.ranknet2005.experiments import METRIC, Training, jobs_on, over_seeds, training_of_job
from studies.ranknet2005.published import PRIVATE, value
from studies.ranknet2005.web_search import METHODS, PARTS, quadratic_features, table4_trainings

AS_PUBLISHED, REVERSED, NOT_SEPARATED = "as published", "the other way round", "not separated"
VERDICTS = {"better": AS_PUBLISHED, "worse": REVERSED, "no evidence": NOT_SEPARATED}
GAP = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("seeds", "seeds above"),
)


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


def order(dataset: str, trainings: Mapping[str, Sequence[Training]]) -> PageSection:
    """Return the section on the order of the methods on one data set. trainings: the trainings of each variant."""
    methods = table4_trainings(trainings)
    rows = order_rows(methods)
    counts = {word: sum(row["verdict"] == word for row in rows) for word in (AS_PUBLISHED, NOT_SEPARATED, REVERSED)}
    means = {
        METHODS[method][0]: np.mean([training.mean("test") for training in runs]) for method, runs in methods.items()
    }
    ours = " > ".join(sorted(means, key=lambda name: -means[name]))
    published = " > ".join(METHODS[method][0] for method in reversed(methods))
    return PageSection(
        f"order_{dataset}",
        f"The order of Table 4, on {dataset}",
        [
            f"Published: {published}. Ours, by the mean over seeds: {ours}. Of {len(rows)} pairs "
            f"{', '.join(f'{count} {word}' for word, count in counts.items())}."
        ],
        [
            Table(
                f"order_{dataset}",
                "Every two methods, test NDCG@15",
                (
                    Column("better", "better, as published"),
                    Column("worse", "worse, as published"),
                    Column("published", "published", "+.3f"),
                    *GAP,
                    Column("wilcoxon", "p (Wilcoxon)", P),
                    Column("wilcoxon_holm", "p (Holm)", P),
                    Column("verdict", "order"),
                ),
                rows,
                "Ours: the mean over seeds of the better one minus the worse one; the interval holds the variance over "
                "queries and over seeds; p of Wilcoxon's test over queries, their means over seeds, corrected by Holm. "
                f"{RULE}",
            ),
            _net_tests(dataset, methods),
        ],
    )


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


def _net_tests(dataset: str, trainings: Mapping[str, Sequence[Training]]) -> Table:
    """Return the table of Wilcoxon's test between the two nets, which is the only significance test of the paper."""
    two, one = trainings["table4_two_layer"], trainings["table4_one_layer"]
    by_seed = [
        wilcoxon(a.values["test"].values[METRIC], b.values["test"].values[METRIC])
        for a, b in zip(two, one, strict=False)
    ]
    rows = [
        {"what": "published", "p": value("text 6.2", PRIVATE, "two layer against one layer", 0, "wilcoxon_p")},
        {"what": "ours, means over seeds", "p": gap(two, one)["wilcoxon"]},
        *({"what": f"ours, seed {seed}", "p": p} for seed, p in enumerate(by_seed, start=1)),
    ]
    return Table(
        f"wilcoxon_{dataset}",
        "Section 6.2: the two-layer net against the one-layer net",
        (Column("what", ""), Column("p", "p (Wilcoxon), two-sided", P)),
        rows,
        "Over test queries. The paper: the null hypothesis can be rejected at the 16% level.",
    )


NETS = ("table4_one_layer", "table4_two_layer")
# (better method, worse method) according to the paper
PAIRS = (("table4_two_layer", "table4_one_layer"), ("table4_linear_prank", "table4_quad_prank"))
ALL = "all"


def explanations(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> PageSection:
    """Return the section on the experiments on one data set. trainings: the trainings of each variant."""
    nets, fewer = _net_comparisons(inputs, dataset, trainings), _fewer(inputs, dataset, trainings)
    return PageSection(
        f"explanations_{dataset}",
        f"Experiments on the order, on {dataset}",
        [
            "These experiments measure whether the order of two methods changes with the training or with the number "
            "of queries. Both nets were trained with other steps, and the two-layer net longer. The table of hidden "
            "units says how much of what it learns is more than a linear form. "
            f"{_in_short(nets)} {_separated(nets)}",
            "Quadratic PRank has a weight per feature and per product of two features. The paper has 569 features, so "
            f"{quadratic_features(569):,} weights for 384,314 training documents. Few features have few products. On "
            "fewer training queries, the same methods have more weights per document. "
            f"{_smallest(fewer)}",
        ],
        [table for table in (nets, _units(inputs, dataset), fewer) if table.rows],
    )


def _in_short(nets: Table) -> str:
    """Return a sentence with the difference between the two nets of Table 4.

    It also names the changes of the training that make the difference positive on validation.
    """
    unchanged = next((row for row in nets.rows if row["model"] == NETS[1]), None)
    if unchanged is None:
        return ""
    gaps = zip(PARTS.values(), (unchanged["train_gap"], unchanged["vali_gap"], unchanged["difference"]), strict=True)
    parts = ", ".join(f"{difference:+.4f} on {part}" for part, difference in gaps)
    ahead = [row["change"] for row in nets.rows if row["vali_gap"] > 0 and row is not unchanged]
    of = f"{len(ahead)} of {len(nets.rows) - 1} changes"
    listed = f" ({'; '.join(ahead)})" if ahead else ""
    return f"Two layers minus one, as in Table 4: {parts} queries. With {of} it is above zero on validation{listed}."


def _separated(nets: Table) -> str:
    """Return a sentence that says for how many trainings the two nets are separated on the test queries."""
    if not nets.rows:
        return ""
    above = sum(row["verdict"] == AS_PUBLISHED for row in nets.rows)
    below = sum(row["verdict"] == REVERSED for row in nets.rows)
    counts = f"better than one in {above} of {len(nets.rows)} trainings, and worse in {below}"
    text = f"On test queries, two layers are {counts}."
    return text if above else f"{text} That two layers are better in the paper is unexplained."


def _smallest(fewer: Table) -> str:
    """Return the difference between linear and quadratic PRank in words, for each number of training queries."""
    rows = [row for row in fewer.rows if row["worse"] == METHODS["table4_quad_prank"][0]]
    if not rows:
        return ""
    differences = "; ".join(f"{row['difference']:+.4f} on {row['queries']}" for row in rows)
    sign = "changes" if len({row["difference"] > 0 for row in rows}) > 1 else "is the same"
    return (
        f"Linear minus quadratic, by training queries: {differences}. The sign {sign}. "
        "Fewer queries change more than the weights per document, so the cause is not shown."
    )


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


def _net_comparisons(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> Table:
    """Return the table that compares every two-layer net with the one-layer net that is trained in the same way.

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
    return Table(
        f"nets_{dataset}",
        "Two layers minus one, trained otherwise",
        (
            Column("model", "two-layer net"),
            Column("change", "changed"),
            Column("against", "one-layer net"),
            Column("epoch", "epoch kept", ".0f"),
            Column("two", "test, two layers", ".4f"),
            Column("one", "test, one layer", ".4f"),
            Column("train_gap", "two minus one, training", "+.4f"),
            Column("vali_gap", "validation", "+.4f"),
            *GAP,
            Column("wilcoxon_holm", "p (Holm)", P),
            Column("verdict", "order"),
        ),
        sorted(rows, key=lambda row: row["model"] not in NETS),
        "NDCG@15, mean over folds and seeds. The columns from the difference on are about test queries, as in the "
        f"table of the order. {RULE}",
    )


def _mean(trained: Sequence[Training]) -> float:
    """Return the mean test value over folds and trainings."""
    return float(np.mean([training.mean("test") for training in trained]))


def _in_words(changed: Mapping[str, Any]) -> str:
    """Return the changed parameters in words, or `none`."""
    return ", ".join(f"{key}: {setting(value)}" for key, value in changed.items()) or "none"


def _units(inputs: Inputs, dataset: str) -> Table:
    """Return the table of the numbers of hidden units that the nets use.

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
    return Table(
        f"units_{dataset}",
        "Hidden units in use",
        (
            Column("model", "two-layer net"),
            Column("change", "changed"),
            Column("units", "units", "d"),
            Column("used", "in use", ".2f"),
            Column("linear", "linear share of the score", ".3f"),
        ),
        sorted(rows, key=lambda row: row["model"] not in NETS),
        "In use: (sum of c)^2 / sum of c^2, c a unit's output weight times its deviation over validation documents. "
        "Linear share: of the score's variance, what a linear form of the features explains. Mean over folds.",
    )


def _of_folds(inputs: Inputs, dataset: str, method: str) -> Iterator[tuple[float, float]]:
    """Yield the result of `units_in_use` for each fold."""
    stored, params = StoredCollection.open(inputs.data / dataset), inputs.params(dataset, method)
    for number, parts in enumerate(stored.folds, start=1):
        fold = inputs.method(dataset, method).fold(number)
        ranker = get_model(params["model"]).load(fold.model_path)
        assert isinstance(ranker, NetRanker) and isinstance(ranker.net, Net)
        yield units_in_use(ranker.net, stored.read(parts["vali"]).features)


def units_in_use(net: Net, features: np.ndarray) -> tuple[float, float]:
    """Return the effective number of tanh units, and the linear share of the variance of the scores.

    features: (n, d). The effective number is (sum of c)^2 / sum of c^2 over the units. For each unit, c is the absolute
    output weight times the standard deviation of the output. The linear share is the share of the variance that a
    linear function of the features explains.
    """
    x = standardised(features, net.mean, net.scale)
    hidden = np.tanh(affine(x, net.weights[0], net.biases[0])).astype(np.float64)
    weight = np.abs(net.weights[1][:, 0]) * hidden.std(axis=0)
    scores = hidden @ net.weights[1][:, 0]
    inputs = np.column_stack([x.astype(np.float64), np.ones(len(x))])
    residuals = scores - inputs @ np.linalg.lstsq(inputs, scores, rcond=None)[0]
    return float(weight.sum() ** 2 / (weight**2).sum()), float(1 - residuals.var() / scores.var())


def _fewer(inputs: Inputs, dataset: str, trainings: Mapping[str, Sequence[Training]]) -> Table:
    """Return the table that compares the methods of each pair in PAIRS for each number of training queries."""
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
    columns = (
        Column("better", "better, as published"),
        Column("worse", "worse, as published"),
        Column("queries", "training queries"),
        Column("documents", "documents", ",.0f"),
        Column("weights", "weights per document", ".3f"),
        Column("first", "test, better", ".4f"),
        Column("second", "test, worse", ".4f"),
        *GAP,
    )
    note = (
        "Test NDCG@15, mean over folds and seeds, each seed with training queries of its own; better minus worse. "
        "Weights are those of the two-layer net and of quadratic PRank; the paper's had .015 and .42 per document."
    )
    return Table(f"fewer_{dataset}", "On fewer training queries", columns, rows, note)


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
