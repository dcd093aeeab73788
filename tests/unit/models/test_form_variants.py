"""Scoring forms of models whose parameters select other formulas than their defaults."""

import numpy as np
import pytest

from gradrank.models.arsm import ARSM
from gradrank.models.mart import McRank
from gradrank.models.ranknet_report import RankNetReport
from gradrank.training.contract.test_models import fit, random_part
from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import Combined, NetForm, NoScoringForm, Tree
from gradrank.training.solvers.weighted_terms import Term, TermRanker

VARIANTS = [
    *((ARSM, {"combination": name}, Combined) for name in ("level", "square", "upper_half", "likeliest")),
    *((McRank, {"form": name}, Combined) for name in ("multiclass", "ordinal")),
    (RankNetReport, {"reading": "difference", "scoring": "plain"}, Combined),
    *((RankNetReport, {"reading": name, "scoring": "plain"}, NetForm) for name in ("siamese", "pointwise")),
]


@pytest.mark.parametrize(("cls", "settings", "kind"), VARIANTS)
@pytest.mark.parametrize("grades", [2, 3])
def test_the_form_has_the_scores_of_the_model(cls, settings, kind, grades):
    train, vali, test = (random_part(seed, grades=grades) for seed in (1, 2, 3))
    model = fit(cls, train, vali, **settings)
    form = model.scoring_form(5)
    assert isinstance(form, kind)
    scores = model.score(test.features, test.offsets)
    np.testing.assert_allclose(form_scores(form, test.features, test.offsets), scores, rtol=1e-9)
    assert len(set(scores)) > 1


@pytest.mark.parametrize("reading", ["difference", "siamese", "pointwise"])
def test_row_sums_have_no_form(reading):
    model = fit(RankNetReport, random_part(1), random_part(2), reading=reading)
    with pytest.raises(NoScoringForm, match="all documents of the query"):
        model.scoring_form(5)


class Terms(TermRanker):
    fit = None


@pytest.mark.parametrize(
    "terms",
    [
        [],
        [Term(0, 2.0), Term(1, -1.0), Term(0, 0.5)],
        [Term(0, 2.0, 0.5), Term(1, -1.0, 0.1), Term(0, 2.0, 0.5)],
        [Term(0, 2.0, 0.5), Term(1, -1.0), Term(2, 1.0)],
    ],
    ids=["none", "linear", "stumps", "both"],
)
def test_the_form_of_terms(terms):
    """The threshold 0.1 is not a float32 number, and the model compares float32 numbers."""
    rows = np.random.default_rng(0).choice(np.float32([0.1, 0.5, 0.7, np.nextafter(np.float32(0.1), 0)]), (200, 3))
    model, offsets = Terms(terms), np.array([0, 200])
    scores = form_scores(model.scoring_form(3), rows.astype(np.float32), offsets)
    np.testing.assert_allclose(scores, model.score(rows, offsets), rtol=1e-12, atol=1e-12)


def test_a_missing_value_does_not_exceed_the_threshold_of_a_stump():
    model = Terms([Term(0, 2.0, 0.5)])
    rows = np.float32([[np.nan], [1.0]])
    assert form_scores(model.scoring_form(1), rows, np.array([0, 2])).tolist() == [0.0, 2.0]


def test_xgboost_trees_have_the_strict_comparison_of_xgboost():
    from gradrank.models.xgboost_ndcg import tree_form

    tree = tree_form(
        {
            "split_conditions": [0.1, -1.0, 1.0],
            "split_indices": [2, 0, 0],
            "left_children": [1, -1, -1],
            "right_children": [2, -1, -1],
            "default_left": [1, 0, 0],
            "split_type": [0, 0, 0],
        }
    )
    assert isinstance(tree, Tree)
    assert tree.threshold[0] == np.nextafter(np.float32(0.1), np.float32(0)) and tree.missing_left[0]
    assert tree.feature.tolist() == [2, -1, -1] and tree.value.tolist() == [0.0, -1.0, 1.0]


def test_the_base_score_of_xgboost_is_the_intercept():
    xgboost = pytest.importorskip("xgboost")
    from gradrank.models.xgboost_ndcg import XGBoostNDCG

    part = random_part(1)
    data = xgboost.DMatrix(part.features, part.labels)
    data.set_group(np.diff(part.offsets))
    model = XGBoostNDCG(xgboost.train({"objective": "rank:ndcg", "base_score": 0.75}, data, 3))
    scores = form_scores(model.scoring_form(5), part.features, part.offsets)
    np.testing.assert_allclose(scores, model.score(part.features, part.offsets), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("high", [set(), {1}])
def test_catboost_trees_number_their_leaves_by_bits(high):
    """Bit k of the number of a leaf is 1 if split k is exceeded."""
    from gradrank.models.catboost_rankers import tree_form
    from gradrank.training.scoring_form import TreesForm

    splits = [{"float_feature_index": f, "border": border} for f, border in ((0, 0.1), (1, 0.0), (0, 2.0))]
    form = TreesForm((tree_form({"splits": splits, "leaf_values": list(range(8))}, 2.0, high),))
    values = np.float32([np.nan, -1.0, 0.0, 0.1, 0.5, 2.0, 3.0])
    rows = np.array([(a, b) for a in values for b in values], np.float32)
    exceeded = [
        (np.isnan(row[f]) and f in high) | (row[f] > np.float32(b))
        for row in rows
        for f, b in ((0, 0.1), (1, 0.0), (0, 2.0))
    ]
    expected = 2.0 * (np.array(exceeded).reshape(-1, 3) @ [1, 2, 4])
    np.testing.assert_array_equal(form_scores(form, rows, np.array([0, len(rows)])), expected)
