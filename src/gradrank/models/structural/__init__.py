"""Linear structural support vector machines: RankSVM-Struct (Joachims 2006) and SVM-MAP (Yue et al. 2007).

Both are trained by the method of cutting planes. The solver deviates from the authors' programs, SVMrank and SVMmap, in
its stopping rule: it uses a relative duality gap instead of an absolute one. C is selected on validation.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat

from gradrank.data.collection import Collection
from gradrank.models.ranksvm import SPACING, RankSVM, RankSVMParams
from gradrank.training.model import ModelParams, param, register
from gradrank.training.search_space import Choice, Dimension, Grid
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order

GAP = param(1e-3, "relative duality gap; SVMrank and SVMmap stop at an absolute gap of .001", gt=0, lt=1)


class RankSVMStructParams(RankSVMParams):
    gap: float = GAP


@register("ranksvm_struct")
class RankSVMStruct(RankSVM):
    """RankSVM with the same objective as `ranksvm_l1_dual`, minimised without listing the pairs.

    C multiplies the loss of each pair, as in the other RankSVMs. The option -c of SVMrank equals C times the number of
    queries.
    """

    Params = RankSVMStructParams
    summary = "RankSVM-Struct: linear RankSVM, L1 loss, by cutting planes (Joachims 2006)"
    space: ClassVar[Mapping[str, Dimension]] = {
        "weighting": Choice(("pair", "query"), "both forms in use"),
        "C": Choice([(2.0**e,) for e in range(-18, 3)], "one value of the grid"),
    }

    @classmethod
    def _solver(cls, train: Collection, params: RankSVMStructParams, seed: int) -> Callable[[float], np.ndarray]:
        from gradrank.models.structural.cutting_planes import CuttingPlanes
        from gradrank.models.structural.risks import PairRisk

        risk = PairRisk(with_grades_to_order(train, cls.name), params.weighting)
        return CuttingPlanes(risk, train.features.shape[1], params.gap).solve


class SVMMAPParams(ModelParams):
    C: Grid[PositiveFloat] = param(
        tuple(2.0**e for e in range(-4, 15)),
        SPACING + "from nearly no fit to where the weights no longer change",
        min_length=1,
    )
    gap: float = GAP
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


@register("svm_map")
class SVMMAP(RankSVM):
    Params = SVMMAPParams
    summary = "SVM-MAP: a structural SVM whose margin is average precision (Yue et al. 2007)"
    space: ClassVar[Mapping[str, Dimension]] = {
        "C": Choice([(2.0**e,) for e in range(-4, 15)], "one value of the grid")
    }

    @classmethod
    def _solver(cls, train: Collection, params: SVMMAPParams, seed: int) -> Callable[[float], np.ndarray]:
        from gradrank.models.structural.cutting_planes import CuttingPlanes
        from gradrank.models.structural.risks import MAPRisk

        risk = MAPRisk(with_grades_to_order(train, cls.name), cls.name)
        return CuttingPlanes(risk, train.features.shape[1], params.gap).solve
