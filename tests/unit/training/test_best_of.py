"""The loop that keeps the best on validation: what it keeps, when it ends, what it reports."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.training.best_of import Best, Candidate, best_of

OFFSETS = np.array([0, 2])
VALI = Collection(np.zeros((2, 1), np.float32), np.array([0, 1], np.int32), OFFSETS, np.array([1]))
RIGHT, WRONG = np.array([0.0, 1.0]), np.array([1.0, 0.0])  # AP 1 and 1/2


class Told(list):
    def __call__(self, step: int, **values: float) -> None:
        self.append((step, values))


def chosen(order: str, **settings) -> tuple[Best, list[int]]:
    """The best of right (R) and wrong (W) candidates that are numbered from 1, and the steps told of."""
    told = Told()
    scores = {"R": RIGHT, "W": WRONG}
    candidates = (Candidate(number, scores=scores[each]) for number, each in enumerate(order, start=1))
    return best_of(candidates, VALI, "map", told, **settings), [step for step, _ in told]


def test_the_first_of_equals_is_kept():
    assert chosen("WRRW") == (Best(2, 1.0, 4), [1, 2, 3, 4])


@pytest.mark.parametrize(("patience", "steps"), [(1, 2), (2, 3), (3, 5), (9, 5)])
def test_it_ends_after_so_many_steps_without_a_better_one(patience, steps):
    best, told = chosen("WWWRW", patience=patience)
    assert (best.step, told[-1]) == (steps, steps)
    assert best.kept == (4 if steps == 5 else 1)


def test_the_rest_of_the_candidates_is_never_made():
    made = []

    def candidates():
        for number in range(10):
            made.append(number)
            yield Candidate(number, scores=RIGHT)

    best_of(candidates(), VALI, "map", Told(), patience=2)
    assert made == [0, 1, 2]


def test_steps_go_on_from_those_before_and_patience_starts_anew():
    assert chosen("WRW", steps_before=7, patience=3) == (Best(2, 1.0, 10), [8, 9, 10])


def test_a_training_loss_brings_the_usual_measures_and_their_order_is_fixed():
    told = Told()
    model = SimpleNamespace(score=lambda features, offsets: WRONG)
    best_of([Candidate(model, 0.5, told={"tau": 0.3})], VALI, "ndcg@2", told)
    ((_, values),) = told
    assert list(values) == ["tau", "train_loss", "vali_map", "vali_ndcg@10", "vali_ndcg@2"]
    assert values["train_loss"] == 0.5
    assert values["vali_map"] == 0.5
    assert values["vali_ndcg@2"] == 1.0  # the discount of rank 2 is 1 under `letor4`
