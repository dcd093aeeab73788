"""RankNet and LambdaRank on MQ2007: five-fold test means of nets trained and selected as in the study."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.data.stored import describe
from gradrank.learning.model import get_model
from gradrank.learning.seeds import job_seed
from gradrank.learning.selection import measure

# Lower bounds for NDCG@10 and MAP (letor4). Elsewhere a linear RankNet reached .4432 / .4659 with L-BFGS, a
# 46-64-1 net .4463 / .4673 with RankNet's cost and .4505 / .4709 with NDCG weights. Four seeds of ours gave
# .4497 +- .0011 / .4687 +- .0008 with NDCG weights; the bar leaves two such deviations.
BARS = {
    "ranknet_linear": (0.440, 0.463),
    "ranknet_two_layer": (0.445, 0.466),
    "lambdarank": (0.447, 0.467),
}


def five_fold(model: str, stored: Path) -> np.ndarray:
    """Means over the five test parts of NDCG@10 and MAP, with the defaults and seed 2005."""
    cls, meta = get_model(model), describe(stored)
    found = []
    for fold, parts in enumerate(meta["folds"], 1):
        train, vali, test = (Collection.read(stored, parts[split]) for split in ("train", "vali", "test"))
        seed = job_seed(2005, meta["dataset"], model, fold)
        fitted = cls.fit(train, vali, cls.Params(), seed, lambda step, **values: None)
        scores = fitted.score(test.features, test.offsets)
        found.append([measure(name, scores, test.labels, test.offsets) for name in ("ndcg@10", "map")])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("model", BARS)
def test_mq2007(model, mq2007):
    ndcg, average_precision = five_fold(model, mq2007)
    assert ndcg >= BARS[model][0]
    assert average_precision >= BARS[model][1]
