"""RankSVM and boosted trees on the real collections: five-fold test means, selected on validation alone."""

import pytest


@pytest.mark.parametrize("model", ["ranksvm", "ranksvm_struct"])
def test_ranksvm_re_creates_the_official_mq2007_result(model, mq2007, five_fold):
    """LETOR 4.0's RankSVM-Struct: .4439 and .4645."""
    assert five_fold(model, mq2007) == pytest.approx((0.4439, 0.4645), abs=0.004)


def test_ranksvm_on_ohsumed(ohsumed, five_fold):
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
def test_mq2007(model, mq2007, five_fold):
    assert five_fold(model, mq2007) == pytest.approx(ELSEWHERE[model], abs=0.004)
