"""A term report on RankNet and NDCG_beta: its pair weights, its nets, and its two values of NDCG on MQ2007."""

from typing import Any

from gradrank.bench.config.studies import StudySettings

TITLE = "NDCG_beta and a RankNet"
PUBLICATION = (
    "A term report that weighs pairs by NDCG_beta in RankSVM and RankBoost (after Jin et al. 2018) and trains a "
    "RankNet of 64 and 32 ReLU units with and without L2."
)


def jobs(settings: StudySettings) -> dict[str, Any]:
    """Return the settings of the jobs: two more forms of RankSVM are trained per data set, on every fold."""
    return {f"forms-{dataset}": {"dataset": dataset} for dataset in settings.datasets}
