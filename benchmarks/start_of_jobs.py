"""Processor seconds of small training jobs, which are mostly the start of Python and imports.

    python benchmarks/start_of_jobs.py [--before OTHER/src]

Every job trains a model on fold 1 of artificial data with 50 queries and 30 documents per query, as the workflow starts
it. For comparison, processes that only import the packages are measured.
"""

import sys
import tempfile
from pathlib import Path

from measured import parser, processor_seconds, record, versions_of

MODELS = ("regression", "prank", "ranksvm", "listnet")
IMPORTS = {
    "import polars": "import polars",
    "import numba, compile": "import numba\n@numba.njit('f8[:](f8[:])')\ndef f(x): return x",
    "import scipy.optimize": "import scipy.optimize",
    "import numba, compile, scipy.optimize": "import numba\n@numba.njit('f8[:](f8[:])')\ndef f(x): return x\n"
    "import scipy.optimize",
}
NOTES = (
    "regression uses neither Numba nor SciPy, prank and ranksvm use Numba, and listnet also uses scipy.optimize.",
    "The import of Numba takes most of the time. It imports scipy.linalg itself, so scipy.optimize adds less to a job "
    "that uses Numba than it takes alone. The aim was 0.8 s. It would require a solver in gradrank instead of SciPy's, "
    "which would give other last digits in all linear models.",
)


def main() -> None:
    options = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="gradrank-start-") as name:
        folder = Path(name)
        gradrank = [sys.executable, "-m", "gradrank"]
        generate = ["--queries", 50, "--documents", 30, "--seed", 1, "--out", folder / "raw/synthetic_net"]
        processor_seconds([*gradrank, "generate", "net", *generate], repeats=1)
        data = folder / "parquet/synthetic_net"
        processor_seconds([*gradrank, "parse", folder / "raw/synthetic_net", "--out", data, "--seed", 1], repeats=1)
        imports = {what: {1: processor_seconds([sys.executable, "-c", code])} for what, code in IMPORTS.items()}
        for model in MODELS:
            job = [*gradrank, "train", "--model", model, "--data", data, "--seed", 1, "--code", "x"]
            jobs = {
                version: {1: processor_seconds([*job, "--out", folder / "fold"], source, repeats=4)}
                for version, source in versions_of(options.before).items()
            }
            notes = NOTES if model == MODELS[-1] else ()
            others = imports if model == MODELS[-1] else {}
            record(f"start_{model}", f"Training job of {model} on small data", "job", jobs | others, notes, options)


if __name__ == "__main__":
    main()
