"""Search spaces: each names parameters of its model, and the ends of each range are valid values."""

import pytest

from gradrank.training.registry import models
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.spaces import first_configuration, own_grids

DECLARED = [cls for cls in models().values() if cls.space]


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
            # Of a list that the model searches, one value.
            taken = (value,) if name in own_grids(cls) and not isinstance(value, tuple) else value
            assert getattr(cls.Params(**{name: taken}), name) == taken


@pytest.mark.parametrize("cls", models().values(), ids=lambda cls: cls.name)
def test_the_first_configuration_is_one_of_the_model(cls):
    assert cls.published.keys() <= cls.Params.model_fields.keys()
    assert cls.Params(**first_configuration(cls))
