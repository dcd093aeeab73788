"""Expected training times, from the trials of tuned studies that are in git."""

from pathlib import Path

import polars as pl

from gradrank.bench.results import Results

GUESS = 20.0  # seconds per training if there are no trials
START = 5.0  # seconds per job for imports, reading, scoring and writing, which a trial does not repeat


class TrainingTimes:
    """The mean processor time of a training, by model and data set."""

    def __init__(self, root: Results) -> None:
        paths = [path for study in root.studies().values() for path in _trials(study.folder)]
        columns = ["dataset", "model", "seconds"]
        trials = pl.concat([pl.read_parquet(path, columns=columns) for path in paths]) if paths else None
        self.source = "from the times of the trials in git" if paths else f"{GUESS:.0f} s per training, a guess"
        self.means: dict[tuple[str, ...], float] = {}
        if trials is not None:
            for keys in (["model", "dataset"], ["model"], ["dataset"]):
                rows = trials.group_by(keys).agg(pl.col("seconds").mean()).rows()
                self.means |= {tuple(row[:-1]): row[-1] for row in rows}

    def of(self, model: str, dataset: str) -> float:
        """Return the expected seconds of a job: START, and the mean of the model, preferably on the same data set."""
        known = (self.means.get(key) for key in ((model, dataset), (model,), (dataset,)))
        return START + next((seconds for seconds in known if seconds is not None), GUESS)


def _trials(folder: Path) -> list[Path]:
    return sorted(folder.glob("trials/*/*/tuner*.parquet"))
