"""Every declared search space is of its model's parameters, and every end of it is a value that they take."""

import pytest

from gradrank.learning.model import models
from gradrank.learning.space import Choice, LogUniform

DECLARED = [cls for cls in models().values() if hasattr(cls, "space")]


@pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.name)
def test_a_space_names_parameters_and_values_that_they_take(cls):
    for name, dimension in cls.space.items():
        assert dimension.source and name in cls.Params.model_fields
        if isinstance(dimension, Choice):
            ends = dimension.values
        else:
            assert dimension.low < dimension.high
            assert dimension.low > 0 or not isinstance(dimension, LogUniform)
            ends = (dimension.low, dimension.high)
        for value in ends:
            assert getattr(cls.Params(**{name: value}), name) == value


def test_the_later_methods_have_one():
    later = {"dart", "lambdaloss_trees", "lambdamart_stochastic", "yeti_trees", "yetiloss", "stochasticrank"}
    linear = {"frank", "svm_map", "smoothrank", "ranksvm_struct"}
    assert later | linear <= {cls.name for cls in DECLARED}
