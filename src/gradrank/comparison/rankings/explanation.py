"""Explanation of the differences between conventions, and frames that list all metrics and all conventions.

The explanation is the same ranking's NDCG@k under the rules of every program.
"""

import inspect
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import number
from gradrank.comparison.rankings.inputs import judged, ranking
from gradrank.comparison.rankings.result import Result, Section, section
from gradrank.comparison.rankings.tied_scores import tied_scores, tied_scores_note, warn_of_tied_scores
from gradrank.measures.conventions import CONVENTIONS, PROGRAMS, Convention
from gradrank.measures.metrics import METRICS, compute

REFERENCE = "standard"
SHOWN = 10  # number of queries that are printed
ROUNDING = 1e-12  # largest difference that counts as a rounding error
# key: a field of a convention that changes NDCG. values: the rule of a convention, and the reason for one query.
FIELDS = {
    "gain": ("linear gain", "linear gain"),
    "discount": ("LETOR's discount", "LETOR's discount"),
    "short": ("0 for fewer than k documents", "fewer than k documents"),
    "empty": ("1 without relevant documents", "no relevant document"),
    "ties": ("ties in order of document id", "ties"),
}


@dataclass(frozen=True, repr=False, eq=False)
class ConventionExplanation(Result):
    """The values of NDCG@k of one ranking under the conventions of all programs, as `explain_convention` returns them.

    Printing shows all frames, but only the first rows of `queries`. In a notebook, the frames are shown as HTML tables.

    means: frame with one row per convention: `convention`, `mean`, `difference` (from the mean under `standard`),
    `queries` (number of queries whose value differs), and `rules` (the rules of NDCG that differ from `standard`).
    reasons: frame with one row per convention and reason: `convention`, `reasons`, `queries` and `difference`, which is
    how much these queries contribute to the difference of the means. queries: frame with one row per query and
    convention other than `standard`: `qid`, `convention`, `value`, `standard` (value under `standard`), `difference`,
    `documents`, `relevant` (numbers of documents and of relevant documents) and `reasons`. Rows are sorted by the
    absolute difference, the largest first. k: rank at which NDCG is computed. note: the text about equal scores under
    `standard`; may be empty.

    To find the reasons for the difference of a query, each rule of the convention alone is replaced by the rule of
    `standard`. A rule is a reason if this replacement changes the value of the query. If no replacement changes the
    value, each rule alone is added to `standard`, and a rule is a reason if the value under `standard` changes.
    """

    means: pl.DataFrame
    reasons: pl.DataFrame
    queries: pl.DataFrame
    k: int
    note: str = ""

    def sections(self) -> list[Section]:
        """Return the tables of the means, the reasons and the first queries."""
        means = [
            [
                row["convention"],
                row["rules"],
                number(row["mean"]),
                number(row["difference"], "+.4f"),
                f"{row['queries']:,}",
            ]
            for row in self.means.to_dicts()
        ]
        reasons = [
            [row["convention"], row["reasons"], f"{row['queries']:,}", number(row["difference"], "+.4f")]
            for row in self.reasons.to_dicts()
        ]
        differing = self.queries.filter(pl.col("difference") != 0)
        queries = [
            [
                *(str(row["qid"]), row["convention"], row["reasons"], number(row["value"]), number(row["standard"])),
                *(f"{row['documents']:,}", f"{row['relevant']:,}"),
            ]
            for row in differing.head(SHOWN).to_dicts()
        ]
        label = f"NDCG@{self.k}"
        head = ["convention", "rules that differ", "mean", "difference", "queries that differ"]
        caption = f"{label} of one ranking, compared with the convention `standard`"
        parts = [section(caption, head, 2, means, "means", self.note)]
        if reasons:
            head = ["convention", "reason", "queries", "difference of means"]
            parts.append(section(f"Reasons for the differences in {label}", head, 2, reasons, "reasons"))
            head = ["qid", "convention", "reason", label, "standard", "documents", "relevant"]
            caption = f"Largest differences in {label}: {len(queries)} of {len(differing):,}"
            parts.append(section(caption, head, 3, queries, "queries"))
        return parts


def explain_convention(
    y: Any, scores: Any, *, qid: Any = None, k: int = 10, docid: Any = None
) -> ConventionExplanation:
    """Compute NDCG@k of one ranking under the conventions of all programs, with the reasons for the differences.

    Parameters
    ----------
    y, scores, qid, docid
        Relevance grades, scores, query ids and document ids, or paths. See `evaluate`.
    k
        Rank at which NDCG is computed.

    Returns
    -------
    ConventionExplanation
        The mean under every convention (`means`), the reasons (`reasons`), and the queries (`queries`).

    Raises
    ------
    GradrankError
        If the data are malformed, or if k is not a positive integer.

    Examples
    --------
    >>> from gradrank import explain_convention
    >>> result = explain_convention([1, 0, 0, 0], [0.9, 0.8, 0.7, 0.6], qid=[1, 1, 2, 2], k=2)
    >>> result.means.filter(convention="lightgbm").select("mean", "difference", "rules").row(0)
    (1.0, 0.5, '1 without relevant documents')
    >>> result.queries.select("qid", "convention", "reasons").row(0)
    (2, 'lightgbm', 'no relevant document')
    """
    refuse_fork("explain_convention")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise GradrankError(f"k: expected a positive integer, found {k!r}. Fix: give k=10")
    judgements, values, ranked = ranking(judged(y, qid, docid), scores, "scores")
    name, cache = f"ndcg@{k}", {}

    def ndcg(convention: Convention) -> np.ndarray:
        key = tuple(getattr(convention, field) for field in FIELDS)
        if key not in cache:
            arrays = values, judgements.labels, judgements.offsets
            cache[key] = compute([name], *arrays, convention, judgements.docids, ranked)[name]
        return cache[key]

    base = PROGRAMS[REFERENCE]
    columns = {
        "qid": pl.Series(judgements.ids),
        "standard": ndcg(base),
        "documents": np.diff(judgements.offsets),
        "relevant": np.add.reduceat(judgements.labels > 0, judgements.offsets[:-1], dtype=np.int64),
    }
    tables, rules = [], {}
    for program, convention in PROGRAMS.items():
        fields = [field for field in FIELDS if getattr(convention, field) != getattr(base, field)]
        rules[program] = ", ".join(FIELDS[field][0] for field in fields)
        reasons = _reasons(ndcg, base, convention, fields)
        tables.append(pl.DataFrame(columns | {"convention": program, "value": ndcg(convention), "reasons": reasons}))
    tied = tied_scores({name: ndcg(base)}, values, judgements.labels, judgements.offsets, base, ranked)
    note = tied_scores_note({"": tied}, base)
    warn_of_tied_scores({"": tied}, note, stacklevel=2)
    return replace(_explanation(pl.concat(tables), rules, int(k)), note=note)


def _reasons(ndcg: Any, base: Convention, convention: Convention, fields: list[str]) -> pl.Series:
    """Return the (q,) reasons for the difference between two conventions, as text; empty if there is no difference.

    ndcg: function that returns the (q,) values under a convention. fields: the fields in which the conventions differ.
    """
    value, standard = ndcg(convention), ndcg(base)
    differs = _differ(value, standard)
    undone = {
        field: differs & _differ(ndcg(replace(convention, **{field: asdict(base)[field]})), value) for field in fields
    }
    unexplained = differs & ~np.any([np.zeros(len(value), bool), *undone.values()], axis=0)
    texts = np.full(len(value), "", dtype=object)
    for field in fields:
        alone = unexplained & _differ(ndcg(replace(base, **{field: asdict(convention)[field]})), standard)
        is_reason = undone[field] | alone
        texts[is_reason] = [f"{text}, {FIELDS[field][1]}".removeprefix(", ") for text in texts[is_reason]]
    return pl.Series(texts.tolist(), dtype=pl.String)


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) > ROUNDING


def _explanation(table: pl.DataFrame, rules: dict[str, str], k: int) -> ConventionExplanation:
    """Build the frames from one row per query and convention."""
    difference = pl.col("value") - pl.col("standard")
    table = table.with_columns(difference=pl.when(difference.abs() > ROUNDING).then(difference).otherwise(0.0))
    by_convention = table.group_by("convention", maintain_order=True)
    means = by_convention.agg(
        mean=pl.col("value").mean(), difference=pl.col("difference").mean(), queries=(pl.col("difference") != 0).sum()
    ).with_columns(rules=pl.col("convention").replace_strict(rules))
    queries = table["qid"].len() // len(rules)
    differing = table.filter(pl.col("difference") != 0)
    reasons = (
        differing.group_by("convention", "reasons", maintain_order=True)
        .agg(queries=pl.len(), difference=pl.col("difference").sum() / queries)
        .sort(pl.col("difference").abs(), descending=True, maintain_order=True)
        .sort(pl.col("convention").replace_strict({name: i for i, name in enumerate(rules)}), maintain_order=True)
    )
    order = ["qid", "convention", "value", "standard", "difference", "documents", "relevant", "reasons"]
    by_query = table.filter(pl.col("convention") != REFERENCE).select(order)
    by_query = by_query.sort(pl.col("difference").abs(), descending=True, maintain_order=True)
    return ConventionExplanation(means, reasons, by_query, k)


def metrics() -> pl.DataFrame:
    """Return one row per metric.

    Returns
    -------
    polars.DataFrame
        `name`: pattern of the name, with parameters in braces. `label`: name in the literature. `definition`: text.
        `expected_ties`: whether the metric is defined under conventions with `ties="expected"`. `source`: publication,
        or null.

    Examples
    --------
    >>> from gradrank import metrics
    >>> metrics().filter(name="mrr").select("label", "source").row(0)
    ('MRR', 'Voorhees 1999')
    """
    rows = []
    for name, metric in METRICS.items():
        text = " ".join((inspect.getdoc(metric.definition) or "").split())
        source = re.search(r"Source: (.*)\.$", text)
        definition = re.split(r"(?<=[^.]\.) (?=[A-Za-z])", text)[0].removeprefix("Return ").removeprefix("the ")
        row = {"name": name, "label": metric.label, "definition": definition[0].upper() + definition[1:]}
        rows.append(row | {"expected_ties": metric.has_expectation, "source": source[1] if source else None})
    return pl.DataFrame(rows, infer_schema_length=None)


def conventions() -> pl.DataFrame:
    """Return one row per convention.

    Returns
    -------
    polars.DataFrame
        `name`, `summary`, and the choices of the evaluation program: `gain`, `discount`, `empty`, `short`,
        `short_precision`, `ties`, `recall_level` and `max_grade`. The class
        `gradrank.measures.conventions.Convention` explains them.

    Examples
    --------
    >>> from gradrank import conventions
    >>> conventions().filter(name="trec").select("gain", "ties").row(0)
    ('linear', 'docid')
    """
    return pl.DataFrame([asdict(convention) for convention in CONVENTIONS.values()], infer_schema_length=None)
