"""What results have in common, wherever they lie: summary.json, values a query and provenance.json."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.results import SUMMARY
from gradrank.base.stamps import SCHEMA
from gradrank.base.validation import flat
from gradrank.diff.state import MethodResults
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import KEYS, QueryValues, query_values
from gradrank.evaluation.primary import DEFAULT
from gradrank.provenance.settings import short_digest
from gradrank.report.tables.dataset_values import RECALL_LEVELS
from gradrank.training.registry import models

if TYPE_CHECKING:
    import polars as pl

Summaries = Mapping[str, Mapping[str, Mapping[str, float | None]]]
Values = Mapping[str, Mapping[str, QueryValues]]


def measured(frame: "pl.DataFrame", conventions: Mapping[str, str]) -> dict[str, dict[str, QueryValues]]:
    """By data set and method: the values, under the data set's convention, of rows as of `join_test_queries`."""
    found: dict[str, dict[str, QueryValues]] = {}
    methods = frame.group_by("dataset", "model", "convention", maintain_order=True)
    for (dataset, model, convention), rows in methods:
        if convention == conventions.get(dataset, DEFAULT):
            metrics = [
                name
                for name in rows.columns
                if name not in (*KEYS, *RECALL_LEVELS) and rows[name].null_count() < len(rows)
            ]
            found.setdefault(dataset, {})[model] = query_values(rows, metrics)
    return found


def all_measured(
    in_git: Iterable["pl.DataFrame"], whole: "pl.DataFrame | None", conventions: Mapping[str, str]
) -> dict[str, dict[str, QueryValues]]:
    """As `measured`: of the data sets that `whole` holds every metric, of others the two of each queries.parquet."""
    found: dict[str, dict[str, QueryValues]] = {}
    for frame in in_git if whole is None else (*in_git, whole):
        found |= measured(frame, conventions)
    return found


def methods_of(
    summaries: Summaries, values: Values, costs: Mapping[tuple[str, str], Cost | None]
) -> dict[str, dict[str, MethodResults]]:
    """The methods of each summary.json; of a data set without one, every method that has values."""
    return {
        dataset: {
            model: _method(summaries.get(dataset, {}).get(model, {}), own.get(model), costs.get((dataset, model)))
            for model in sorted(summaries.get(dataset, own))
        }
        for dataset in sorted({*summaries, *values})
        for own in [values.get(dataset, {})]
    }


def _method(summary: Mapping[str, float | None], values: QueryValues | None, cost: Cost | None) -> MethodResults:
    if values is None:
        return MethodResults(summary, None, cost)
    means = {metric: values.mean(metric) for metric in values.values}
    known = {metric: None if np.isnan(mean) else mean for metric, mean in means.items()}
    return MethodResults({**summary, **known}, values, cost)


def faults(summaries: Summaries, values: Values, cure: str) -> list[str]:
    """What to know of data sets without values a query, and of those whose summary.json is not their mean."""
    without = [dataset for dataset in summaries if dataset not in values]
    unlike = [
        dataset
        for dataset, summary in summaries.items()
        if any(
            mean is not None and metric in own.values and abs(own.mean(metric) - mean) > 1e-4
            for model, means in summary.items()
            if (own := values.get(dataset, {}).get(model)) is not None
            for metric, mean in means.items()
        )
    ]
    found = []
    if without:
        found.append(
            f"{', '.join(without)}: only the means of {SUMMARY} are known. Significance needs the values a "
            f"query: {cure}"
        )
    if unlike:
        found.append(
            f"{', '.join(unlike)}: {SUMMARY} is not the mean of the values a query, which are what is compared: "
            "the two are of different runs or conventions"
        )
    return found


def of_provenance(dataset: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data set's `conventions`, `params`, `data`, `code` and `versions` of a Side, from its provenance.json.

    A record of another schema says nothing that can be compared: the result is then empty.
    """
    if record.get("schema") != SCHEMA:
        return {}
    methods = record["methods"]
    return {
        "conventions": record["params"]["evaluation"]["convention"],
        "params": params_of(dataset, record["params"] | {"models": methods}),
        "data": {"source": record["data"]["source_sha256"]},
        "code": record["code"] | {f"train {name}": own["train"] for name, own in methods.items()},
        "versions": record["versions"],
    }


def params_of(dataset: str, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a Side's parameters of one data set from `seed`, `seeds` if there are several, `dataset` (its settings),
    `pairs`, `models` (as `variant_settings` describes them) and `evaluation`.
    """
    return {
        "": {key: values[key] for key in ("seed", "seeds") if key in values},
        f"datasets.{dataset}": flat(values["dataset"]),
        "pairs": flat(values.get("pairs", {})),
        "evaluation": flat(values["evaluation"]),
    } | {f"models.{name}": flat(_all_params(variant)) for name, variant in values["models"].items()}


def _all_params(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variant's parameters with today's defaults, and a digest of all where another default was in force."""
    known = models().get(variant["model"])
    values = (known.Params().model_dump(mode="json") if known else {}) | variant.get("params", {})
    return values if short_digest(values) == variant["digest"] else values | {"all values": variant["digest"]}
