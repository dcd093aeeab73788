"""Seeds of jobs, derived from the seed of the study."""

import hashlib


def job_seed(seed: int, dataset: str, model: str, fold: int) -> int:
    """Return the seed of one job, from 0 to 2^31 - 1.

    The seed depends only on the arguments, so it is the same for any number of cores and on any machine.
    """
    digest = hashlib.sha256(f"{seed}/{dataset}/{model}/{fold}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
