"""The ARSM-L2R paper (Dadaneh et al. 2020): its tables, its training recipe, its claims, and its gradient estimator.

One section examines why our RankSVM does not reproduce the RankSVM results that LETOR 3.0 published for OHSUMED.
"""

from typing import Any

from gradrank.config.studies import StudySettings

TITLE = "ARSM-L2R"
PUBLICATION = (
    "S. Z. Dadaneh, S. Boluki, M. Zhou, X. Qian: ARSM gradient estimator for supervised learning to rank. ICASSP 2020."
)
SWEEP = {  # settings of the job that trains RankSVM on OHSUMED; the paper takes this row of Table 3 from LETOR 3.0
    "exponents": list(range(-24, 11, 2)),  # exponents of C = 2^exponent for the solver that runs to the optimum
    "stopped": [-12, -9, -6, -3, 0],  # exponents of C for the solver that is stopped early
    "visits": [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000],  # numbers of pairs after which the solver stops
    "orders": 3,  # number of random orders of the pairs
}


def jobs(settings: StudySettings) -> dict[str, Any]:
    """Return the settings of the RankSVM job on OHSUMED. The key is the name of the job.

    The dict is empty if the study does not include this data set.
    """
    return {f"ranksvm-{name}": {"dataset": name} | SWEEP for name in settings.datasets if name == "ohsumed"}
