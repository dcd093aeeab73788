"""The comparison of gradrank with the independent script of tests/fold_layouts.py on one generated layout."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fold_layouts import PARAMS, Case, folds_of, ndcg, train
from gradrank.bench.folds import job
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.results import MethodFolder
from gradrank.data.layout import FoldOptions
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from gradrank.training.fit import resolve

SEED, NAME = 3, "mine"


def check_layout(case: Case, work: Path) -> None:
    """Parse, train and evaluate a layout, and assert that queries, scores and NDCG@10 equal those of the script."""
    data, method = work / "parquet" / NAME, MethodFolder(work / "results" / NAME / "methods/lambdamart")
    description = parse(case.path, data, SEED, NAME, options=FoldOptions(case.folds, case.fold, case.validation))
    expected = folds_of(case, SEED)
    stored = StoredCollection.open(data)
    assert len(stored.folds) == len(expected)
    assert description["queries"] == len({q.qid for fold in expected for split in fold.values() for q in split})
    for number in range(1, len(expected) + 1):
        job.train("lambdamart", data, number, PARAMS, SEED, method.fold(number).folder)
    params = resolve("lambdamart", PARAMS)[1].model_dump(mode="json")
    spec = {"model": "lambdamart", "dataset": NAME, "params": params, "seed": SEED}
    evaluate_folds(method.folder, data, spec, ["standard"], ["ndcg@10"])
    measured = pl.read_parquet(method.per_query_path)
    for number, fold in enumerate(expected, start=1):
        scores = pl.read_parquet(method.fold(number).scores_path)
        for split, of_queries in train(fold).items():
            part = stored.read(stored.fold(number)[split])
            assert sorted(part.qids.tolist()) == sorted(query.qid for query in fold[split]), (number, split)
            if split == "test":
                assert part.qids.tolist() == [query.qid for query in fold[split]]
            got = scores.filter(split=split)["score"].to_numpy()
            by_id = dict(zip(part.qids.tolist(), np.split(got, part.offsets[1:-1]), strict=True))
            values = dict(measured.filter(fold=number, split=split).select("qid", "ndcg@10").iter_rows())
            for query, own in zip(fold[split], of_queries, strict=True):
                assert by_id[query.qid] == pytest.approx(own, abs=1e-12), (number, split, query.qid)
                assert values[query.qid] == pytest.approx(ndcg(query.labels, own), abs=1e-12)
