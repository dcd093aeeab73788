"""Tables 4 to 6: PRank, OAP-BPM, RankProp and RankNet compared, on a public collection for the private one."""

from collections.abc import Sequence

import numpy as np

from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.seeds import timings
from gradrank.report.tables.table import Column, Row, Table
from gradrank.studies.kit.comparison import level, levels
from gradrank.studies.kit.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.studies.kit.study import Inputs, Section
from gradrank.studies.ranknet2005.published import published, value

METRIC, CONVENTION = "ndcg@15", "standard"  # section 6: 2^r - 1 over log(1 + j), cut at 15
PRIVATE = "commercial search engine (private)"
SPLITS = {"vali": "validation", "test": "test", "train": "training"}
# Our model: what Tables 4 and 6 call it.
METHODS = {
    "prank_quadratic": ("Quad PRank", "Quad PRank"),
    "prank": ("Linear PRank", "Linear PRank"),
    "oap_bpm": ("OAP-BPM", "OAP-BPM"),
    "rankprop": ("RankProp", "RankProp"),
    "ranknet_2005_linear": ("One layer net", "One layer RankNet"),
    "ranknet_2005_two_layer": ("Two layer net", "Two layer RankNet"),
}
NETS = ("ranknet_2005_two_layer", "ranknet_2005_linear")


def web_search(inputs: Inputs, dataset: str) -> Section:
    """Nothing is retrained: NDCG@15 comes from the stored scores."""
    models = [model for model in METHODS if model in inputs.models]
    measured = {
        (model, split): inputs.measure(dataset, model, [METRIC], CONVENTION, split)
        for model in models
        for split in SPLITS
    }
    rows = [_row(model, split, measured[model, split]) for model in models for split in SPLITS]
    best = NETS[0]
    paired = [
        Question({"first": best, "second": other}, METRIC, measured[best, "test"], measured[other, "test"])
        for other in models
        if best in models and other != best
    ]
    return Section(
        f"tables456_{dataset}",
        f"Tables 4 to 6, on {dataset}",
        [
            "The paper's collection is private: levels get no verdict, the order of the methods can agree. NDCG@15 as "
            f"the paper defines it (the `{CONVENTION}` convention), mean over folds; ± is 1.96 standard errors over "
            "queries. A training query counts once, with its mean over the folds that train on it.",
            _order(rows),
        ],
        [
            Table(
                f"tables45_{dataset}",
                "Tables 4 and 5: NDCG@15",
                (
                    Column("model", "model"),
                    Column("method", "published as"),
                    Column("split", "part"),
                    *levels(),
                    Column("half_width", "± 95%", ".4f"),
                ),
                rows,
            ),
            Table(
                f"nets_{dataset}",
                "The two-layer net against the others, test queries",
                (Column("first", "first"), Column("second", "second"), *COLUMNS),
                paired_tests(paired),
                NOTE,
            ),
            _times(inputs, dataset, models),
        ],
    )


def _row(model: str, split: str, values: QueryValues) -> Row:
    method = METHODS[model][0]
    table, part = ("Table 5", "train") if split == "train" else ("Table 4", SPLITS[split])
    there = value(table, PRIVATE, method, 0, f"ndcg@15_{part}")
    row = {"model": model, "method": method, "split": SPLITS[split], "half_width": _half_width(values)}
    return row | level(there, values.mean(METRIC))


def _half_width(values: QueryValues) -> float:
    """1.96 standard errors over queries, each with its mean over the folds it occurs in."""
    _, query = np.unique(values.qids, return_inverse=True)
    found = values.values[METRIC]
    known = ~np.isnan(found)
    counts = np.bincount(query[known], minlength=query.max() + 1)
    means = np.bincount(query[known], found[known], query.max() + 1)[counts > 0] / counts[counts > 0]
    return float(1.96 * means.std(ddof=1) / np.sqrt(len(means)))


def _order(rows: Sequence[Row]) -> str:
    """The methods by test NDCG@15, theirs and ours."""
    test = [row for row in rows if row["split"] == SPLITS["test"]]
    orders = [
        " > ".join(row["method"] for row in sorted(test, key=lambda row: -row[who]))
        for who in ("published", "ours")
    ]
    return f"On the test part, published: {orders[0]}. Ours: {orders[1]}."


def _times(inputs: Inputs, dataset: str, models: Sequence[str]) -> Table:
    fastest = _theirs(METHODS["prank"][1])
    costs = {model: Cost.of(timings(inputs.method(dataset, model))) for model in models}
    ours = {model: cost.mean_fit_seconds if cost else np.nan for model, cost in costs.items()}
    rows = []
    for model in sorted(models, key=ours.get):
        theirs = _theirs(METHODS[model][1])
        rows.append(
            {"model": model, "method": METHODS[model][1], "theirs": 60 * theirs, "ours": ours[model]}
            | {"their_ratio": theirs / fastest, "our_ratio": ours[model] / ours.get("prank", np.nan)}
        )
    return Table(
        f"table6_{dataset}",
        "Table 6: training time",
        [
            Column("model", "model"),
            Column("method", "published as"),
            Column("theirs", "theirs, s", ",.0f"),
            Column("ours", "ours, s a fold", ",.2f"),
            Column("their_ratio", "theirs, linear PRank = 1", ".1f"),
            Column("our_ratio", "ours, linear PRank = 1", ".1f"),
        ],
        rows,
        "Theirs: 100 epochs on a 3 GHz machine of 2005, a private collection. Ours: mean over folds of one thread, "
        "search for hyper-parameters included, training ended by validation.",
        timed=True,
    )


def _theirs(method: str) -> float:
    """Minutes, published as h:mm."""
    hours, minutes = published()["Table 6", PRIVATE, method, 0, "train_time_h_mm"][0].split(":")
    return 60 * int(hours) + int(minutes)
