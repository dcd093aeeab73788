"""Processor seconds of the training jobs of a full run, extrapolated from one fold of each method.

    python benchmarks/full_run.py --data data/parquet/mq2007 [--models ranksvm lambdamart]

Each method is trained once on fold 1, as the workflow does. By default, the methods are those of the default run. The
sum is multiplied by five for the folds, and divided by two for two cores. The result is an extrapolation: parsing,
evaluation and the report are not included, and neither is waiting for the last job.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from measured import processor_seconds, record

from gradrank.config.params import load

FOLDS, CORES = 5, 2


def write(seconds: Mapping[str, float]) -> None:
    """Write the record of the seconds of each method on one fold."""
    total = sum(seconds.values())
    minutes = total * FOLDS / CORES / 60
    notes = [
        f"The last row is the sum of the {len(seconds)} methods. With five folds on two free cores, training takes "
        f"about {minutes:.1f} minutes. This is an extrapolation from one fold: {total:.0f} s x {FOLDS} / {CORES}.",
        "Parsing, pairs, evaluation and the report are not included.",
    ]
    values = {name: {1: own} for name, own in seconds.items()} | {"after": {1: total}}
    record("full_mq2007", "Training on fold 1 of MQ2007, default run", "fold", values, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/parquet/mq2007"))
    parser.add_argument("--models", nargs="+", default=None)
    options = parser.parse_args()
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="gradrank-full-") as name:
        for model in options.models or load(Path("params.yaml")).run.models:
            job = [sys.executable, "-m", "gradrank", "train", "--model", model, "--data", options.data, "--code", "x"]
            seconds[model] = processor_seconds([*job, "--seed", 2005, "--out", Path(name, model)], repeats=1)
    write(seconds)


if __name__ == "__main__":
    main()
