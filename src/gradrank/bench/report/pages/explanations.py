"""One page per data set with an explanations.json: important features, and pairs that two methods order differently.

The stage `gradrank.bench.report.explanations` writes the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradrank.base.text_tables import number
from gradrank.bench.report.contents import Contents, ReportedDataset
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.plots.row_plots import FeaturePlot, Measured, interval_rows, signed_bars

MOST_FEATURES = 12  # features in the plot of the importances
MOST_BARS = 8  # features with bars of their own per pair of documents
TOP = 5  # most important features per method that the sentence compares
# Least values of Kendall's tau for each wording.
WORDS = ((0.6, "agree well"), (0.3, "agree in part"), (0.1, "agree little"), (-1.0, "do not agree"))
MOST_NAMED = 3  # features that the text names per document
A, B = "A", "B"  # the two documents of a pair: A has the higher grade


def pages(contents: Contents) -> list[Page]:
    """Return one page per data set with explanations."""
    return [
        _page(dataset, dataset.explanations)
        for dataset in contents.datasets
        if dataset.explanations and dataset.explanations["methods"]
    ]


def _page(dataset: ReportedDataset, found: dict[str, Any]) -> Page:
    methods = [method["model"] for method in found["methods"]]
    importances = {method["model"]: by_feature(method["importance"]) for method in found["methods"]}
    plot = interval_rows(methods, _plotted(importances))
    pairs = [ExplainedPair.of(pair) for pair in found["pairs"]]
    body = render_page(
        "explanations.html",
        dataset=dataset,
        found=found,
        linked=dataset.methods_with_parameters,
        chosen=choice_sentence(found),
        agreement=agreement_sentence(found),
        importances=importances,
        features=_by_largest_drop(importances),
        most=MOST_FEATURES,
        plot=plot,
        pairs=pairs,
    )
    figures = {f"{dataset.name}/importance": plot.stacked("Importance of the features by method")}
    figures |= {
        f"{dataset.name}/pair-{place}": pair.plot.stacked(f"Contributions, query {pair.query}")
        for place, pair in enumerate(pairs, start=1)
    }
    return Page(f"explanations-{dataset.name}", f"{dataset.name}: explanations", body, figures, "Data sets")


def by_feature(rows: Sequence[Mapping[str, Any]]) -> dict[str, Measured]:
    """Return the importance of each feature."""
    return {row["feature"]: Measured(row["drop"], row["low"], row["high"]) for row in rows}


def _by_largest_drop(importances: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    """Return all features, sorted by their largest importance for any method."""
    features = next(iter(importances.values()))
    return sorted(features, key=lambda feature: -max(of[feature].value for of in importances.values()))


def _plotted(importances: Mapping[str, Mapping[str, Measured]]) -> dict[str, list[Measured]]:
    shown = _by_largest_drop(importances)[:MOST_FEATURES]
    return {feature: [of_method[feature] for of_method in importances.values()] for feature in shown}


def choice_sentence(found: Mapping[str, Any]) -> str:
    """Return a sentence that says why these methods were chosen."""
    methods, opponents = found["methods"], found["opponents"]
    best = methods[0]["model"]
    if len(methods) == 1:
        return f"The page explains `{best}`, the only method with a model."
    other = next(method for method in methods if method["model"] == opponents[1])
    is_other_family = other["family"] != methods[0]["family"]
    second = "the best method of another family" if is_other_family else "the second best method"
    worse = ", which is significantly worse" if other["is_worse"] else ""
    text = f"The page explains the best method, `{best}`, and {second}, `{other['model']}`{worse}."
    rest = [method for method in methods if method["model"] not in opponents]
    if not rest:
        return text
    verb = "is" if len(rest) == 1 else "are"
    is_tested = rest[0]["is_worse"] is not None
    reason = f"which {verb} not significantly worse than `{best}`" if is_tested else f"which {verb} next in the mean"
    return f"{text} It also explains {names([method['model'] for method in rest])}, {reason}."


def agreement_sentence(found: Mapping[str, Any]) -> str:
    """Return sentences that say how far the two opponents agree on the importance of the features.

    The text is empty if there is only one method.
    """
    if len(found["opponents"]) < 2:
        return ""
    first, second = found["opponents"]
    tau = next(row["tau"] for row in found["agreement"] if {row["first"], row["second"]} == {first, second})
    ranked = {method["model"]: [row["feature"] for row in method["importance"]] for method in found["methods"]}
    count = len(ranked[first])
    if tau is None:
        return f"`{first}` and `{second}` cannot be compared, because one of them finds all features equally important."
    words = next(words for least, words in WORDS if tau >= least)
    text = f"`{first}` and `{second}` {words} on the importance of the {count} features: "
    text += f"Kendall's tau is {number(tau, '.2f')}."
    return f"{text} {_compare_top({method: ranked[method][:TOP] for method in (first, second)})}"


def _compare_top(top: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence on the most important features of two methods. top: dict from method to its features."""
    first, second = top.values()
    shared = [feature for feature in first if feature in second]
    if len(shared) == len(first):
        return f"Both have the same {len(first)} most important features: {names(shared)}."
    alone = {method: [feature for feature in own if feature not in shared] for method, own in top.items()}
    clauses = [f"both have {names(shared)}"] if shared else []
    clauses += [f"only `{method}` has {names(own)}" for method, own in alone.items()]
    return f"Among their {len(first)} most important features, {', '.join(clauses)}."


def names(listed: Sequence[str]) -> str:
    """Return names as text: "`a`, `b` and `c`"."""
    quoted = [f"`{name}`" for name in listed]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


@dataclass(frozen=True)
class ExplainedPair:
    """A pair of documents with the contributions of the features for two methods.

    reading: sentences on the ranks and the main features, one per method. rows: the table with one dict per feature.
    """

    fold: int
    query: str
    documents: list[dict[str, Any]]
    methods: list[dict[str, Any]]
    reading: list[str]
    plot: FeaturePlot
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, pair: Mapping[str, Any]) -> "ExplainedPair":
        """Build from an entry of the key `pairs` of explanations.json."""
        methods = pair["methods"]
        shares = [_shares(method["contributions"]) for method in methods]
        return cls(
            fold=pair["fold"],
            query=pair["query"],
            documents=[
                {"letter": letter} | document for letter, document in zip((A, B), pair["documents"], strict=True)
            ],
            methods=methods,
            reading=[
                _reading(method, of_method, pair["size"]) for method, of_method in zip(methods, shares, strict=True)
            ],
            plot=signed_bars([method["model"] for method in methods], _bars(shares)),
            rows=list(_rows(methods)),
        )


def _shares(contributions: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return each contribution in percent of the sum of all absolute contributions. Scores have no common unit."""
    total = sum(abs(row["contribution"]) for row in contributions) or 1.0
    return {row["feature"]: 100 * row["contribution"] / total for row in contributions}


def _bars(shares: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the bars of the features with the largest shares, of all other features together, and of their sum."""
    largest = sorted(shares[0], key=lambda feature: -max(abs(of_method[feature]) for of_method in shares))
    shown, rest = largest[:MOST_BARS], largest[MOST_BARS:]
    bars = {feature: [of_method[feature] for of_method in shares] for feature in shown}
    if any(of_method[feature] for of_method in shares for feature in rest):
        bars[f"{len(rest)} others"] = [sum(of_method[feature] for feature in rest) for of_method in shares]
    return bars | {"sum": [sum(of_method.values()) for of_method in shares]}


def _reading(method: Mapping[str, Any], shares: Mapping[str, float], size: int) -> str:
    """Return sentences on the ranks of the two documents, and on the features that decide."""
    rank_a, rank_b = method["ranks"]
    above, below, sign = (A, B, 1) if rank_a < rank_b else (B, A, -1)
    ordered = sorted(shares, key=lambda feature: -sign * shares[feature])
    deciding = [feature for feature in ordered[:MOST_NAMED] if sign * shares[feature] > 0]
    against = [feature for feature in ordered[::-1][:MOST_NAMED] if sign * shares[feature] < 0]
    sentences = [f"`{method['model']}` puts A at rank {rank_a} and B at rank {rank_b} of {size} documents."]
    for document, features in ((above, deciding), (below, against)):
        if features:
            verb = "favours" if len(features) == 1 else "favour"
            sentences.append(f"{_with_shares(features, shares)} {verb} {document} most.")
    return " ".join(sentences)


def _with_shares(features: Sequence[str], shares: Mapping[str, float]) -> str:
    quoted = [f"`{feature}` ({number(abs(shares[feature]), '.0f')}%)" for feature in features]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _rows(methods: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the values of each feature in the two documents and its contributions, in the order of the first method."""
    others = [{row["feature"]: row for row in method["contributions"]} for method in methods]
    for row in methods[0]["contributions"]:
        cells = [
            (of_method[row["feature"]]["contribution"], of_method[row["feature"]]["error"]) for of_method in others
        ]
        if row["a"] != row["b"] or any(contribution for contribution, _ in cells):
            yield {"feature": row["feature"], "values": (row["a"], row["b"]), "contributions": cells}
