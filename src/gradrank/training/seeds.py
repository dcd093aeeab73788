"""The seed of each job, derived from the study's one seed."""

import hashlib


def job_seed(seed: int, dataset: str, model: str, fold: int) -> int:
    """The seed of one job, a function of its four names alone: equal at any `--cores` and on any machine."""
    digest = hashlib.sha256(f"{seed}/{dataset}/{model}/{fold}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
