"""Search engines, by name and version: the formats that each one reads, and what it does with a missing feature.

The rules come from the documentation, the sources and the issue trackers of the engines. No engine was run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gradrank.base.errors import GradrankError, unknown

# zero: a missing feature is 0. no: it takes the child `no` of every node. branch: it takes the child `missing`.
MissingRule = Literal["zero", "no", "branch"]
MEANINGS: dict[MissingRule, str] = {
    "zero": "a missing feature is 0",
    "no": "a missing feature takes the child `no` of every node",
    "branch": "a missing feature takes the child `missing`",
}
NEWEST = (10**6,)


@dataclass(frozen=True)
class EngineRule:
    """The rules of a range of versions of an engine for one format.

    Parameters
    ----------
    engine, to
        The names of the engine and of the format.
    since, until
        The first version, and the first version that is no longer meant.
    missing
        The rules that a version of the range may follow. There are several if the sources do not tell which one.
    source
        Where the rules are documented.
    """

    engine: str
    to: str
    since: tuple[int, ...]
    until: tuple[int, ...]
    missing: frozenset[MissingRule]
    source: str


OPENSEARCH = "opensearch-project/opensearch-learning-to-rank-base"
RANKLIB_SOURCE = "o19s/elasticsearch-learning-to-rank #135"
RULES = (
    EngineRule(
        "elasticsearch",
        "xgboost-json",
        (0,),
        NEWEST,
        frozenset({"zero", "branch"}),  # the plug-in has versions of its own
        "o19s/elasticsearch-learning-to-rank #481 and #482",
    ),
    EngineRule("elasticsearch", "ranklib", (0,), NEWEST, frozenset({"zero"}), RANKLIB_SOURCE),
    EngineRule("opensearch", "xgboost-json", (0,), (3, 2), frozenset({"zero"}), f"{OPENSEARCH} #200"),
    # The comments on #286 and #389 name 3.3 as the first version with NaN, and #390 names 3.2.
    EngineRule("opensearch", "xgboost-json", (3, 2), (3, 3), frozenset({"zero", "no"}), f"{OPENSEARCH} #286 and #390"),
    EngineRule("opensearch", "xgboost-json", (3, 3), (3, 6), frozenset({"no"}), f"{OPENSEARCH} #206 and #378"),
    # The repair was merged in July 2026, after 3.6.0, and it is not documented which patch release has it.
    EngineRule("opensearch", "xgboost-json", (3, 6), NEWEST, frozenset({"no", "branch"}), f"{OPENSEARCH} #378, #379"),
    EngineRule("opensearch", "ranklib", (0,), NEWEST, frozenset({"zero"}), RANKLIB_SOURCE),
    EngineRule("solr", "solr", (0,), (9, 2), frozenset({"zero"}), "SOLR-16596"),
    EngineRule("solr", "solr", (9, 2), NEWEST, frozenset({"branch"}), "SOLR-16596"),
    EngineRule("vespa", "xgboost-json", (0,), NEWEST, frozenset({"branch"}), "vespa-engine/vespa, XGBoostParser.java"),
)


@dataclass(frozen=True)
class Target:
    """An engine with a version, and one of its formats. missing: the rules that the engine may follow."""

    text: str
    engine: str
    to: str
    missing: frozenset[MissingRule]
    source: str

    def __str__(self) -> str:
        return f"{self.text} ({'; or '.join(MEANINGS[rule] for rule in sorted(self.missing))}: {self.source})"


def engine_names() -> list[str]:
    """Return the names of the engines in alphabetical order."""
    return sorted({rule.engine for rule in RULES})


def targets(text: str) -> list[Target]:
    """Return the formats of an engine that is named as `opensearch` or `opensearch@3.3`, the most expressive first.

    A version stands for all versions that begin with it, and a name without a version for all versions. The model must
    have the right scores in each of them. Raises GradrankError for an unknown engine or version.
    """
    name, sign, version = text.partition("@")
    if name not in engine_names():
        raise GradrankError(f"--engine: {unknown('engine', name, engine_names())}")
    if sign and not re.fullmatch(r"\d+(\.\d+)*", version):
        raise GradrankError(f"--engine: {version!r} is not a version. Fix: give one such as {name}@3.3")
    first = tuple(map(int, version.split("."))) if sign else (0,)
    after = (*first[:-1], first[-1] + 1) if sign else NEWEST
    found: dict[str, list[EngineRule]] = {}
    for rule in RULES:
        if rule.engine == name and rule.since < after and first < rule.until:
            found.setdefault(rule.to, []).append(rule)
    return list(_targets(text, name, found))


def _targets(text: str, name: str, found: dict[str, list[EngineRule]]) -> Iterator[Target]:
    for to, rules in found.items():
        missing = frozenset[MissingRule]().union(*(rule.missing for rule in rules))
        yield Target(text, name, to, missing, ", ".join(dict.fromkeys(rule.source for rule in rules)))
