"""Processor seconds of losses over pairs on long lists, compared with rax.

    python benchmarks/losses_on_long_lists.py [--before OTHER/src] [--peers PEERS/bin/python]

The lists have 200, 400 and 800 documents, and 64,000 documents in total. A call computes the loss and its gradient.
The compiled code of rax runs on one thread. To install it: pip install rax jax.
"""

import json
import sys
import time
from functools import partial

from measured import is_installed, parser, printed_values, record, versions_of

LENGTHS, DOCUMENTS = (200, 400, 1_000), 64_000
LOSSES = ("approx_ndcg", "lambdaloss")
NOTES = (
    "One call with value and gradient for 64,000 documents. The number of pairs grows with the length.",
    "exp of the C library takes most of the time. It is called once per pair. Vectorised exponentials would be faster, "
    "but have other last digits, so all models with these losses would change.",
)


def seconds_of(call) -> float:
    """Return the smallest processor time of several calls."""
    call()  # compiles
    seconds = []
    for _ in range(5):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def made(length: int):
    """Return (lists, length) scores and grades from 0 to 4."""
    import numpy as np

    rng, shape = np.random.default_rng(length), (DOCUMENTS // length, length)
    return rng.normal(size=shape), rng.choice(5, shape, p=[0.6, 0.2, 0.1, 0.06, 0.04])


def own(name: str) -> dict[int, float]:
    """Return the seconds of a loss of gradrank by length."""
    import gradrank

    gradrank.pin()
    import numpy as np

    from gradrank.training.registry import find_loss

    loss, seconds = find_loss(name), {}
    for length in LENGTHS:
        scores, grades = made(length)
        offsets = np.arange(len(scores) + 1) * length
        arrays = scores.ravel(), grades.ravel(), offsets
        seconds[length] = seconds_of(lambda arrays=arrays: loss(*arrays))
    return seconds


def rax(name: str) -> dict[int, float]:
    """Return the seconds of the corresponding loss of rax by length."""
    import jax
    import rax as tool

    loss = {
        "approx_ndcg": tool.approx_t12n(tool.ndcg_metric, temperature=0.1),
        "lambdaloss": partial(tool.pairwise_logistic_loss, lambdaweight_fn=tool.dcg2_lambdaweight),
    }[name]
    gradient, seconds = jax.jit(jax.value_and_grad(loss)), {}
    for length in LENGTHS:
        scores, grades = (jax.numpy.asarray(array, "float32") for array in made(length))
        seconds[length] = seconds_of(lambda s=scores, y=grades: jax.block_until_ready(gradient(s, y)))
    return seconds


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--measure", nargs=2, metavar=("TOOL", "LOSS"), help="print the seconds of one tool")
    options = arguments.parse_args()
    if options.measure:
        tool, loss = options.measure
        print(json.dumps({"rax": rax, "gradrank": own}[tool](loss)))
        return
    for loss in LOSSES:
        values = {}
        for version, source in versions_of(options.before).items():
            values[version] = printed_values([sys.executable, __file__, "--measure", "gradrank", loss], source)
        if is_installed(options.peers, "rax"):
            values["rax (float32)"] = printed_values([options.peers, __file__, "--measure", "rax", loss])
        by_length = {tool: {int(key): value for key, value in seconds.items()} for tool, seconds in values.items()}
        record(f"loss_{loss}", f"Loss {loss} on long lists", "documents per list", by_length, NOTES, options)


if __name__ == "__main__":
    main()
