"""What a method's training took, of the timing.json that each job leaves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a method's training jobs took. jobs: how many. Seconds are sums over them, but of the slowest one's fit.

    fit_seconds: of training with the search for hyper-parameters; `seconds` adds reading, scoring and writing.
    peak_memory_mb: of the largest job.
    """

    jobs: float
    fit_seconds: float
    slowest_fit_seconds: float
    seconds: float
    peak_memory_mb: float

    @classmethod
    def of(cls, timings: Iterable[Mapping[str, float]]) -> "Cost | None":
        """Of each job's timing.json; None without any."""
        timings = list(timings)
        if not timings:
            return None
        fits = [timing["fit_seconds"] for timing in timings]
        return cls(
            jobs=len(timings),
            fit_seconds=sum(fits),
            slowest_fit_seconds=max(fits),
            seconds=sum(timing["seconds"] for timing in timings),
            peak_memory_mb=max(timing["peak_memory_mb"] for timing in timings),
        )

    @property
    def mean_fit_seconds(self) -> float:
        return self.fit_seconds / self.jobs
