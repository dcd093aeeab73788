"""The variance that is due to the training queries: one configuration is trained on other divisions of the queries.

A division assigns all queries at random to five groups of equal size. Each group is tested once, the next one is the
validation part and the others are the training part. The mean over all queries varies between divisions because the
training queries differ: the test queries, the configuration and the seed are the same.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.conventions import LETOR4, Convention
from gradrank.bench.tuning.folders import METRICS, write_tables
from gradrank.bench.tuning.trials import silent
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.training.fit import fit, job_seed, taken_as_is
from gradrank.training.registry import get_model

if TYPE_CHECKING:
    import polars as pl

GROUPS = 5


def divide(queries: int, division: int, seed: int) -> np.ndarray:
    """Return the (q,) groups of the queries in one division, from 0. division: number of the division, from 1."""
    rng = np.random.default_rng(job_seed(seed, "divisions", f"division{division}", 0))
    return rng.permutation(np.arange(queries) % GROUPS)


def evaluate_divisions(
    method: str,
    params: Mapping[str, Any],
    data: Path,
    count: int,
    seed: int,
    out: Path,
    pairs: Path | None = None,
    code: str = "",
    convention: Convention = LETOR4,
) -> None:
    """Train one configuration of a method on `count` divisions of the queries, and write the values per query.

    The columns are `division`, `group`, `qid`, NDCG@10 and `made_with`, the inputs as JSON.

    params: all parameters. data: folder of the Parquet collection. seed: seed of the divisions and of the trainings.
    pairs: folder of the stored pairs, for models that need them. code: digest of the training code. convention: primary
    convention of the data set.
    """
    import polars as pl

    cls, stored = get_model(method), StoredCollection.open(data)
    resolved = cls.Params(**params)
    pair_source = stored.pairs(pairs) if pairs and cls.needs_pairs else None
    preparation = stored.preparation(1, taken_as_is(cls))
    whole = replace(stored.read(stored.parts, pair_source, preparation, True), convention=convention)
    docids = read_judgements(stored).docids
    made_with = {"params": dict(params), "source": stored.source_sha256, "seed": seed, "code": code}

    def tables() -> Iterator["pl.DataFrame"]:
        for division in range(1, count + 1):
            group_of = divide(whole.queries, division, seed)
            for group in range(GROUPS):
                is_test, is_vali = group_of == group, group_of == (group + 1) % GROUPS
                train, vali, test = map(whole.select_queries, (~(is_test | is_vali), is_vali, is_test))
                fitted = fit(cls, train, vali, resolved, job_seed(seed, stored.name, method, group), silent)
                scores = fitted.score(test.features, test.offsets)
                ids = None if docids is None else docids.filter(pl.Series(is_test[whole.query_of_row]))
                values = compute(METRICS[:1], scores, test.labels, test.offsets, convention, ids)
                columns = {"qid": test.qids, METRICS[0]: values[METRICS[0]].astype(np.float32)}
                constants = [pl.lit(division).alias("division"), pl.lit(group).alias("group")]
                yield pl.DataFrame(columns).select(*constants, pl.all())

    write_tables(tables(), out, json.dumps(made_with))
