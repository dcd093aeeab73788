"""Judgements and rankings for ranx. `gradrank.evaluate` and `gradrank.compare` read the objects of ranx themselves."""

from typing import Any

import polars as pl

from gradrank.base.errors import InputError
from gradrank.integrations.judged_rows import judged_rows
from gradrank.measures.held_data import GRADE, SCORE, held_frame


def to_ranx(y: Any, scores: Any, *, qid: Any = None, docid: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return a tuple (ranx.Qrels, ranx.Run). The arguments and errors are those of `gradrank.evaluate`.

    name: the name of the run. Documents that the ranking leaves out are not in the run.
    """
    from ranx import Qrels, Run  # pyright: ignore[reportMissingImports]

    rows = judged_rows(y, scores, qid, docid)
    return Qrels(_nested(rows, "grade")), Run(_nested(rows.filter("ranked"), "score"), name=name)


def _nested(rows: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for query, document, value in rows.select("query", "docid", column).iter_rows():
        nested.setdefault(query, {})[document] = value
    return nested


def from_ranx(data: Any) -> pl.DataFrame:
    """Return ranx.Qrels or a ranx.Run as a frame with `query_id`, `doc_id`, and `relevance` or `score`."""
    frame = held_frame(data, "data", SCORE if type(data).__name__ == "Run" else GRADE)
    if frame is None:
        raise InputError(f"data: expected Qrels or a Run of ranx, found {type(data).__name__}. Fix: give one of them")
    return frame
