"""The variance that is due to the training queries: one configuration is trained on other divisions of the queries.

A division assigns all queries at random to five groups of equal size. Each group is tested once, the next one is the
validation part and the others are the training part. The mean over all queries varies between divisions because the
training queries and the seed differ. The test queries and the configuration are the same.

The scores of the validation and test groups are in runs/divisions/<dataset>/<method>/ of the contest's folder, one file
per division. A method that combines scores is computed from the files of its members.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.files import atomic
from gradrank.bench.tuning.folders import METRICS, Contest, write_tables
from gradrank.bench.tuning.trials import silent
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.training.fit import fit, job_seed, taken_as_is
from gradrank.training.registry import get_model
from gradrank.training.score_checks import check_scores
from gradrank.training.trained_fold import member_features

GROUPS = 5


def divide(queries: int, division: int, seed: int) -> np.ndarray:
    """Return the (q,) groups of the queries in one division, from 0. division: number of the division, from 1."""
    rng = np.random.default_rng(job_seed(seed, "divisions", f"division{division}", 0))
    return rng.permutation(np.arange(queries) % GROUPS)


@dataclass(frozen=True)
class DividedMethod:
    """One configuration of a method that is trained on divisions of the queries of a data set.

    params: all parameters. seed: the seed from which the divisions and the seed of each training are derived. code:
    digest of the training code. pairs: folder of the stored pairs, for models that need them. convention: primary
    convention of the data set. members: the methods whose scores the method combines.
    """

    name: str
    params: Mapping[str, Any]
    seed: int
    code: str = ""
    pairs: Path | None = None
    convention: Convention = LETOR4
    members: Sequence["DividedMethod"] = ()

    def made_with(self, stored: StoredCollection) -> str:
        """Return the inputs of the scores as JSON. Members are represented by a digest of their inputs."""
        inputs = {"params": dict(self.params), "source": stored.source_sha256, "seed": self.seed, "code": self.code}
        inputs |= {"convention": self.convention.name}
        if self.members:
            of_members = "".join(member.made_with(stored) for member in self.members)
            inputs |= {"members": hashlib.sha256(of_members.encode()).hexdigest()}
        return json.dumps(inputs)


def evaluate_divisions(contest: Contest, method: DividedMethod, data: Path, count: int) -> None:
    """Train a method on `count` divisions of the queries, and write the test values per query.

    The columns are `division`, `group`, `qid`, NDCG@10 and `made_with`, the inputs as JSON. The scores of a division
    are reused if their inputs are unchanged. data: folder of the Parquet collection.
    """
    import polars as pl

    stored = StoredCollection.open(data)
    scores = division_scores(contest, method, stored, count)
    whole, docids = stored.read(stored.parts, None, None, False), read_judgements(stored).docids
    tables = []
    for division, own in enumerate(scores, start=1):
        group_of = divide(whole.queries, division, method.seed)
        for group in range(GROUPS):
            is_test = group_of == group
            rows, test = is_test[whole.query_of_row], whole.select_queries(is_test)
            ids = None if docids is None else docids.filter(pl.Series(rows))
            values = compute(METRICS[:1], own["test"][rows], test.labels, test.offsets, method.convention, ids)
            columns = {"qid": test.qids, METRICS[0]: values[METRICS[0]].astype(np.float32)}
            constants = [pl.lit(division).alias("division"), pl.lit(group).alias("group")]
            tables.append(pl.DataFrame(columns).select(*constants, pl.all()))
    write_tables(iter(tables), contest.divisions_path(stored.name, method.name), method.made_with(stored))


def division_scores(
    contest: Contest, method: DividedMethod, stored: StoredCollection, count: int
) -> list[dict[str, np.ndarray]]:
    """Return the scores of all documents in each division: `vali` and `test`, arrays of shape (n,).

    Each document is in one validation group and in one test group of a division. Missing scores are computed, also
    those of members, and stored.
    """
    import polars as pl

    members = [division_scores(contest, member, stored, count) for member in method.members]
    made_with, found = method.made_with(stored), []
    trainings: _Trainings | None = None
    for division in range(1, count + 1):
        path = contest.folder / "runs" / "divisions" / stored.name / method.name / f"division{division}.parquet"
        table = pl.read_parquet(path) if path.is_file() else None
        if table is None or table["made_with"][0] != made_with:
            trainings = trainings or _Trainings(method, stored)
            scores = trainings.scores(division, [own[division - 1] for own in members])
            table = pl.DataFrame(scores).with_columns(pl.lit(made_with).alias("made_with"))
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as partial:
                table.write_parquet(partial)
        found.append({part: table[part].to_numpy() for part in ("vali", "test")})
    return found


class _Trainings:
    """The trainings of one method. All queries of the collection are read once."""

    def __init__(self, method: DividedMethod, stored: StoredCollection) -> None:
        self.method, self.dataset, self.cls = method, stored.name, get_model(method.name)
        pairs = stored.pairs(method.pairs) if method.pairs and self.cls.needs_pairs else None
        whole = stored.read(stored.parts, pairs, stored.preparation(1, taken_as_is(self.cls)), True)
        self.whole = replace(whole, convention=method.convention)

    def scores(self, division: int, members: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return the (n,) scores `vali` and `test` of all documents. members: the scores of each member."""
        params, group_of = self.cls.Params(**self.method.params), divide(self.whole.queries, division, self.method.seed)
        name = f"{self.method.name}/division{division}"
        scores = {part: np.full(self.whole.rows, np.nan) for part in ("vali", "test")}
        for group in range(GROUPS):
            tested_in = {"vali": group_of == (group + 1) % GROUPS, "test": group_of == group}
            whole = self._with_members(tested_in, members) if members else self.whole
            train = whole.select_queries(~(tested_in["vali"] | tested_in["test"]))
            parts = {part: whole.select_queries(queries) for part, queries in tested_in.items()}
            seed = job_seed(self.method.seed, self.dataset, name, group)
            fitted = fit(self.cls, train, parts["vali"], params, seed, silent)
            for part, own in parts.items():
                found = check_scores(fitted.score(own.features, own.offsets), own.rows, f"{name}: scores")
                scores[part][tested_in[part][whole.query_of_row]] = found
        return scores

    def _with_members(self, parts: Mapping[str, np.ndarray], members: Sequence[Mapping[str, np.ndarray]]) -> Collection:
        """Return the collection with the scores of the members as features, which are nan in the training part."""
        columns = []
        for own in members:
            column = np.full(self.whole.rows, np.nan)
            for part, queries in parts.items():
                rows = queries[self.whole.query_of_row]
                column[rows] = own[part][rows]
            columns.append(column)
        names = tuple(member.name for member in self.method.members)
        return replace(self.whole, features=member_features(columns), names=names)
