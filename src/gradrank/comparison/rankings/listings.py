"""Frames that list all metrics and all conventions."""

import inspect
import re
from dataclasses import asdict

import polars as pl

from gradrank.measures.conventions import CONVENTIONS
from gradrank.measures.metrics import METRICS


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
