"""Processor seconds per epoch of a net with the hidden layers 512, 256 and 128, compared with plain torch.

    python benchmarks/wide_nets.py [--before COMMIT]

The data are artificial, with 136 features and 40 documents in most queries. The seconds are measured as in
attention.py. Both programs minimise the softmax loss with one thread. The net of torch may use every kernel of MKL, and
is not validated.
"""

import json
import sys

from attention import BATCH, RATE, made, seconds_per_epoch
from measured import parser, printed_values, record, versions_of

QUERIES, FEATURES, HIDDEN = (100, 200, 400), 136, (512, 256, 128)
NOTES = (
    "Layers with at least 128 inputs and 128 outputs use NumPy's products, whose kernels for x86-64-v3 have registers "
    "of 256 bits. The reproducible kernels of MKL, which torch uses, have registers of 128 bits.",
    "Narrower layers keep torch's products, so that results with nets of 64 units keep their bytes.",
)


def own(queries: int) -> float:
    """Return the seconds per epoch of gradrank."""
    import gradrank

    gradrank.pin()
    import numpy as np

    from gradrank.data.collection import Collection
    from gradrank.training.registry import get_model

    train, vali = (Collection(*made(size, size, FEATURES), np.arange(size)) for size in (queries, 10))
    model = get_model("softmax")
    fixed = {"hidden": HIDDEN, "batch_queries": BATCH, "learning_rate": RATE}

    def fit(epochs: int) -> None:
        model.fit(train, vali, model.Params(epochs=epochs, **fixed), 1, lambda step, **values: None)

    return seconds_per_epoch(fit)


def of_torch(queries: int) -> float:
    """Return the seconds per epoch of a net in plain torch."""
    from itertools import pairwise

    import numpy as np
    import torch

    torch.set_num_threads(1)
    features, grades, offsets = made(queries, queries, FEATURES)
    features = torch.from_numpy((features - features.mean(axis=0)) / features.std(axis=0))
    grades, sizes = torch.from_numpy(grades.astype(np.float32)), np.diff(offsets).tolist()
    lists = list(zip(features.split(sizes), grades.split(sizes), strict=True))

    def fit(epochs: int) -> None:
        layers = [
            part for widths in pairwise((FEATURES, *HIDDEN)) for part in (torch.nn.Linear(*widths), torch.nn.ReLU())
        ]
        net = torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN[-1], 1))
        optimiser = torch.optim.AdamW(net.parameters(), lr=RATE)
        for _ in range(epochs):
            for batch in torch.randperm(queries).split(BATCH):
                rows, labels = zip(*(lists[i] for i in batch), strict=True)
                scores = net(torch.cat(rows))[:, 0].split([len(own_labels) for own_labels in labels])
                pad = torch.nn.utils.rnn.pad_sequence
                shares = pad(scores, True, -1e9).log_softmax(dim=1)
                (-(pad(labels, True) * shares).sum() / len(batch)).backward()
                optimiser.step()
                optimiser.zero_grad()

    return seconds_per_epoch(fit)


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--measure", nargs=2, metavar=("PROGRAM", "QUERIES"), help="measure one program in this process"
    )
    options = options.parse_args()
    if options.measure:
        program, queries = options.measure
        print(json.dumps({"seconds": {"own": own, "torch": of_torch}[program](int(queries))}))
        return

    def measured(program: str, *source) -> dict[float, float]:
        command = [sys.executable, __file__, "--measure", program]
        return {queries: printed_values([*command, queries], *source)["seconds"] for queries in QUERIES}

    values = {version: measured("own", source) for version, source in versions_of(options.before).items()}
    values["torch, all kernels"] = measured("torch")
    record("wide_net", "An epoch of a net with 512, 256 and 128 units", "queries", values, NOTES, options)


if __name__ == "__main__":
    main()
