"""Coordinate ascent: it climbs, stays in scale, and finds the optimum where it can be enumerated."""

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.models.coordinate_ascent import CoordinateAscent, CoordinateAscentParams, climb
from gradrank.training.selection import Criterion, measure
from made_rankings import noisy_copies, silent


def collection(seed: int, queries=30, documents=12, features=5, noise=2.0) -> Collection:
    return noisy_copies(seed, queries, documents, features, noise)


@pytest.mark.parametrize("name", ["map", "ndcg@10"])
def test_every_pass_reports_what_its_weights_reach_and_never_falls(name):
    data = collection(0)
    columns = data.features.T.astype(np.float64)
    params = CoordinateAscentParams(measure=name, tolerance=0.0)
    passes = []
    for weights, reached in climb(np.full(5, 0.2), columns, data, params, np.random.default_rng(0)):
        assert np.abs(weights).sum() == pytest.approx(1.0)
        direct = Criterion(name, data.labels, data.offsets).per_query(weights @ columns).mean()
        assert reached == pytest.approx(direct, abs=1e-12)
        passes.append(reached)
    start = Criterion(name, data.labels, data.offsets).per_query(columns.sum(axis=0)).mean()
    assert passes[0] > start and passes == sorted(passes)
    assert passes[-1] == passes[-2]  # with tolerance 0 the last pass found no better weight


@pytest.mark.parametrize("seed", range(4))
def test_two_weights_reach_the_best_direction_of_an_enumeration(seed):
    data = collection(seed, features=2)
    angles = np.linspace(0, 2 * np.pi, 1500, endpoint=False)
    best = max(
        measure("map", data.features @ np.array([np.cos(a), np.sin(a)]), data.labels, data.offsets) for a in angles
    )
    params = CoordinateAscentParams(measure="map", select_by="map", starts=10, tolerance=0.0)
    model = CoordinateAscent.fit(data, data, params, 0, silent)  # its own validation part: select the highest
    reached = measure("map", model.score(data.features, data.offsets), data.labels, data.offsets)
    assert reached >= best - 0.003


def test_constant_features_are_left_out_and_alone_give_equal_scores():
    data = collection(10)
    data.features[:, 2] = np.float32(0.1)  # whose computed variance is not exactly 0
    terms = CoordinateAscent.fit(data, data, PARAMS, 0, silent).terms
    assert {t.feature for t in terms} == {0, 1, 3, 4}
    data.features[:] = 1
    assert CoordinateAscent.fit(data, data, PARAMS, 0, silent).terms == []


PARAMS = CoordinateAscentParams(starts=2)
