"""Processor seconds of the summary of a data set, by the number of methods, and of the same tests by calls of SciPy.

    python benchmarks/summary_of_methods.py [--before OTHER/src]

The values per query are made up: 1,692 queries in five folds, 18 metrics and six conventions, as on MQ2007. The time is
that of a process that reads the values and writes all tables. The peer calls scipy.stats.ttest_1samp and
scipy.stats.wilcoxon for every pair of methods, for two metrics, and writes nothing.
"""

import sys
import tempfile
from pathlib import Path

from measured import SOURCE, parser, processor_seconds, record, versions_of

METHODS = (18, 36, 72)
QUERIES, FOLDS = 1692, 5
METRICS = [
    *(f"ndcg@{k}" for k in (1, 3, 5, 10)),
    *("mean_ndcg", "map", "p@10"),
    *(f"iprec@{level / 10}" for level in range(11)),
]
CONVENTIONS = ("letor4", "letor4_expected", "standard", "trec", "lightgbm", "ranklib")
SUMMARY = """
import gradrank; gradrank.pin()
from gradrank.base.processor import use_cache_folder; use_cache_folder()
import sys; from pathlib import Path; from gradrank.bench.report.tables.summary import summary
folder = Path(sys.argv[1])
names = [path.parent.name for path in folder.glob("methods/*/per_query.parquet")]
summary(folder, names, "letor4", baseline="method_03")
"""
PEER = """
import sys, numpy as np, polars as pl
from itertools import combinations; from pathlib import Path; from scipy.stats import ttest_1samp, wilcoxon
for metric in ("ndcg@10", "map"):
    paths = Path(sys.argv[1]).glob("methods/*/per_query.parquet")
    values = [pl.read_parquet(path).filter(convention="letor4")[metric].to_numpy() for path in paths]
    for a, b in combinations(values, 2):
        gaps = np.round(a - b, 12)
        ttest_1samp(gaps, 0.0), wilcoxon(gaps[gaps != 0], method="asymptotic")
"""


def write_values(folder: Path, methods: int) -> None:
    """Write evaluated methods with made-up values into a folder."""
    import numpy as np
    import polars as pl

    from gradrank.base.stamps import write_stamp

    rng = np.random.default_rng(0)
    difficulty = {metric: rng.random(QUERIES) for metric in METRICS}
    for method in range(methods):
        path = folder / "methods" / f"method_{method:02}" / "per_query.parquet"
        path.parent.mkdir()
        frames = []
        for convention in CONVENTIONS:
            keys = {"convention": [convention] * QUERIES, "split": ["test"] * QUERIES, "qid": np.arange(QUERIES)}
            keys["fold"] = (np.arange(QUERIES) * FOLDS // QUERIES + 1).astype(np.int8)
            noise = {metric: rng.normal(0, 0.1, QUERIES) * (rng.random(QUERIES) < 0.7) for metric in METRICS}
            values = {
                metric: np.clip(np.round(difficulty[metric] + noise[metric] + 0.002 * method, 3), 0, 1)
                for metric in METRICS
            }
            frames.append(pl.DataFrame(keys | values))
        pl.concat(frames).write_parquet(path)
        write_stamp(path.with_name("evaluation.json"), {}, [path])


def main() -> None:
    options = parser(__doc__).parse_args()
    seconds: dict[str, dict[float, float]] = {}
    for methods in METHODS:
        with tempfile.TemporaryDirectory(prefix="gradrank-summary-") as name:
            folder = Path(name, "mq2007")
            folder.mkdir()
            write_values(folder, methods)
            for version, source in versions_of(options.before).items():
                command = [sys.executable, "-c", SUMMARY, folder]
                seconds.setdefault(version, {})[methods] = processor_seconds(command, source, repeats=1)
            peer = processor_seconds([sys.executable, "-c", PEER, folder], SOURCE, repeats=1)
            seconds.setdefault("SciPy, one call per pair", {})[methods] = peer
    record("summary", "Summary of a data set", "methods", seconds, NOTES, options)


NOTES = (
    "72 methods are 2,556 pairs per metric. The p values have the bits of SciPy's.",
    "The row of SciPy has only the tests of all pairs, which take 0.7 s of a summary.",
    "In a profiled run of 5.9 s, imports take 0.8 s, reading 0.4 s, the model confidence sets with the import of Numba "
    "1.4 s, the tests of all pairs 0.7 s, making and writing the tables 1.9 s, and queries.parquet 0.4 s. The aim was "
    "2.5 s. It would require fewer tables or no model confidence sets.",
)

if __name__ == "__main__":
    main()
