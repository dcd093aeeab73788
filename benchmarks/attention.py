"""Processor seconds per epoch of training with self-attention, by the number of queries, compared with allRank.

    python benchmarks/attention.py [--before OTHER/src] [--peers PEERS/bin/python]

The data are drawn in the shape of MQ2007: 46 features, and 40 documents in most queries. A third as many queries
validate each epoch. The seconds are the difference of a training with four epochs and one with one epoch, divided by
three. The peer is the model of allRank with the same widths, on random batches of queries that are padded to the
longest of the batch. It may use every kernel of MKL, and its validation computes only scores. Both minimise the softmax
loss.

allRank requires old versions of other packages, but its model needs only torch and attrs. To install it:
pip install --no-deps allRank
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from measured import is_installed, parser, printed_values, record, versions_of

QUERIES, FEATURES, FEW, MANY, REPEATS = (1_000, 2_000, 4_000), 46, 1, 4, 3
WIDTH, HEADS, FEED_FORWARD, DROPOUT, BATCH, RATE = 64, 2, 128, 0.3, 50, 1e-3
NOTES = (
    "At {queries:,} queries, a document takes {own:.1f} us per epoch, including the validation of the epoch.",
    "Before, one half of the time was spent on matrix products of MKL, whose reproducible kernels use registers of 128 "
    "bits, and a quarter on drawing the dropout. Now NumPy computes the products and draws the dropout.",
)


def made(queries: int, seed: int, width: int = FEATURES):
    """Return (n, width) features, (n,) grades from 0 to 2, and the (queries+1,) offsets of artificial queries."""
    import numpy as np

    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(queries) < 0.85, 40, rng.integers(6, 80, queries))
    features = rng.random((sizes.sum(), width), np.float32)
    grades = np.digitize(features[:, 0] + rng.normal(size=len(features)), [1.4, 2.0]).astype(np.int32)
    return features, grades, np.r_[0, np.cumsum(sizes)]


def seconds_per_epoch(train: Callable[[int], Any]) -> float:
    """Return the seconds per further epoch, from the smallest times of several trainings.

    train: function that trains with a number of epochs.
    """
    smallest = {}
    for epochs in (FEW, MANY):
        seconds = []
        for _ in range(REPEATS):
            started = time.process_time()
            train(epochs)
            seconds.append(time.process_time() - started)
        smallest[epochs] = min(seconds)
    return (smallest[MANY] - smallest[FEW]) / (MANY - FEW)


def own(queries: int) -> float:
    """Return the seconds per epoch of gradrank."""
    import gradrank

    gradrank.pin()
    import numpy as np

    from gradrank.data.collection import Collection
    from gradrank.training.registry import get_model

    train, vali = (Collection(*made(size, size), np.arange(size)) for size in (queries, queries // 3))
    model = get_model("attention_lambdaloss")
    widths = {"width": WIDTH, "heads": HEADS, "blocks": 1, "feed_forward": FEED_FORWARD}
    others = {"loss": "softmax", "dropout": DROPOUT, "batch_queries": BATCH, "learning_rate": RATE}

    def fit(epochs: int) -> None:
        model.fit(train, vali, model.Params(epochs=epochs, **widths, **others), 1, lambda step, **values: None)

    return seconds_per_epoch(fit)


def allrank(queries: int) -> float:
    """Return the seconds per epoch of allRank's model with the softmax loss."""
    import numpy as np
    import torch
    from allrank.config import TransformerConfig
    from allrank.models.model import make_model

    torch.set_num_threads(1)
    parts = []
    for size in (queries, queries // 3):
        features, grades, offsets = made(size, size)
        features, grades = (features - features.mean(axis=0)) / features.std(axis=0), grades.astype(np.float32)
        parts.append([torch.from_numpy(array).split(np.diff(offsets).tolist()) for array in (features, grades)])

    def padded(part: list, batch) -> list:
        return [torch.nn.utils.rnn.pad_sequence([rows[i] for i in batch], True, -1.0) for rows in part]

    def fit(epochs: int) -> None:
        first = {"sizes": [WIDTH], "input_norm": False, "activation": None, "dropout": 0.0}
        blocks = TransformerConfig(N=1, d_ff=FEED_FORWARD, h=HEADS, positional_encoding=None, dropout=DROPOUT)
        model = make_model(first, blocks, {"d_output": 1}, FEATURES)
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
        for _ in range(epochs):
            model.train()
            for batch in torch.randperm(queries).split(BATCH):
                features, grades = padded(parts[0], batch)
                absent = grades < 0
                shares = model(features, absent, None).masked_fill(absent, -1e9).log_softmax(dim=1)
                (-(grades.clamp(min=0) * shares).sum() / len(batch)).backward()
                optimiser.step()
                optimiser.zero_grad()
            model.eval()
            with torch.no_grad():
                for batch in torch.arange(queries // 3).split(BATCH):
                    features, grades = padded(parts[1], batch)
                    model.score(features, grades < 0, None)

    return seconds_per_epoch(fit)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--measure", choices=["gradrank", "allrank"], help="print the seconds of one tool")
    options = arguments.parse_args()
    if options.measure:
        tool = {"gradrank": own, "allrank": allrank}[options.measure]
        print(json.dumps({queries: tool(queries) for queries in QUERIES}))
        return
    values = {}
    for version, source in versions_of(options.before).items():
        values[version] = printed_values([sys.executable, __file__, "--measure", "gradrank"], source)
    if is_installed(options.peers, "allrank"):
        values["allRank"] = printed_values([options.peers, __file__, "--measure", "allrank"])
    by_queries = {tool: {int(key): value for key, value in seconds.items()} for tool, seconds in values.items()}
    documents = {queries: len(made(queries, queries)[0]) for queries in QUERIES}
    numbers = {"queries": QUERIES[-1], "own": 1e6 * by_queries["after"][QUERIES[-1]] / documents[QUERIES[-1]]}
    notes = [note.format(**numbers) for note in NOTES]
    record("attention", "An epoch of training with self-attention", "queries", by_queries, notes, options)


if __name__ == "__main__":
    main()
