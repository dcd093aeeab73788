"""Peak memory of RankSVM beyond that of its data: one fit for one C and the scores of the training rows.

    python benchmarks/ranksvm_memory.py [--before COMMIT]

The data are artificial: 136 features as in MSLR-WEB30K, 120 documents per query and five grades. The peak of a process
that only makes the data is subtracted. The processor seconds of the fit and the scores are measured in the same
process.
"""

import argparse
import json
import resource
import sys
import time

from measured import parser, printed_values, record, versions_of

ROWS = (100_000, 200_000, 400_000)
FEATURES, DOCUMENTS = 136, 120


def costs(rows: int, source: str) -> dict[str, float]:
    """Return the megabytes and the processor seconds of one version."""
    command = [sys.executable, __file__, "--rows", rows]
    made, fitted = (printed_values([*command, *extra], source) for extra in (["--only-data"], []))
    return {"megabytes": fitted["megabytes"] - made["megabytes"], "seconds": fitted["seconds"]}


def fit(rows: int, only_data: bool) -> None:
    """Print the peak memory and the processor seconds of this process as JSON."""
    import gradrank

    gradrank.pin()
    import numpy as np

    from gradrank.data.collection import Collection
    from gradrank.models.ranksvm import RankSVM

    rng = np.random.default_rng(1)
    features = rng.random((rows, FEATURES), np.float32)
    worth = features @ rng.normal(size=FEATURES).astype(np.float32)
    labels = np.digitize(worth, np.quantile(worth, [0.5, 0.75, 0.9, 0.97])).astype(np.int16)
    offsets = np.append(np.arange(0, rows, DOCUMENTS), rows)
    train = Collection(features, labels, offsets, np.arange(len(offsets) - 1))
    few = Collection(features[:1200], labels[:1200], offsets[:11], np.arange(10))
    params = RankSVM.Params(C=(0.001,))
    model = RankSVM.fit(few, few, params, 1, lambda *_, **__: None)  # compiles
    started = time.process_time()
    if not only_data:
        model = RankSVM.fit(train, few, params, 1, lambda *_, **__: None)
        model.score(features, offsets)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"megabytes": peak / 1e6, "seconds": seconds}))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    options.add_argument("--only-data", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.rows:
        fit(arguments.rows, arguments.only_data)
        return
    found = {
        version: {rows: costs(rows, source) for rows in ROWS}
        for version, source in versions_of(arguments.before).items()
    }
    values = {version: {rows: cost["megabytes"] for rows, cost in of.items()} for version, of in found.items()}
    last = ROWS[-1]
    data = last * FEATURES * 4 / 1e6
    seconds = ", ".join(f"{version} {of[last]['seconds']:.3g}" for version, of in found.items())
    notes = (
        f"Megabytes beyond the data; {last:,} rows of {FEATURES} float32 features are {data:.0f} MB.",
        f"Processor seconds of the fit and the scores at {last:,} rows: {seconds}.",
        "Products are computed from float64 copies of blocks of rows. The weights have the same bytes as before.",
    )
    record("memory_ranksvm", "Memory of RankSVM in megabytes", "rows", values, notes, arguments)


if __name__ == "__main__":
    main()
