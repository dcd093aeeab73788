"""What a method takes to train, to keep and to score with, of the timing.json that each job leaves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a method's training jobs took. jobs: how many. Seconds are sums over them, but of the slowest one's fit.

    fit_seconds: of training with the search for hyper-parameters; `seconds` adds reading, scoring and writing.
    peak_memory_mb: of the largest job. model_bytes: of a fold's model as stored, a mean. score_microseconds: a
    document, on the test parts. Of a model made of other models' scores both are without theirs; None where
    no job measured them.
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
        """Of each job's timing.json; None without any."""
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
        return self.fit_seconds / self.jobs
