"""Claims of a blog on RankNet, LambdaRank and LambdaMART, measured on trained models.

The claims: fewer pair errors can come with a worse NDCG, the methods differ in their accuracy on pairs, a round of
LambdaMART may hurt some queries, and a net can have too few or too many hidden nodes.
"""

from typing import Any

from gradrank.bench.config.studies import StudySettings

TITLE = "RankNet, LambdaRank and LambdaMART"
PUBLICATION = (
    "A blog on RankNet, LambdaRank and LambdaMART, which follows C. Burges: From RankNet to LambdaRank to LambdaMART: "
    "An overview. Microsoft Research MSR-TR-2010-82."
)
MODEL = "lambdamart"  # the model of the jobs


def jobs(settings: StudySettings) -> dict[str, Any]:
    """Return the settings of the jobs: LambdaMART is trained once per data set, on every fold."""
    return {f"rounds-{dataset}": {"dataset": dataset, "model": MODEL} for dataset in settings.datasets}
