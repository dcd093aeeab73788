"""Linear RankSVM (Herbrich et al. 1999; Joachims 2002) in four forms.

min R(w) + C sum_p tau_p loss(w.(x_better - x_worse)) over the crucial pairs p:
  ranksvm           R = |w|^2/2, squared hinge, Newton's method in the primal
  ranksvm_l2_dual   the same problem by dual coordinate descent
  ranksvm_l1_dual   R = |w|^2/2, plain hinge (RankSVM-Struct's loss), dual coordinate descent
  ranksvm_sparse    R = |w|_1, squared hinge, proximal Newton
A pair that a user gives with the probability P of a preference is P of the one and 1 - P of the other.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import PositiveFloat

from gradrank.base.files import read_json, write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import queries_to_order

if TYPE_CHECKING:
    from gradrank.training.solvers.ranksvm.objective import GradeGroups, WeightedPairs

SPACING = "powers of 2 (Lee & Lin 2014), searched by validation score as LETOR prescribes; "


class RankSVMParams(ModelParams):
    weighting: Literal["pair", "query"] = param(
        "pair", "tau = 1 (Joachims 2002), or 1 / crucial pairs of the query, so that queries weigh alike"
    )
    C: tuple[PositiveFloat, ...] = param(
        tuple(2.0**e for e in range(-18, 3)),
        SPACING + "from nearly unfitted to where the weights of a 40-document-a-query collection stand still",
        min_length=1,
    )
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


class RankSVMDualParams(RankSVMParams):
    gap: float = param(
        1e-4, "relative duality gap; at 1e-3 validation MAP still moves by .001 with the seed", gt=0, lt=1
    )


@register("ranksvm")
class RankSVM(Model):
    Params = RankSVMParams
    summary = "Linear RankSVM, L2 loss, primal Newton (Herbrich et al. 1999; Joachims 2002; Lee & Lin 2014)"
    needs_pairs = True
    form: ClassVar[Literal["primal", "l2_dual", "l1_dual", "sparse"]] = "primal"
    published: ClassVar = {"C": 1.0}  # LIBLINEAR's

    def __init__(self, weights: np.ndarray, C: float) -> None:
        self.weights, self.C = weights, C

    @classmethod
    def uses_seed(cls, params: RankSVMParams) -> bool:
        return cls.form.endswith("dual")

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: RankSVMParams, seed: int, callback: Callback) -> Self:
        solve = cls._solver(train, params, seed)
        candidates = (Candidate(cls(solve(C), C), reported={"C": C}) for C in sorted(params.C))
        return best_of(candidates, vali, params.select_by, callback).kept

    @classmethod
    def _solver(cls, train: Collection, params: RankSVMParams, seed: int) -> Callable[[float], np.ndarray]:
        """C -> weights; each solution is where the search for the next C starts."""
        from gradrank.training.solvers.ranksvm.objective import group_by_grade, weight_crucial_pairs, weight_pairs

        queries_to_order(train, cls.name)
        features, primal = train.features.astype(np.float64), cls.form in ("primal", "sparse")
        if train.ties or train.targets is not train.labels:
            pairs = weight_pairs(train.pairs, params.weighting, train.queries)
        else:
            pairs = (group_by_grade if primal else weight_crucial_pairs)(train, params.weighting)
        return cls._primal(features, pairs) if primal else cls._dual(features, pairs, params.gap, seed)

    @classmethod
    def _primal(cls, features: np.ndarray, pairs: "GradeGroups | WeightedPairs") -> Callable[[float], np.ndarray]:
        from gradrank.training.solvers.ranksvm.primal import solve_primal

        weights = np.zeros(features.shape[1])

        def solve(C: float) -> np.ndarray:
            nonlocal weights
            weights = solve_primal(features, pairs, C, weights, "l1" if cls.form == "sparse" else "l2")
            return weights

        return solve

    @classmethod
    def _dual(
        cls, features: np.ndarray, pairs: "WeightedPairs", gap: float, seed: int
    ) -> Callable[[float], np.ndarray]:
        from gradrank.training.solvers.ranksvm.dual import solve_dual

        rng, alpha, last = np.random.default_rng(seed), np.zeros(len(pairs.tau)), 1.0

        def solve(C: float) -> np.ndarray:
            nonlocal alpha, last
            start = alpha * (C / last)
            cost, form = C * pairs.tau, cls.form[:2]
            weights, alpha = solve_dual(features, pairs.better, pairs.worse, cost, form, start, gap, rng)
            last = C
            return weights

        return solve

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        # A row's sum is the same wherever it stands (a BLAS product's is not): equal documents stay tied.
        return np.einsum("nd,d->n", features.astype(np.float64), self.weights)

    def save(self, folder: Path) -> None:
        write_json(folder / "ranksvm.json", {"C": self.C, "weights": self.weights.tolist()})

    @classmethod
    def load(cls, folder: Path) -> Self:
        stored = read_json(folder / "ranksvm.json")
        return cls(np.array(stored["weights"]), stored["C"])


@register("ranksvm_l2_dual")
class RankSVML2Dual(RankSVM):
    summary = "Linear RankSVM, L2 loss, dual coordinate descent (Hsieh et al. 2008)"
    Params = RankSVMDualParams
    form = "l2_dual"


@register("ranksvm_l1_dual")
class RankSVML1Dual(RankSVM):
    summary = "Linear RankSVM, L1 loss, dual coordinate descent (Hsieh et al. 2008)"
    Params = RankSVMDualParams
    form = "l1_dual"


@register("ranksvm_sparse")
class RankSVMSparse(RankSVM):
    summary = "Linear RankSVM, L2 loss and L1 penalty, proximal Newton (Yuan, Ho & Lin 2012)"
    form = "sparse"
