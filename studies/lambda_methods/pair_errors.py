"""Rankings with fewer pair errors and a worse NDCG: the example of Burges 2010, and examples on real data.

The accuracy on pairs and NDCG@10 of RankNet, LambdaRank and LambdaMART are compared, too.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.bench.studies.tables import NOTE, PAIR_COLUMNS, describe_significant, mean_columns, pair_tests
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute, metric_label
from gradrank.measures.score_files import read_scores

RANKNET, LAMBDARANK = "ranknet_two_layer", "lambdarank"
METRIC = "ndcg@10"
SHOWN = 8  # largest number of relevant documents of an example that are listed
CONVENTION = "standard"  # discount 1/log2(1 + rank), as in Burges 2010
# Burges 2010, figure 1: two relevant documents among 16. Their ranks in the ranking on the left and on the right.
FIGURE_DOCUMENTS = 16
FIGURE = {"left": (1, 15), "right": (4, 10)}


def pair_errors(inputs: Inputs) -> PageSection:
    """Return the section on pair errors and NDCG."""
    compared = {dataset: _compare(inputs, dataset) for dataset in inputs.datasets}
    rows = [row for dataset, queries in compared.items() for row in count_examples(dataset, queries)]
    examples = [example for dataset, queries in compared.items() for example in clearest_example(dataset, queries)]
    label = metric_label(METRIC)
    return PageSection(
        "pair_errors",
        "Fewer pair errors, worse NDCG",
        [
            "The claim: RankNet's cost counts pairs, so a ranking with fewer pairs in the wrong order can have a worse "
            f"NDCG. {_figure_sentence()}",
            f"On the test queries, {RANKNET} and {LAMBDARANK} are compared. A query is an example if one of the two "
            f"rankings has fewer pair errors and a lower {label}. The last table has, for each data set, the example "
            f"with the largest loss of {label}.",
            *(_verdict(dataset, rows) for dataset in inputs.datasets),
        ],
        [
            Table("figure", "The figure of Burges 2010", FIGURE_COLUMNS, _figure_rows()),
            Table("pair_errors", "Test queries where one ranking has fewer pair errors and a lower NDCG", COUNTS, rows),
            Table("pair_errors_example", "The clearest example of each data set", EXAMPLE, examples),
        ],
    )


FIGURE_COLUMNS = (
    Column("ranking"),
    Column("ranks", "relevant documents at ranks"),
    Column("errors", "pair errors", "d"),
    Column("ndcg", "NDCG", ".4f"),
    Column("ndcg@10", "NDCG@10", ".4f"),
)
COUNTS = (
    Column("dataset", "data set"),
    Column("fewer", "ranking with fewer errors"),
    Column("queries", "test queries with pairs", "d"),
    Column("fewer_errors", "with fewer errors", "d"),
    Column("worse", f"of them with a lower {metric_label(METRIC)}", "d"),
    Column("share", "share", ".1%"),
)
EXAMPLE = (
    Column("dataset", "data set"),
    Column("query"),
    Column("documents", "documents", "d"),
    Column("ranking"),
    Column("errors", "pair errors", "d"),
    Column("value", metric_label(METRIC), ".4f"),
    Column("ranks", f"ranks of the first {SHOWN} relevant documents, with their grades"),
)


def _figure_rows() -> list[Row]:
    """Return one row per ranking of the figure: its pair errors and its NDCG."""
    rows: list[Row] = []
    for name, ranks in FIGURE.items():
        labels = np.zeros(FIGURE_DOCUMENTS, np.int64)
        labels[np.array(ranks) - 1] = 1
        scores, offsets = -np.arange(FIGURE_DOCUMENTS, dtype=float), np.array([0, FIGURE_DOCUMENTS])
        values = compute(["ndcg", METRIC, "pairwise_error"], scores, labels, offsets, CONVENTION)
        pairs = len(ranks) * (FIGURE_DOCUMENTS - len(ranks))
        errors = round(float(values.pop("pairwise_error")[0]) * pairs)
        measured = {metric: float(value[0]) for metric, value in values.items()}
        rows.append({"ranking": name, "ranks": ", ".join(map(str, ranks)), "errors": errors} | measured)
    return rows


def _figure_sentence() -> str:
    """Return the sentence on the figure of Burges 2010."""
    left, right = _figure_rows()
    shows = left["errors"] > right["errors"] and left["ndcg"] > right["ndcg"]
    return (
        f"In the figure of Burges 2010, two of {FIGURE_DOCUMENTS} documents are relevant. The ranks change from "
        f"{left['ranks']} to {right['ranks']}: the pair errors from {left['errors']} to {right['errors']}, and NDCG "
        f"from {left['ndcg']:.4f} to {right['ndcg']:.4f}. The figure {'shows' if shows else 'does not show'} the claim."
    )


class Compared:
    """The test queries of a data set, ranked by two methods.

    qids: (q,) query ids. grades: the grades of each query, ranked by each method. errors: (q,) numbers of pair errors
    by method. values: (q,) values of METRIC by method. Queries without a pair of different grades are left out.
    """

    def __init__(self) -> None:
        self.qids: list[object] = []
        self.grades: dict[str, list[np.ndarray]] = {name: [] for name in (RANKNET, LAMBDARANK)}
        self.errors: dict[str, list[int]] = {name: [] for name in self.grades}
        self.values: dict[str, list[float]] = {name: [] for name in self.grades}

    def add_fold(
        self, labels: np.ndarray, offsets: np.ndarray, qids: np.ndarray, scores: Mapping[str, np.ndarray]
    ) -> None:
        """Add the test queries of a fold. scores: (n,) scores by method."""
        spans = list(pairwise(offsets))
        pairs = np.array([_pairs(labels[a:b]) for a, b in spans])
        kept = np.flatnonzero(pairs > 0)
        self.qids += [qids[query] for query in kept]
        for name, of_method in scores.items():
            values = compute([METRIC, "pairwise_error"], of_method, labels, offsets, CONVENTION)
            self.values[name] += values[METRIC][kept].tolist()
            self.errors[name] += np.rint(values["pairwise_error"][kept] * pairs[kept]).astype(int).tolist()
            for a, b in (spans[query] for query in kept):
                self.grades[name].append(labels[a:b][np.argsort(-of_method[a:b], kind="stable")])


def _pairs(labels: np.ndarray) -> int:
    """Return the number of pairs of documents with different grades."""
    counts = np.bincount(labels)
    return int(len(labels) ** 2 - (counts**2).sum()) // 2


def _compare(inputs: Inputs, dataset: str) -> Compared:
    """Return the test queries of all folds, ranked by the two methods with their first seed."""
    stored, compared = StoredCollection.open(inputs.data / dataset), Compared()
    for number, parts in enumerate(stored.folds, start=1):
        judged = read_judgements(stored, parts["test"])
        scores = {}
        for name in compared.grades:
            fold = inputs.method(dataset, name).fold(number)
            fold.check(fold.scores_path)
            scores[name] = read_scores(fold.scores_path, judged)
        compared.add_fold(judged.labels, judged.offsets, judged.ids, scores)
    return compared


def _examples(queries: Compared, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two (q,) booleans: whether `first` has fewer pair errors, and whether it also has a lower value."""
    fewer = np.array(queries.errors[first]) < np.array(queries.errors[second])
    return fewer, fewer & (np.array(queries.values[first]) < np.array(queries.values[second]))


def count_examples(dataset: str, queries: Compared) -> list[Row]:
    """Return one row per ranking that can have fewer errors."""
    rows: list[Row] = []
    for first, second in permutations(queries.grades):
        fewer, worse = _examples(queries, first, second)
        counts = {"queries": len(queries.qids), "fewer_errors": int(fewer.sum()), "worse": int(worse.sum())}
        share = float(worse.sum() / fewer.sum()) if fewer.any() else np.nan
        rows.append({"dataset": dataset, "fewer": first} | counts | {"share": share})
    return rows


def clearest_example(dataset: str, queries: Compared) -> list[Row]:
    """Return the two rankings of the query with the largest loss of METRIC by the ranking with fewer pair errors.

    The ranking with fewer errors comes first. The list is empty if there is no example.
    """
    losses = {}
    for first, second in permutations(queries.grades):
        loss = np.array(queries.values[second]) - np.array(queries.values[first])
        losses[first, second] = np.where(_examples(queries, first, second)[1], loss, 0.0)
    (first, second), loss = max(losses.items(), key=lambda item: item[1].max(initial=0.0))
    if not loss.max(initial=0.0):
        return []
    query = int(loss.argmax())
    return [
        {
            "dataset": dataset,
            "query": str(queries.qids[query]),
            "documents": len(queries.grades[name][query]),
            "ranking": name,
            "errors": queries.errors[name][query],
            "value": queries.values[name][query],
            "ranks": _ranks(queries.grades[name][query]),
        }
        for name in (first, second)
    ]


def _ranks(grades: np.ndarray) -> str:
    """Return the ranks of the first relevant documents with their grades, such as `1 (2), 4 (1)`."""
    ranks = np.flatnonzero(grades > 0)[:SHOWN]
    return ", ".join(f"{rank + 1} ({grades[rank]})" for rank in ranks)


def _verdict(dataset: str, rows: Sequence[Row]) -> str:
    """Return a sentence with the number of examples on a data set."""
    own = [row for row in rows if row["dataset"] == dataset]
    parts = " and ".join(
        f"{row['worse']} of {row['fewer_errors']} where {row['fewer']} has fewer errors" for row in own
    )
    found = any(row["worse"] for row in own)
    return f"{dataset}: examples are {parts}. That fewer errors can come with a worse NDCG {_holds(found)}."


def _holds(holds: bool) -> str:
    return "holds" if holds else "does not hold"


METRICS = ("pairwise_accuracy", "ndcg@10")
METHODS = ("lambdamart", "lambdarank", "ranknet_two_layer")  # the newest first


def accuracy(inputs: Inputs) -> PageSection:
    """Return the section on the accuracy on pairs."""
    measured = {
        (dataset, model): inputs.measure(dataset, model, METRICS, CONVENTION)
        for dataset in inputs.datasets
        for model in METHODS
    }
    rows = [{"dataset": dataset, "method": model, "values": values} for (dataset, model), values in measured.items()]
    tests = pair_tests(measured, combinations(METHODS, 2), METRICS)
    heads = [Column("dataset", "data set"), Column("method")]
    return PageSection(
        "accuracy",
        "Accuracy on pairs",
        [
            "The accuracy of a method is the share of the pairs of documents of one query with different grades that "
            "are in the right order. RankNet's cost is a smooth form of the errors on pairs, while LambdaRank and "
            "LambdaMART weigh a pair by the change of NDCG.",
            f"Query by query, {describe_significant(tests, 'dataset', 'pair')}",
        ],
        [
            Table("accuracy", "Means over folds", [*heads, *mean_columns(METRICS)], rows),
            Table("accuracy_tests", "Every two methods", PAIR_COLUMNS, tests, NOTE),
        ],
    )
