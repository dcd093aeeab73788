"""Linear RankSVM (Herbrich et al. 1999; Joachims 2002) in four forms.

The models minimise R(w) + C sum_p tau_p loss(w.(x_better - x_worse)). The sum is over the crucial pairs p, the pairs of
documents of one query with different grades:
  ranksvm           R = |w|^2/2, squared hinge loss, Newton's method in the primal (Lee & Lin 2014)
  ranksvm_l2_dual   the same problem by dual coordinate descent (Hsieh et al. 2008)
  ranksvm_l1_dual   R = |w|^2/2, hinge loss as in RankSVM-Struct, dual coordinate descent (Hsieh et al. 2008)
  ranksvm_sparse    R = |w|_1, squared hinge loss, proximal Newton (Yuan, Ho & Lin 2012)

If a user's file gives a pair the probability P, the pair counts as two preferences: the stated preference with weight
P, and the reverse preference with weight 1 - P. C is selected on validation.

The models `ranksvm_ndcg` have pair weights derived from NDCG_beta (Jin et al. 2018). The weight of a pair is tau = gap
/ (K DCG_beta(ideal)). gap is the difference between the two grades, and K is the number of queries with documents of
different grades. Because the weight depends on the grades, the models always use all pairs with different grades. Ties
and stored pairs are not used.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import PositiveFloat

from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.form_scores import linear_scores
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, Weights, check_width, read_content
from gradrank.training.scoring_form import LinearForm
from gradrank.training.search_space import Grid
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import queries_to_order

SPACING = "powers of 2 (Lee & Lin 2014), selected on validation as in LETOR's protocol; "


class RankSVMParams(ModelParams):
    weighting: Literal["pair", "query"] = param(
        "pair", "tau = 1 (Joachims 2002); query: 1 / crucial pairs of the query, for equal weights of queries"
    )
    C: Grid[PositiveFloat] = param(
        tuple(2.0**e for e in range(-18, 3)),
        SPACING + "from nearly no fit to where the weights no longer change, with 40 documents per query",
        min_length=1,
    )
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


class RankSVMContent(Content):
    C: PositiveFloat
    weights: Weights


GAP = param(1e-4, "relative duality gap; with 1e-3, validation MAP differs by .001 between seeds", gt=0, lt=1)


class RankSVMDualParams(RankSVMParams):
    gap: float = GAP


@register("ranksvm")
class RankSVM(Model[Any]):  # the structural SVMs derive from this class and have other parameters
    reads_labels = "order"
    Params = RankSVMParams
    summary = "Linear RankSVM, L2 loss, primal Newton (Herbrich et al. 1999; Joachims 2002; Lee & Lin 2014)"
    needs_pairs = True
    uses_weights = "queries"
    form: ClassVar[Literal["primal", "l2_dual", "l1_dual", "sparse"]] = "primal"
    published: ClassVar = {"C": 1.0}  # the default of LIBLINEAR

    def __init__(self, weights: np.ndarray, C: float) -> None:
        self.weights, self.C = weights, C

    @classmethod
    def uses_seed(cls, params: Any) -> bool:
        return cls.form.endswith("dual")

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: Any, seed: int, callback: Callback) -> Self:
        solve = cls._solver(train, params, seed)
        candidates = (Candidate(cls(solve(C), C), reported={"C": C}) for C in sorted(params.C))
        return best_of(candidates, vali, params.select_by, callback).kept

    @classmethod
    def _solver(cls, train: Collection, params: Any, seed: int) -> Callable[[float], np.ndarray]:
        """Return a function that computes the (d,) weights for a value of C.

        Each call starts at the solution of the previous call.

        Raises GradrankError if no query has a pair.
        """
        from gradrank.training.solvers.ranksvm import group_by_grade, solve_primal, weight_pairs

        queries_to_order(train, cls.name)
        features = train.features
        if cls._lists_pairs(train):
            pairs = weight_pairs(train, params.weighting)
        else:
            pairs = group_by_grade(train, params.weighting)
        weights = np.zeros(features.shape[1])

        def solve(C: float) -> np.ndarray:
            nonlocal weights
            weights = solve_primal(features, pairs, C, weights, "l1" if cls.form == "sparse" else "l2")
            return weights

        return solve

    @staticmethod
    def _lists_pairs(train: Collection) -> bool:
        """Return whether the pairs must be listed, because they are not simply all pairs with different grades."""
        return train.ties or train.targets is not train.labels

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return linear_scores(features, self.weights)

    def scoring_form(self, features: int) -> LinearForm:
        return LinearForm(self.weights)

    def save(self, folder: Path) -> None:
        write_json(folder / "ranksvm.json", {"C": self.C, "weights": self.weights.tolist()})

    @classmethod
    def load(cls, folder: Path) -> Self:
        stored = read_content(folder / "ranksvm.json", RankSVMContent)
        return cls(np.array(stored.weights, np.float64), stored.C)

    def check_width(self, features: int) -> None:
        check_width("ranksvm.json", len(self.weights), features)


class DualRankSVM(RankSVM):
    """The forms of RankSVM that are solved by dual coordinate descent."""

    @classmethod
    def _solver(cls, train: Collection, params: Any, seed: int) -> Callable[[float], np.ndarray]:
        from gradrank.training.solvers.ranksvm import solve_dual, weight_crucial_pairs, weight_pairs

        queries_to_order(train, cls.name)
        features = train.features
        if cls._lists_pairs(train):
            pairs = weight_pairs(train, params.weighting)
        else:
            pairs = weight_crucial_pairs(train, params.weighting)
        rng, alpha, last = np.random.default_rng(seed), np.zeros(len(pairs.tau)), 1.0

        def solve(C: float) -> np.ndarray:
            nonlocal alpha, last
            start = alpha * (C / last)
            cost, form = C * pairs.tau, cls.form[:2]
            weights, alpha = solve_dual(features, pairs.better, pairs.worse, cost, form, start, params.gap, rng)
            last = C
            return weights

        return solve


@register("ranksvm_l2_dual")
class RankSVML2Dual(DualRankSVM):
    summary = "Linear RankSVM, L2 loss, dual coordinate descent (Hsieh et al. 2008)"
    Params = RankSVMDualParams
    form = "l2_dual"


@register("ranksvm_l1_dual")
class RankSVML1Dual(DualRankSVM):
    summary = "Linear RankSVM, L1 loss, dual coordinate descent (Hsieh et al. 2008)"
    Params = RankSVMDualParams
    form = "l1_dual"


@register("ranksvm_sparse")
class RankSVMSparse(RankSVM):
    summary = "Linear RankSVM, L2 loss and L1 penalty, proximal Newton (Yuan, Ho & Lin 2012)"
    form = "sparse"


class RankSVMNDCGParams(RankSVMParams):
    # Another type is safe, because pydantic makes the fields read-only. Type checkers cannot see this in model_config.
    weighting: Literal["ndcg"] = param(  # pyright: ignore[reportIncompatibleVariableOverride]
        "ndcg", "tau = gap / (K DCG_beta(ideal)), Jin et al. 2018"
    )
    C: Grid[PositiveFloat] = param(
        tuple(2.0**e for e in range(-2, 15)),
        SPACING + "larger values, because the sum of tau is at most 1",
        min_length=1,
    )


class RankSVMNDCGDualParams(RankSVMNDCGParams):
    gap: float = GAP


@register("ranksvm_ndcg")
class RankSVMNDCG(RankSVM):
    reads_labels = "grades"
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss, primal Newton"
    Params = RankSVMNDCGParams
    needs_pairs = False


@register("ranksvm_ndcg_l2_dual")
class RankSVMNDCGL2Dual(RankSVML2Dual):
    reads_labels = "grades"
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss, dual coordinate descent"
    Params = RankSVMNDCGDualParams
    needs_pairs = False


@register("ranksvm_ndcg_l1_dual")
class RankSVMNDCGL1Dual(RankSVML1Dual):
    reads_labels = "grades"
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L1 loss, dual coordinate descent"
    Params = RankSVMNDCGDualParams
    needs_pairs = False


@register("ranksvm_ndcg_sparse")
class RankSVMNDCGSparse(RankSVMSparse):
    reads_labels = "grades"
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss and L1 penalty, proximal Newton"
    Params = RankSVMNDCGParams
    needs_pairs = False
