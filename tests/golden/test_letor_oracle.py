"""Every digit of the output of LETOR's evaluation program is reproduced, from text and from Parquet."""

import numpy as np
import pytest

from gradrank.comparison.rankings.evaluation import LETOR_TABLES, letor_report
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from gradrank.measures.score_files import read_scores

# Data set, the fold and part whose test documents were scored.
FILES = [("mq2007", 1, 5), ("ohsumed", 2, 1)]


@pytest.fixture(params=FILES, ids=lambda case: case[0])
def case(request):
    dataset, fold, part = request.param
    return request.getfixturevalue(dataset), f"{dataset}-fold{fold}-test", fold, part


@pytest.mark.parametrize("kind", ["smooth", "tied"])
def test_report_of_a_text_file_equals_letors_output(case, oracle, kind):
    stored, name, fold, _ = case
    raw = stored.parents[1] / "raw" / stored.name
    text = next(raw.rglob(f"Fold{fold}/test.txt"))
    assert letor_report(text, oracle / f"{name}-{kind}.scores.txt") == _output(oracle, name, kind)


@pytest.mark.parametrize("kind", ["smooth", "tied"])
def test_part_of_a_parquet_collection_has_letors_figures(case, oracle, kind):
    stored, name, _, part = case
    judgements = read_judgements(stored, [part])
    scores = read_scores(oracle / f"{name}-{kind}.scores.txt", judgements)
    names = [metric for table in LETOR_TABLES for metric in table.values()]
    values = compute(names, scores, judgements.labels, judgements.offsets, "letor4")
    averages = [line.split("\t")[1:] for line in _output(oracle, name, kind).splitlines() if "Average" in line]
    assert [f"{np.mean(values[metric]):.4f}" for metric in names] == averages[0] + averages[1]


def _output(oracle, name, kind):
    return (oracle / f"{name}-{kind}.metrics.txt").read_text(encoding="utf-8")
