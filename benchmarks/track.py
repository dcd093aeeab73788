"""Processor seconds of `gradrank.bench.tracking.runs.track`, the import of finished results into MLflow, by methods.

    python benchmarks/track.py [--before OTHER/src]

The results are made up: five folds per method, 46 features, 18 metrics of 200 queries on the validation and test parts,
and training curves of 100 steps. The time is that of a process that creates a SQLite store and imports all methods.
"""

import sys
import tempfile
from pathlib import Path

from measured import parser, processor_seconds, record, versions_of
from summary_of_methods import METHODS, METRICS

FOLDS, FEATURES, QUERIES, STEPS = 5, 46, 200, 100
CALL = """
import gradrank; gradrank.pin()
import sys, tempfile; from pathlib import Path; from gradrank.bench.tracking.runs import track
results, methods = Path(sys.argv[1]), [f"method_{number:02}" for number in range(int(sys.argv[2]))]
with tempfile.TemporaryDirectory() as folder:
    track(results, {"toy": methods}, {"evaluation": {"convention": "letor4"}}, uri=f"sqlite:///{folder}/mlflow.db")
"""
NOTES = (
    "{models} logged models and about {values:,} values at the largest size. The content of the store is the same as "
    "before. Logged models with the same inputs and packages now share one call of `mlflow.pyfunc.save_model`.",
    "MLflow takes most of the time. In a profiled run of 18.5 s, without the start of the process and the creation of "
    "the store, creating, copying and finishing a logged model took 15 ms per fold (5.4 s). log_batch took 0.14 ms per "
    "value (6.6 s), because MLflow makes a SQLAlchemy object per value and table. Writing the files of logged models "
    "took 2.2 s.",
    "The aim was 5 s. It would require fewer logged models or fewer values: a model can be registered and served only "
    "if it is logged, and `gradrank diff` reads the values.",
)
VALUES = 640  # per method: means, means per fold, costs and curves


def write_results(folder: Path, methods: int) -> None:
    """Write trained and evaluated methods with made-up values into a folder."""
    import numpy as np
    import polars as pl

    from gradrank.base.files import write_json
    from gradrank.models.single_feature import SingleFeature

    rng, qid = np.random.default_rng(0), np.arange(QUERIES)
    versions = {"gradrank": "0.2.0", "python": "3.11.7", "numpy": "2.4.6", "polars": "2.1.0", "scipy": "1.17.1"}
    for number in range(methods):
        method, values = folder / "toy/methods" / f"method_{number:02}", []
        for fold in range(1, FOLDS + 1):
            path = method / f"fold{fold}"
            (path / "model").mkdir(parents=True)
            SingleFeature(feature=fold, sign=1).save(path / "model")
            spec = {"model": "single_feature", "params": {"select_by": "map", "number": number}, "seed": 1}
            spec |= {"features": FEATURES, "data_sha256": "ab" * 32, "versions": versions}
            write_json(path / "spec.json", spec)
            write_json(path / "timing.json", {"seconds": 1.5, "fit_seconds": 0.5, "peak_memory_mb": 100.0})
            curves = {name: rng.random(STEPS) for name in ("loss", "vali_map")}
            pl.DataFrame({"step": np.arange(1, STEPS + 1)} | curves).write_parquet(path / "history.parquet")
            for split in ("vali", "test"):
                keys = {"convention": ["letor4"] * QUERIES, "split": [split] * QUERIES, "qid": qid}
                keys["fold"] = np.full(QUERIES, fold, np.int8)
                values.append(pl.DataFrame(keys | {metric: rng.random(QUERIES) for metric in METRICS}))
        pl.concat(values).write_parquet(method / "per_query.parquet")


def main() -> None:
    options = parser(__doc__).parse_args()
    seconds: dict[str, dict[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="gradrank-track-") as name:
        write_results(Path(name), METHODS[-1])
        for methods in METHODS:
            for version, source in versions_of(options.before).items():
                command = [sys.executable, "-c", CALL, name, methods]
                seconds.setdefault(version, {})[methods] = processor_seconds(command, source, repeats=1)
    numbers = {"models": METHODS[-1] * FOLDS, "values": METHODS[-1] * VALUES}
    notes = [note.format(**numbers) for note in NOTES]
    record("track", "Import of finished methods into MLflow", "methods", seconds, notes, options)


if __name__ == "__main__":
    main()
