"""A term report on RankNet and on pair weights after NDCG_beta: its weights, its nets, its two numbers."""

TITLE = "NDCG_beta and a RankNet"
PUBLICATION = (
    "A term report that weighs pairs by NDCG_beta in RankSVM and RankBoost (after Jin et al. 2018) and trains a "
    "RankNet of 64 and 32 ReLU units with and without L2."
)
