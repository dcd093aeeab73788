"""The training history: the values that a model reports after each step."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class History:
    """The callback of a training job. It records one row per step, and logs the latest row every few seconds.

    job: name of the job in the log. every_seconds: the shortest time between two log lines.
    """

    def __init__(self, job: str, every_seconds: float = 5.0) -> None:
        self.job, self.every = job, every_seconds
        self.rows: list[dict[str, float]] = []
        self.shown = time.monotonic()

    def __call__(self, step: int, **values: float) -> None:
        self.rows.append({"step": int(step), **{key: float(value) for key, value in values.items()}})
        if time.monotonic() - self.shown >= self.every:
            self.shown = time.monotonic()
            shown = "  ".join(f"{key} {value:.4f}" for key, value in values.items())
            print(f"{self.job}: step {step}  {shown}", file=sys.stderr, flush=True)

    def write(self, path: Path) -> None:
        """Write the frame of all steps as Parquet."""
        self.frame().write_parquet(path)

    def frame(self) -> "pl.DataFrame":
        """Return a frame with the column `step` and one column per value. Missing values are null."""
        import polars as pl

        names = list(dict.fromkeys(key for row in self.rows for key in row if key != "step"))
        schema = {"step": pl.Int64} | dict.fromkeys(names, pl.Float64)
        return pl.DataFrame(self.rows, schema=schema)
