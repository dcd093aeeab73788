"""The verdict on a claim: within rounding, within the interval, or neither, and how many other estimates share it."""

import pytest

from gradrank.bench.literature import CONSISTENT, DRAWS, NOT_REPRODUCED, REPRODUCED
from gradrank.bench.studies.claims import Claim, Estimate, judge_claim

ESTIMATES = {"exact": Estimate(0.5004, 0.02, DRAWS), "near": Estimate(0.51, 0.02, DRAWS)}
ESTIMATES |= {"far": Estimate(0.6, 0.02, DRAWS), "wide": Estimate(0.6, 0.2, DRAWS)}


@pytest.mark.parametrize(
    ("quantity", "verdict", "alike"),
    [("exact", REPRODUCED, 0), ("near", CONSISTENT, 2), ("far", NOT_REPRODUCED, 0), ("wide", CONSISTENT, 2)],
)
def test_a_claim_is_judged_by_its_own_estimate(quantity, verdict, alike):
    row = judge_claim(Claim("an accuracy", "Table 1", quantity, 0.5, 0.0005), ESTIMATES)
    assert (row["verdict"], row["alike"], row["others"]) == (verdict, alike, 3)
    assert row["difference"] == pytest.approx(ESTIMATES[quantity].value - 0.5) and row["of"] == DRAWS


def test_a_quantity_without_a_published_value_has_no_verdict():
    row = judge_claim(Claim("an accuracy", "Table 1", "near", None), ESTIMATES)
    assert (row["published"], row["difference"], row["verdict"], row["others"]) == (None, None, "", None)
    assert (row["ours"], row["half_width"]) == (0.51, 0.02)
