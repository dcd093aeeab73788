"""The experiments of the first RankNet paper on its artificial data (Burges et al. 2005, section 5).

Each job draws one random target function, and trains nets on the first vectors of its training files.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.sources.synthetic import Target
from gradrank.training.seeds import job_seed
from studies.ranknet2005.boosted import run_boosted
from studies.ranknet2005.net_training import NetTraining, train_net
from studies.ranknet2005.vectors import FILE, PARTS, Terms, draw_vectors

NETS = {"linear": 0, "two_layer_5": 5, "two_layer_10": 10}  # numbers of tanh units; the target net has ten
TABLE1 = ("linear", "two_layer_5")  # the nets of the paper's Table 1
ZERO_SIZE, ZERO_EPOCHS = 1000, 1000  # section 5.1: a net of the target's shape learns 1000 vectors without error
LINEAR_SHARES = (0.05, 0.1, 0.2)  # shares of the linear term in the polynomial's variance; 1/3 in the paper's text


class Experiment(NamedTuple):
    """The training of one net: name of the experiment, key of NETS, number of vectors, training, scaling of terms."""

    name: str
    net: str
    size: int
    training: NetTraining
    terms: Terms = "deviation"


def experiments(target: Target, sizes: Sequence[int], tie_sizes: Sequence[int]) -> Iterator[Experiment]:
    """Yield all trainings of nets for a target of one kind.

    For both targets, they are Table 1 at `sizes`, with steps per pair as in the paper and with steps per file. For the
    target `net`, they include a net of ten units, which is the target's own shape, and the check that this net learns
    1000 vectors without error.

    For the target `poly`, they include Table 2 at `tie_sizes`. Both tables also have the polynomial's terms divided by
    their variance, and a linear net is trained for each share of LINEAR_SHARES.
    """
    for size in sizes:
        for net in NETS if target == "net" else TABLE1:
            yield Experiment("table1", net, size, NetTraining(NETS[net]))
            yield Experiment("table1_by_file", net, size, NetTraining(NETS[net], steps="file"))
    if target == "net":
        ten = NetTraining(NETS["two_layer_10"], most=ZERO_EPOCHS)
        yield Experiment("zero_error", "two_layer_10", ZERO_SIZE, ten)
        yield Experiment("zero_error_by_file", "two_layer_10", ZERO_SIZE, ten._replace(steps="file"))
        return
    for size in tie_sizes:
        for ties in (False, True):
            ten = NetTraining(NETS["two_layer_10"], ties)
            yield Experiment("table2", "two_layer_10", size, ten)
            yield Experiment("table2_by_variance", "two_layer_10", size, ten, "variance")
    for size in sizes:
        for net in TABLE1:
            yield Experiment("table1_by_variance", net, size, NetTraining(NETS[net]), "variance")
        for share in LINEAR_SHARES:
            yield Experiment(f"linear_share_{share}", "linear", size, NetTraining(NETS["linear"]), share)


def run_experiments(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Draw one target function, and run all experiments on it.

    The experiments are those of `experiments`, and boosting on the first vectors. settings: `target`, `draw` (the
    number of the target function), `sizes`, `tie_sizes` and `boosted_sizes`. seed: the seed of the workflow. Raises
    GradrankError if a size is not a number of whole training files.
    """
    target, sizes, tie_sizes, boosted_sizes = (
        settings[key] for key in ("target", "sizes", "tie_sizes", "boosted_sizes")
    )
    for size in (*sizes, *tie_sizes, *boosted_sizes):
        if size % FILE or not 0 < size <= PARTS["train"].stop:
            raise GradrankError(f"{size} training vectors: expected a multiple of {FILE} up to {PARTS['train'].stop}")
    target_seed = job_seed(seed, "artificial", target, settings["draw"])
    vectors = cache(lambda terms: draw_vectors(target, target_seed, terms))
    runs = []
    for name, net, size, training, terms in experiments(target, sizes, tie_sizes):
        result = train_net(vectors(terms), size, training, target_seed)
        runs.append({"experiment": name, "net": net, "size": size, "ties": training.ties} | result)
    for size in boosted_sizes:
        runs += run_boosted(vectors("deviation"), size)
    return {"target": target, "draw": settings["draw"], "seed": target_seed, "runs": runs}
