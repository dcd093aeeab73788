"""Data and measures for ir_measures. `gradrank.evaluate` reads its objects, and takes its measures as metrics."""

from collections.abc import Iterator
from typing import Any

from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.integrations.judged_rows import judged_rows
from gradrank.measures.conventions import DEFAULT, resolve
from gradrank.measures.metrics import metric_label, metric_name


def to_ir_measures(y: Any, scores: Any, *, qid: Any = None, docid: Any = None) -> tuple[list[Any], list[Any]]:
    """Return a tuple of the lists of ir_measures.Qrel and ir_measures.ScoredDoc.

    The arguments and errors are those of `gradrank.evaluate`. Documents that the ranking leaves out have no ScoredDoc.
    """
    from ir_measures import Qrel, ScoredDoc

    rows = judged_rows(y, scores, qid, docid)
    ranked = rows.filter("ranked").select("query", "docid", "score")
    qrels = [Qrel(*row) for row in rows.select("query", "docid", "grade").iter_rows()]
    return qrels, [ScoredDoc(*row) for row in ranked.iter_rows()]


def measure(metric: str, convention: str = DEFAULT) -> Any:
    """Return a metric of gradrank as a measure of ir_measures, which its functions and PyTerrier's Experiment take.

    metric: name of one metric, such as `err@10`. convention: name of the convention. The name of the measure has both.
    Raises GradrankError for an unknown name.
    """
    from ir_measures import define

    name, resolved = metric_name(metric), resolve(convention)

    def values(qrels: Any, run: Any) -> Iterator[tuple[str, float]]:
        found = evaluate(qrels, run, metrics=name, convention=resolved).per_query
        yield from zip(found["qid"].cast(str), found[name].fill_null(float("nan")), strict=True)

    return define(values, f"{metric_label(name)} ({resolved.name})", support_cutoff=False)
