"""RankSVM and boosted trees on the real collections: five-fold test means, selected on validation alone."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.data.stored import describe
from gradrank.learning.model import get_model
from gradrank.learning.seeds import job_seed
from gradrank.learning.selection import measure


def five_fold(model: str, stored: Path) -> tuple[float, float]:
    """Means over the five test parts of NDCG@10 and MAP (letor4), with the defaults and seed 2005."""
    cls, meta = get_model(model), describe(stored)
    found = []
    for fold, parts in enumerate(meta["folds"], 1):
        train, vali, test = (Collection.read(stored, parts[split]) for split in ("train", "vali", "test"))
        seed = job_seed(2005, meta["dataset"], model, fold)
        fitted = cls.fit(train, vali, cls.Params(), seed, lambda step, **values: None)
        scores = fitted.score(test.features, test.offsets)
        found.append([measure(name, scores, test.labels, test.offsets) for name in ("ndcg@10", "map")])
    ndcg, average_precision = np.mean(found, axis=0)
    return ndcg, average_precision


@pytest.mark.parametrize("model", ["ranksvm", "ranksvm_struct"])
def test_ranksvm_re_creates_the_official_mq2007_result(model, mq2007):
    """LETOR 4.0's RankSVM-Struct: .4439 and .4645."""
    assert five_fold(model, mq2007) == pytest.approx((0.4439, 0.4645), abs=0.004)


def test_ranksvm_on_ohsumed(ohsumed):
    """LETOR 3.0 published .4140, and .441 to .450 of AdaRank and ListNet; 106 queries only."""
    assert five_fold("ranksvm", ohsumed)[0] == pytest.approx(0.450, abs=0.012)


# NDCG@10 and MAP: RankSVM-Struct's; LightGBM 4.7 measured elsewhere (lambdarank, rank_xendcg); seeds differ by .0013.
ELSEWHERE = {
    "ranksvm_struct": (0.4439, 0.4645),
    "ranksvm_ndcg": (0.4439, 0.4645),
    "lambdamart": (0.4478, 0.4675),
    "xendcg": (0.4544, 0.4706),
}


@pytest.mark.parametrize("model", ELSEWHERE)
def test_mq2007(model, mq2007):
    assert five_fold(model, mq2007) == pytest.approx(ELSEWHERE[model], abs=0.004)
