"""`python tests/campaigns/retrain.py RUN OUT DATASET [MODEL ...] [--folds 1 2]`: train again what a run has trained.

RUN is a checkout with a finished run. Every fold is trained in this one process, into OUT, and its files are compared
with the run's by their hashes: no difference is to be found, whatever the processor. Under another one, which takes ten
to fifty times as long:
`qemu-x86_64 -E MALLOC_MMAP_MAX_=0,SORT_STABLY=1 -cpu Haswell .venv/bin/python tests/campaigns/retrain.py ...`
(the settings: see tests/workflow/test_processors.py).
What OUT holds already is not trained again, so that a campaign goes on where it was stopped.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from emulated import sort_for_the_emulator
from gradrank.learning.job import train
from gradrank.learning.model import get_model
from gradrank.results import Fold, Results


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("dataset")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--folds", type=int, nargs="*")
    asked = parser.parse_args()
    sort_for_the_emulator()
    found = Results(asked.run / "results").dataset(asked.dataset)
    different = 0
    for method in found.methods():
        for fold in method.folds():
            if method.name in (asked.models or [method.name]) and fold.number in (
                asked.folds or [fold.number]
            ):
                different += _again(asked, fold)
    print(f"{different} folds differ")
    return bool(different)


def _again(asked: argparse.Namespace, fold: Fold) -> bool:
    """Train one fold as its specification says; whether a file of it came out otherwise."""
    spec, name = fold.spec(), fold.folder.relative_to(asked.run / "results")
    made = Fold(asked.out / name)
    started = time.process_time()
    if not made.spec_path.is_file():
        data = asked.run / "data"
        train(
            spec["model"],
            data / "parquet" / spec["dataset"],
            fold.number,
            spec["params"],
            spec["seed"],
            made.folder,
            data / "pairs" / spec["dataset"] if get_model(spec["model"]).needs_pairs else None,
            asked.run / "results" / spec["dataset"],
        )
    files, own = spec["files"], made.spec()["files"]
    unlike = sorted(path for path in files.keys() | own.keys() if files.get(path) != own.get(path))
    verdict = f"DIFFERS: {', '.join(unlike)}" if unlike else f"{len(files)} files equal"
    seconds = time.process_time() - started
    print(f"{name}: {verdict}  {seconds:.0f} s", flush=True)
    return bool(unlike)


if __name__ == "__main__":
    sys.exit(main())
