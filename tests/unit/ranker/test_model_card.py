"""The model card of a refitted model: data, missing values, categories, values and the comparison."""

import numpy as np
import polars as pl
import pytest

from gradrank import Ranker
from gradrank.ranker.model_card import Compared, model_card


def refitted(method: str, **settings) -> Ranker:
    rng = np.random.default_rng(0)
    brand, price = rng.integers(0, 3, 400), rng.normal(size=400)
    grades = np.clip(np.round(price + 2.0 * (brand == 1) + 1), 0, 4).astype(int)
    table = {"price": np.where(rng.random(400) < 0.2, np.nan, price), "brand": np.array(["Acme", "Nord", "Zen"])[brand]}
    return Ranker(method, random_state=1, **settings).refit(pl.DataFrame(table), grades, qid=np.repeat(range(40), 10))


@pytest.mark.parametrize(
    ("method", "settings", "missing", "categories"),
    [
        ("lambdamart", {"rounds": 5, "min_data_in_leaf": 5}, "taken as they are", "taken as they are"),
        ("regression", {"missing": "median"}, "a constant of each feature", "each level becomes a column"),
        ("regression", {"missing": "indicator"}, "a further column tells", "each level becomes a column"),
    ],
)
def test_the_card_says_what_happens_to_missing_values_and_categories(method, settings, missing, categories):
    card = model_card(refitted(method, **settings).fold_)
    rows = dict(line.strip("| ").split(" | ") for line in card.splitlines() if line.count(" | ") == 1)
    assert missing in rows["missing values"] and categories in rows["categories"]
    assert "`price`, `brand` (3 levels)" in card
    assert "not compared with other methods" in card


def test_the_card_shows_values_with_intervals_and_the_place_of_the_method():
    fold = refitted("lambdamart", rounds=5, min_data_in_leaf=5).fold_
    compared = Compared("lambdamart", "ndcg@10", "letor4", {"mart": 0.5, "lambdamart": 0.45, "regression": 0.4})
    card, entry = model_card(fold, compared), fold.spec["refit"]
    for each in entry["folds"]:
        assert f"| {each['value']:.4f} ± {each['half_width']:.4f} |" in card
    assert "`letor4`" in card and "place 2 of 3" in card and "| **lambdamart** | 0.4500 |" in card
    others = {f"method{number}": 0.9 - number / 100 for number in range(30)}
    assert "11 further methods" in model_card(
        fold, Compared("lambdamart", "ndcg@10", "", {**others, "lambdamart": 0.1})
    )
