"""Functions for the content that all kinds of states share: summary.json, values per query and provenance.json."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.stamps import SCHEMA
from gradrank.base.validation import flat
from gradrank.bench.diff.state import MODEL, MethodResults
from gradrank.bench.diff.sweeps import entry_of
from gradrank.bench.folds import file_order
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import KEYS, QueryValues, query_values
from gradrank.bench.folds.primary import DEFAULT
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.bench.provenance.record_form import fault_of_record
from gradrank.bench.provenance.records import GIVEN_SHA256
from gradrank.bench.report.tables.dataset_values import RECALL_LEVELS
from gradrank.bench.results import SUMMARY
from gradrank.measures.conventions import in_expectation
from gradrank.training.registry import models

if TYPE_CHECKING:
    import polars as pl

Summaries = Mapping[str, Mapping[str, Mapping[str, float | None]]]  # keys: data set, method, metric; values: means
Values = Mapping[str, Mapping[str, QueryValues]]  # keys: data set, method


def measured(frame: "pl.DataFrame", conventions: Mapping[str, str]) -> dict[str, dict[str, QueryValues]]:
    """Return the values per query under the primary convention of each data set.

    The outer keys are data sets, the inner keys are methods. frame: rows as returned by `join_test_queries`.
    conventions: the primary convention of each data set.
    """
    values: dict[str, dict[str, QueryValues]] = {}
    methods = frame.group_by("dataset", "model", "convention", maintain_order=True)
    for (dataset, model, convention), rows in methods:
        if convention == conventions.get(dataset, DEFAULT):
            metrics = [
                name
                for name in rows.columns
                if name not in (*KEYS, *RECALL_LEVELS) and rows[name].null_count() < len(rows)
            ]
            values.setdefault(dataset, {})[model] = query_values(rows, metrics)
    return values


def all_measured(
    in_git: Iterable["pl.DataFrame"], whole: "pl.DataFrame | None", conventions: Mapping[str, str]
) -> dict[str, dict[str, QueryValues]]:
    """Return the values of `measured` from several tables.

    in_git: the tables in the files queries.parquet, which have two metrics. whole: the table of all metrics, or None if
    it is not available. For the data sets in `whole`, the values in `whole` replace those in `in_git`.
    """
    values: dict[str, dict[str, QueryValues]] = {}
    for frame in in_git if whole is None else (*in_git, whole):
        values |= measured(frame, conventions)
    return values


def tie_notices(tables: Iterable["pl.DataFrame"], conventions: Mapping[str, str]) -> list[str]:
    """Return notices on data sets with methods whose values depend on the order of tied documents in the file.

    tables: as in `all_measured`. conventions: the primary convention of each data set.
    """
    notices = {}
    for table in tables:
        for dataset, primary in conventions.items():
            expected = in_expectation(primary)
            names = (primary, expected) if expected else ()
            own = table.filter(dataset=dataset)
            by_name = {name: measured(own, {dataset: name}).get(dataset, {}) for name in names}
            models = sorted(set.intersection(*map(set, by_name.values()))) if by_name else []
            values = {model: {name: by_name[name][model] for name in names} for model in models}
            if found := file_order.note(file_order.file_order(values, primary)):
                notices[dataset] = f"{dataset}: {found[0]}"
    return list(notices.values())


def methods_of(
    summaries: Summaries, values: Values, costs: Mapping[tuple[str, str], Cost | None]
) -> dict[str, dict[str, MethodResults]]:
    """Return the results of all methods. The outer keys are data sets, the inner keys are methods.

    The methods of a data set are the methods in its summary.json. Without a summary.json, they are the methods with
    values per query. costs: the keys are (data set, method).
    """
    return {
        dataset: {
            model: _method(summaries.get(dataset, {}).get(model, {}), by_model.get(model), costs.get((dataset, model)))
            for model in sorted(summaries.get(dataset, by_model))
        }
        for dataset in sorted({*summaries, *values})
        for by_model in [values.get(dataset, {})]
    }


def _method(summary: Mapping[str, float | None], values: QueryValues | None, cost: Cost | None) -> MethodResults:
    if values is None:
        return MethodResults(summary, None, cost)
    means = {metric: values.mean(metric) for metric in values.values}
    defined = {metric: None if np.isnan(mean) else mean for metric, mean in means.items()}
    return MethodResults({**summary, **defined}, values, cost)


def notices_of(summaries: Summaries, values: Values, fix: str) -> list[str]:
    """Return notices on data sets without per-query values, and on data sets with an inconsistent summary.json.

    A summary.json is inconsistent if its means are not the means of the per-query values.

    fix: how to get the values per query.
    """
    without_values = [dataset for dataset in summaries if dataset not in values]
    inconsistent = [
        dataset
        for dataset, summary in summaries.items()
        if any(
            mean is not None and metric in of_model.values and abs(of_model.mean(metric) - mean) > 1e-4
            for model, means in summary.items()
            if (of_model := values.get(dataset, {}).get(model)) is not None
            for metric, mean in means.items()
        )
    ]
    notices = []
    if without_values:
        notices.append(
            f"{', '.join(without_values)}: only the means of {SUMMARY} are available, so nothing is tested for "
            f"significance. {fix}"
        )
    if inconsistent:
        notices.append(
            f"{', '.join(inconsistent)}: {SUMMARY} is not the mean of the values per query, so the two come from "
            "different runs or conventions. The values per query are compared"
        )
    return notices


def of_provenance(dataset: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a State that are recorded in the provenance.json of a data set.

    The fields are `conventions`, `params`, `data`, `code` and `versions`. record: content of provenance.json. The
    result is empty if the record has a different schema version, or if `gradrank` did not write it.
    """
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA or fault_of_record(record, is_study=False):
        return {}
    methods = record["methods"] | record.get("members", {})
    data = {"source": record["data"]["source_sha256"], "pairs": record["data"].get(GIVEN_SHA256)}
    data |= {f"scores of {name}": method.get("scores") for name, method in methods.items()}
    return {
        "conventions": record["params"]["evaluation"]["convention"],
        "params": params_of(dataset, record["params"] | {"models": methods}),
        "data": {name: digest for name, digest in data.items() if digest},
        "code": record["code"] | {f"train {name}": method["train"] for name, method in methods.items()},
        "versions": record["versions"],
    }


def params_of(dataset: str, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters of one data set for a State. The outer keys are sections of params.yaml.

    The inner keys are dotted keys within a section.

    values: `seed`, `seeds` if there are several, `dataset` (its settings), `pairs`, `evaluation`, and `models`, as
    described by `gradrank.bench.provenance.settings.variant_settings`.
    """
    return {
        "": {key: values[key] for key in ("seed", "seeds") if key in values},
        f"datasets.{dataset}": flat(values["dataset"]),
        "pairs": flat(values.get("pairs", {})),
        "evaluation": flat(values["evaluation"]),
    } | {
        f"models.{name}": flat(_all_params(variant)) | own_model(name, variant["model"])
        for name, variant in values["models"].items()
    }


def own_model(name: str, model: str) -> dict[str, str]:
    """Return a dict with the registered model of a named variant; empty if the entry has the name of its model."""
    return {} if model in (entry_of(name), IMPORTED) else {MODEL: model}


def _all_params(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variant's parameters, with the present defaults for parameters that are not recorded."""
    model = models().get(variant["model"])
    return (model.Params().model_dump(mode="json") if model else {}) | variant.get("params", {})
