"""Processor seconds of 10,000 calls of `Ranker.predict` and of a scorer with one query, compared with the model alone.

    python benchmarks/predict_one_query.py [--before OTHER/src]

The query is a float32 array with 46 features and an array of query ids. `Ranker.scorer` takes the array, or one dict
per document, as a server gets them from JSON. The models are LambdaMART with 100 trees, whose
peer is Booster.predict of LightGBM, and a net with 64 hidden units and a linear model, whose peer is the method `score`
of the model. The models are trained on random data.
"""

import gradrank

gradrank.pin()  # before numpy

# isort: split
import sys
import tempfile
from pathlib import Path
from typing import Any

from measured import parser, printed_values, record, versions_of

DOCUMENTS, FEATURES, CALLS = (10, 100, 1_000), 46, 10_000
METHODS = {
    "lambdamart": ("LambdaMART with 100 trees", {"rounds": 100, "patience": 100}),
    "ranknet_two_layer": ("a net of 64 hidden units", {"epochs": 1, "hidden": (64,)}),
    "ranksvm": ("a linear model", {}),
}
CALL = """
import gradrank; gradrank.pin()
import json, sys, time, numpy as np
ranker, documents = gradrank.load(sys.argv[1]), int(sys.argv[2])
X = np.random.default_rng(1).normal(size=(documents, ranker.n_features_in_)).astype(np.float32)
qid, offsets, model = np.ones(documents, np.int64), np.array([0, documents]), ranker.fold_.model
booster = model.boosters[0] if hasattr(model, "boosters") else None
calls = {"predict": lambda: ranker.predict(X, qid=qid), "score": lambda: model.score(X, offsets)}
if hasattr(ranker, "scorer"):
    scorer, dicts = ranker.scorer(), [dict(zip(ranker.scorer().names, row)) for row in X.astype(float).tolist()]
    calls |= {"scorer": lambda: scorer(X), "scorer, dicts": lambda: scorer(dicts)}
if booster is not None:
    calls["score"] = lambda: booster.predict(X, num_threads=1)
seconds = {}
for name, call in calls.items():
    call()
    times = []
    for _ in range(8):
        started = time.process_time()
        for _ in range(100):
            call()
        times.append(time.process_time() - started)
    seconds[name] = min(times) * 100
print(json.dumps(seconds))
"""
NOTES = (
    "With 100 documents, a call takes {own:.0f} us, {more:.0f} us more than {peer}.",
    "A scorer takes {scorer:.0f} us more than {peer}, and {dicts:.0f} us more if the documents are dicts.",
)


def train(method: str, params: dict[str, Any], folder: Path) -> None:
    """Train a method on random data and save it."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, FEATURES))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X)) + 1), 0, 4).astype(int)
    gradrank.Ranker(method, random_state=1, **params).fit(X, y, qid=np.repeat(range(40), 100)).save(folder)


def main() -> None:
    options = parser(str(__doc__)).parse_args()
    with tempfile.TemporaryDirectory(prefix="gradrank-query-") as name:
        for method, (title, params) in METHODS.items():
            train(method, params, folder := Path(name) / method)
            peer = "Booster.predict" if method == "lambdamart" else "the model alone"
            seconds: dict[str, dict[float, float]] = {}
            for documents in DOCUMENTS:
                for version, source in versions_of(options.before).items():
                    found = printed_values([sys.executable, "-c", CALL, folder, documents], source)
                    seconds.setdefault(version, {})[documents] = found["predict"]
                    seconds.setdefault(peer, {})[documents] = found["score"]
                    for call in ("scorer", "scorer, dicts") if version == "after" else ():
                        seconds.setdefault(call, {})[documents] = found[call]
            own, alone = (1e6 * seconds[each][100] / CALLS for each in ("after", peer))
            scorer, dicts = (1e6 * seconds[each][100] / CALLS - alone for each in ("scorer", "scorer, dicts"))
            values = {"own": own, "more": own - alone, "peer": peer, "scorer": scorer, "dicts": dicts}
            notes = [note.format(**values) for note in NOTES]
            of_page = f"10,000 calls of `Ranker.predict` with one query: {title}"
            record(f"predict_one_query_{method}", of_page, "documents", seconds, notes, options)


if __name__ == "__main__":
    main()
