"""RankNet and LambdaRank on MQ2007: five-fold test means of nets trained and selected as in the study."""

from pathlib import Path

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.data.stored import describe
from gradrank.learning.model import get_model
from gradrank.learning.seeds import job_seed
from gradrank.learning.selection import measure

# NDCG@10 and MAP (letor4) that others reached: a linear RankNet with L-BFGS, a 46-64-1 net with RankNet's cost and with
# NDCG weights. Four seeds of ours gave .4497 +- .0011 / .4687 +- .0008 with NDCG weights: three such deviations.
ELSEWHERE = {
    "ranknet_linear": (0.4432, 0.4659),
    "ranknet_two_layer": (0.4463, 0.4673),
    "lambdarank": (0.4505, 0.4709),
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


@pytest.mark.parametrize("model", ELSEWHERE)
def test_mq2007(model, mq2007):
    assert five_fold(model, mq2007) == pytest.approx(ELSEWHERE[model], abs=0.004)
