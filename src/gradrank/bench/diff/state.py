"""One state of the results: the measured values, and how they were made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues

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
