"""The four forms of RankSVM with pair weights derived from NDCG_beta (Jin et al. 2018).

The weight of a pair is tau = gap / (K DCG_beta(ideal)). gap is the difference between the two grades, and K is the
number of queries with documents of different grades. Because the weight depends on the grades, the models always use
all pairs with different grades. Ties and stored pairs are not used.
"""

from typing import Literal

from pydantic import PositiveFloat

from gradrank.models.ranksvm import GAP, SPACING, RankSVM, RankSVML1Dual, RankSVML2Dual, RankSVMParams, RankSVMSparse
from gradrank.training.model import param, register
from gradrank.training.search_space import Grid


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
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss, primal Newton"
    Params = RankSVMNDCGParams
    needs_pairs = False


@register("ranksvm_ndcg_l2_dual")
class RankSVMNDCGL2Dual(RankSVML2Dual):
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss, dual coordinate descent"
    Params = RankSVMNDCGDualParams
    needs_pairs = False


@register("ranksvm_ndcg_l1_dual")
class RankSVMNDCGL1Dual(RankSVML1Dual):
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L1 loss, dual coordinate descent"
    Params = RankSVMNDCGDualParams
    needs_pairs = False


@register("ranksvm_ndcg_sparse")
class RankSVMNDCGSparse(RankSVMSparse):
    summary = "RankSVM with NDCG_beta pair weights (Jin et al. 2018), L2 loss and L1 penalty, proximal Newton"
    Params = RankSVMNDCGParams
    needs_pairs = False
