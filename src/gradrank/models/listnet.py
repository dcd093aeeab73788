"""ListNet (Cao et al. 2007): cross-entropy between the top-one probabilities of grades and of scores.

`listnet` has the linear scorer of the paper. Its training deviates from the paper: the convex loss is minimised by
L-BFGS with an L2 penalty, because NDCG@10 on MQ2007 is lower by .02 with gradient descent that stops early.
`listnet_neural` trains a net with one hidden layer on the same loss.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Self

from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net_params import NetParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.neural import LIBRARY, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Grid, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order

TEMPERATURE = param(1.0, "P_y = softmax(grades / temperature); Cao et al. 2007: 1", gt=0)


class ListNetParams(ModelParams):
    l2: Grid[Annotated[float, Field(ge=0)]] = param(
        (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003),
        "penalty on standardised features, relative to the loss of equal scores; half decades; validation "
        "selects .03 to .003 on the folds of MQ2007, 1 to .001 on those of OHSUMED",
        min_length=1,
    )
    temperature: float = TEMPERATURE
    select_by: str = param("map", "LETOR's protocol: l2 by the validation part's MAP", pattern=CRITERION)


@register("listnet")
class ListNet(NetRanker[ListNetParams]):
    Params = ListNetParams
    uses_weights = "queries"
    reads_labels = "numbers"
    summary = "Linear ListNet to convergence, L-BFGS, L2 from a grid (Cao et al. 2007)"
    space: ClassVar = {"temperature": LogUniform(0.25, 4.0, "a factor of four on either side of the paper's value")}
    published: ClassVar = {"l2": 3e-4}  # the smallest value of the grid, because the paper has no penalty

    @classmethod
    def uses_seed(cls, params: ListNetParams) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: ListNetParams, seed: int, callback: Callback) -> Self:
        """Fit one model per value of l2 and return the model that is best on validation.

        The callback is called once per value of l2, from the largest to the smallest. Raises GradrankError if no query
        has two different grades.
        """
        from gradrank.training.losses.listwise import listnet
        from gradrank.training.solvers.linear import best_linear

        train = with_grades_to_order(train, cls.name)
        loss = partial(listnet, temperature=params.temperature)
        train = replace(train, labels=train.numbers)
        return cls(best_linear(train, vali, loss, params.l2, params.select_by, callback))


class ListNetNeuralParams(NetParams):
    loss: str = own_loss("listnet")
    temperature: float = TEMPERATURE
    sigma: float = param(1.0, "P_s = softmax(sigma * scores); Cao et al. 2007: 1", gt=0)


@register("listnet_neural")
class ListNetNeural(NeuralRanker[ListNetNeuralParams]):
    Params = ListNetNeuralParams
    summary = "ListNet's loss on a two-layer net, Adam on mini-batches of queries (Cao et al. 2007)"
    published = LIBRARY
    space = NET | {"temperature": LogUniform(0.25, 4.0, "a factor of four on either side of the paper's value")}
