"""Time, memory and size of a method, from the timing.json of each training job."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """The cost of a method's training jobs.

    jobs: number of jobs. fit_seconds: training time including the search for hyperparameters, summed over jobs.
    slowest_fit_seconds: longest training time of a job. seconds: total time including reading, scoring and writing,
    summed over jobs. peak_memory_mb: largest peak memory of a job, in MB. model_bytes: mean size of a fold's stored
    model. score_microseconds: scoring time per document on the test parts. `model_bytes` and `score_microseconds`
    have the value None if they were not measured. If the model combines the scores of other models, `model_bytes` and
    `score_microseconds` do not include the costs of these other models.
    """

    jobs: float
    fit_seconds: float
    slowest_fit_seconds: float
    seconds: float
    peak_memory_mb: float
    model_bytes: float | None = None
    score_microseconds: float | None = None

    @classmethod
    def of(cls, timings: Iterable[Mapping[str, float]]) -> "Cost | None":
        """Return the cost of training jobs, from the contents of their timing.json; None if there are no jobs."""
        timings = list(timings)
        if not timings:
            return None
        fits = [timing["fit_seconds"] for timing in timings]
        scored = [timing for timing in timings if timing.get("scored_documents")]
        documents = sum(timing["scored_documents"] for timing in scored)
        return cls(
            jobs=len(timings),
            fit_seconds=sum(fits),
            slowest_fit_seconds=max(fits),
            seconds=sum(timing["seconds"] for timing in timings),
            peak_memory_mb=max(timing["peak_memory_mb"] for timing in timings),
            model_bytes=sum(timing["model_bytes"] for timing in scored) / len(scored) if scored else None,
            score_microseconds=1e6 * sum(timing["score_seconds"] for timing in scored) / documents if scored else None,
        )

    @property
    def mean_fit_seconds(self) -> float:
        """Mean training time per job, in seconds."""
        return self.fit_seconds / self.jobs
