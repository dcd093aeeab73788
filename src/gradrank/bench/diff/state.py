"""One state of the results: the measured values, how they were made, and the variants that A and B have in common.

The content that all kinds of states share is read from summary.json, the values per query and provenance.json.

Pairs of the variants of a parameter sweep in two states: a value that becomes a sweep, or the reverse.

The name of a variant is the name of its entry in params.yaml, followed by its swept values, as in
`lambdamart-learning_rate=0.05`. If a value becomes a sweep, the same model therefore has different names in A and B.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradrank.base.stamps import SCHEMA
from gradrank.base.validation import flat
from gradrank.bench.config.variants import value_text
from gradrank.bench.folds import file_order
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import KEYS, QueryValues, query_values
from gradrank.bench.folds.settings import IMPORTED
from gradrank.bench.provenance.record_checks import fault_of_record
from gradrank.bench.provenance.records import GIVEN_SHA256
from gradrank.bench.report.tables.dataset_values import RECALL_LEVELS
from gradrank.bench.results import SUMMARY
from gradrank.measures.conventions import DEFAULT, in_expectation
from gradrank.training.registry import models

if TYPE_CHECKING:
    import polars as pl


MODEL = "model"  # key of a section `models.<variant>`: the registered model, if the variant is named differently
Fields = Mapping[str, Mapping[str, Any]]  # outer key: data set or section; inner key: name of the field


@dataclass(frozen=True)
class MethodResults:
    """The results of one method on one data set.

    means: mean over folds of each metric, rounded to four decimals if read from summary.json. values: per-query
    values, or None if only the means are available. cost: training cost, or None if it is not recorded.
    """

    means: Mapping[str, float | None]
    values: QueryValues | None = None
    cost: Cost | None = None


@dataclass(frozen=True)
class State:
    """One state of the results, A or B of a comparison.

    name: as given by the user. kind: `results folder`, `git revision` or `DVC experiment`. revision: the
    commit, if there is one. notices: limitations to show to the user.

    The keys of the other fields are data sets. If a data set has no entry in a field, the state does not record this
    field for the data set. conventions: the primary convention. methods: the results of each method. params: the keys
    are sections of params.yaml, such as `models.ranksvm` or an empty text for the top level; the keys of a section are
    dotted keys. data: checksums of the data; the keys are names. code: digests of the code; the keys are stages.
    versions: versions of packages.
    """

    name: str
    kind: str
    revision: str | None
    conventions: Mapping[str, str]
    methods: Mapping[str, Mapping[str, MethodResults]]
    params: Mapping[str, Fields] = field(default_factory=dict)
    data: Fields = field(default_factory=dict)
    code: Fields = field(default_factory=dict)
    versions: Fields = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def methods_only_in(one: State, other: State, dataset: str) -> list[str]:
    """Return the methods of a data set that `one` has and `other` does not have."""
    return [name for name in one.methods.get(dataset, {}) if name not in other.methods.get(dataset, {})]


class VariantPair(NamedTuple):
    """A method whose names in A and B differ, although its swept values are equal."""

    dataset: str
    a: str
    b: str


def entry_of(name: str) -> str:
    """Return the entry of params.yaml that a method belongs to: the name without swept values."""
    return name.partition("-")[0]


def swept_values(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters whose values are part of a variant's name."""
    return {key: value for key, value in params.items() if f"-{key}={value_text(value)}" in name}


def variant_pairs(a: State, b: State) -> list[VariantPair]:
    """Return the pairs of a method of A and a method of B with different names and equal swept values.

    Both methods have the same entry. Every parameter that is swept in A or in B has the same value in both.
    """
    return [
        VariantPair(dataset, name_a, name_b)
        for dataset in a.methods
        for name_a in methods_only_in(a, b, dataset)
        for name_b in methods_only_in(b, a, dataset)
        if entry_of(name_a) == entry_of(name_b) and _equal_where_swept(dataset, (name_a, a), (name_b, b))
    ]


def _equal_where_swept(dataset: str, *sides: tuple[str, State]) -> bool:
    params = [state.params.get(dataset, {}).get(f"models.{name}", {}) for name, state in sides]
    swept = {key for (name, _), values in zip(sides, params, strict=True) for key in swept_values(name, values)}
    return bool(swept) and all(params[0].get(key) == params[1].get(key) for key in swept)


def with_names_of_b(a: State, pairs: Sequence[VariantPair]) -> State:
    """Return A with the methods of the pairs renamed as in B."""
    names = {(pair.dataset, pair.a): pair.b for pair in pairs}

    def renamed(dataset: str, fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        changed = {f"{prefix}{old}": f"{prefix}{new}" for (of, old), new in names.items() if of == dataset}
        return {changed.get(key, key): value for key, value in fields.items()}

    return replace(
        a,
        methods={dataset: renamed(dataset, methods) for dataset, methods in a.methods.items()},
        params={dataset: renamed(dataset, sections, "models.") for dataset, sections in a.params.items()},
        code={dataset: renamed(dataset, digests, "train ") for dataset, digests in a.code.items()},
    )


def changed_sweeps(dataset: str, a: State, b: State) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, values in A, values in B) for the parameters of an entry whose list of swept values changed.

    Only entries with methods in both states are compared. A parameter that is not swept in a state has one value.
    """
    in_a, in_b = (_entries(dataset, state) for state in (a, b))
    for entry in sorted(in_a.keys() & in_b.keys()):
        swept = {
            key for variants in (in_a, in_b) for name, own in variants[entry].items() for key in swept_values(name, own)
        }
        for key in sorted(swept):
            old, new = (_values(variants[entry], key) for variants in (in_a, in_b))
            if old != new:
                yield f"models.{entry}.{key}", old, new


def _entries(dataset: str, state: State) -> Mapping[str, Fields]:
    """Return the parameters of the methods of a data set. The outer keys are entries, the inner keys are methods."""
    entries: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in state.methods.get(dataset, {}):
        params = state.params.get(dataset, {}).get(f"models.{name}")
        if params is not None:
            entries.setdefault(entry_of(name), {})[name] = params
    return entries


def _values(variants: Fields, key: str) -> Any:
    """Return the list of the values of a swept parameter, or the value itself if the parameter is not swept."""
    values: list[Any] = []
    for params in variants.values():
        if params.get(key) not in values:
            values.append(params.get(key))
    is_swept = any(key in swept_values(name, params) for name, params in variants.items())
    return values if is_swept else values[0]


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
    described by `gradrank.bench.provenance.records.variant_settings`.
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
