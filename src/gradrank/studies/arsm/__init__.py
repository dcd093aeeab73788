"""Dadaneh et al. 2020, the ARSM-L2R paper: its two tables, what its levels and its loss are worth, its gradient."""

TITLE = "ARSM-L2R"
PUBLICATION = (
    "S. Z. Dadaneh, S. Boluki, M. Zhou, X. Qian: ARSM gradient estimator for supervised learning to rank. "
    "ICASSP 2020."
)
