"""MQ2007's first fold, trained here: LETOR 4.0's own values of that fold, and the order of the 2005 paper.

What is committed says nothing of the code as it is; these run it.
"""

import pytest

from gradrank.evaluation.published import by_fold

# The published method, and how near ours must be: fold by fold two programs of one method differ by about .004.
METHODS = {
    "adarank_map": "AdaRank-MAP",
    "adarank_ndcg": "AdaRank-NDCG",
    "ranksvm": "RankSVM-Struct",
    "listnet": "ListNet",
}
WITHIN = 0.012


@pytest.mark.parametrize("model", METHODS)
def test_the_official_values_of_the_fold(mq2007, on_test_part, model):
    for metric, value in on_test_part(model, mq2007, 1).items():
        if official := by_fold("mq2007", METHODS[model], metric):
            assert value == pytest.approx(official[1], abs=WITHIN)


def test_ranknet_is_ahead_of_prank(mq2007, on_test_part):
    """Burges et al. 2005, Table 4: .065 between the linear ones."""
    ranknet, prank = (on_test_part(name, mq2007, 1)["ndcg@10"] for name in ("ranknet_2005_linear", "prank"))
    assert 0.03 < ranknet - prank < 0.12
