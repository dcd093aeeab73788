"""One state of the results: the measured values, and how they were made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QueryValues

Fields = Mapping[str, Mapping[str, Any]]  # by data set (or section), then by name


@dataclass(frozen=True)
class MethodResults:
    """The results of one method on one data set.

    means: mean over folds by metric; rounded to four decimals if read from summary.json. values: per query; None if
    only the means are available. cost: None if not recorded.
    """

    means: Mapping[str, float | None]
    values: QueryValues | None = None
    cost: Cost | None = None


@dataclass(frozen=True)
class State:
    """One state of the results, A or B of a comparison.

    name: as given by the user. kind: `results folder`, `git revision`, `DVC experiment` or `MLflow run`. revision: the
    commit, if there is one. notices: limitations to show to the user.

    The other fields are mappings by data set. An entry that is missing was not recorded. conventions: the primary
    convention. methods: results by method. params: by section of params.yaml (such as `models.ranksvm`; empty for the
    top level), then by dotted key. data: checksums by name. code: digests by stage. versions: by package.
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
