"""One side of a comparison: what was measured and what is known of how it was made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QueryValues

Known = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class MethodResults:
    """One method on one data set.

    means: by metric, over folds; to four decimals where they are summary.json's. values: None where only the
    means are known.
    """

    means: Mapping[str, float | None]
    values: QueryValues | None = None
    cost: Cost | None = None


@dataclass(frozen=True)
class State:
    """What A or B holds; all but the first three by data set. What a mapping lacks, the side does not know.

    name: as the user gave it. kind: `results folder`, `git revision`, `DVC experiment` or `MLflow run`.
    conventions: the primary one. methods: by name. params: by section of params.yaml (`models.ranksvm`, ``
    for the top level), then by dotted key. data: hashes by what was hashed. code: digests by stage.
    versions: of packages.
    """

    name: str
    kind: str
    revision: str | None
    conventions: Mapping[str, str]
    methods: Mapping[str, Mapping[str, MethodResults]]
    params: Mapping[str, Known] = field(default_factory=dict)
    data: Known = field(default_factory=dict)
    code: Known = field(default_factory=dict)
    versions: Known = field(default_factory=dict)
    notices: tuple[str, ...] = ()
