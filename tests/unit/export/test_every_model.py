"""Every kind of model in the formats of search engines: written with its scores, or refused with a reason."""

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.data.normalisation import Normaliser
from gradrank.export.format import ExportedModel, NotExpressible
from gradrank.export.lookup import find_format
from gradrank.training.contract.test_models import every_form, fitted, random_part
from gradrank.training.scoring_form import NoScoringForm

ENGINES = ["ranklib", "xgboost-json", "solr"]
NAMES = tuple("abcde")


@every_form
@pytest.mark.parametrize("is_normalised", [False, True])
def test_the_scores_of_an_engine_are_those_of_the_model(is_normalised, cls, tmp_path):
    model, part = fitted(cls), random_part(3, sizes=(12, 1, 7, 20))
    normaliser = Normaliser("global", np.arange(5.0), np.array([0.1, 1.0, 30.0, 2.0, 1e-3])) if is_normalised else None
    features = part.features
    if normaliser:
        features = (part.features * normaliser.deviation + normaliser.mean).astype(np.float32)
    try:
        form = model.scoring_form(5)
    except NoScoringForm as reason:
        pytest.skip(str(reason))
    expected = model.score(normaliser(features, part.offsets) if normaliser else features, part.offsets)
    for engine in ENGINES:
        model_format = find_format(engine)
        try:
            path, *_ = model_format.write(ExportedModel(form, NAMES, normaliser, cls.takes_missing), tmp_path / engine)
        except NotExpressible as reason:
            assert str(reason)
            continue
        reader = model_format.read(path)
        columns = [NAMES.index(name) for name in reader.names or NAMES]
        found = reader.scores(np.ascontiguousarray(features[:, columns]), part.offsets)
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=model_format.tolerance * max(1.0, np.abs(expected).max())
        )
