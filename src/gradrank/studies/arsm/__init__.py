"""Dadaneh et al. 2020, the ARSM-L2R paper: its two tables, its recipe and its claims, its gradient, and a baseline."""

from typing import Any

from gradrank.config.studies import StudySettings

TITLE = "ARSM-L2R"
PUBLICATION = (
    "S. Z. Dadaneh, S. Boluki, M. Zhou, X. Qian: ARSM gradient estimator for supervised learning to rank. ICASSP 2020."
)
SWEEP = {  # of the RankSVM that its Table 3 has from LETOR 3.0: C as powers of 2, pairs visited before a stop, orders
    "exponents": list(range(-24, 11, 2)),
    "stopped": [-12, -9, -6, -3, 0],
    "visits": [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000],
    "orders": 3,
}


def jobs(settings: StudySettings) -> dict[str, Any]:
    """RankSVM on OHSUMED, where it is among the data sets."""
    return {f"ranksvm-{name}": {"dataset": name} | SWEEP for name in settings.datasets if name == "ohsumed"}
