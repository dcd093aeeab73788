"""Tests of `best_of`: the candidate that it keeps, the number of steps and the reported values."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.training.best_of import Best, Candidate, best_of

OFFSETS = np.array([0, 2])
VALI = Collection(np.zeros((2, 1), np.float32), np.array([0, 1], np.int32), OFFSETS, np.array([1]))
RIGHT, WRONG = np.array([0.0, 1.0]), np.array([1.0, 0.0])  # AP 1 and 1/2


class Reports(list):
    def __call__(self, step: int, **values: float) -> None:
        self.append((step, values))


def chosen(order: str, **settings) -> tuple[Best, list[int]]:
    """Return the best of right (R) and wrong (W) candidates, numbered from 1, and the reported steps."""
    reports = Reports()
    scores = {"R": RIGHT, "W": WRONG}
    candidates = (Candidate(number, scores=scores[kind]) for number, kind in enumerate(order, start=1))
    return best_of(candidates, VALI, "map", reports, **settings), [step for step, _ in reports]


def test_the_first_of_equals_is_kept():
    assert chosen("WRRW") == (Best(2, 1.0, 4), [1, 2, 3, 4])


@pytest.mark.parametrize(("patience", "steps"), [(1, 2), (2, 3), (3, 5), (9, 5)])
def test_it_ends_after_so_many_steps_without_a_better_one(patience, steps):
    best, reported = chosen("WWWRW", patience=patience)
    assert (best.step, reported[-1]) == (steps, steps)
    assert best.kept == (4 if steps == 5 else 1)


def test_later_candidates_are_not_computed():
    made = []

    def candidates():
        for number in range(10):
            made.append(number)
            yield Candidate(number, scores=RIGHT)

    best_of(candidates(), VALI, "map", Reports(), patience=2)
    assert made == [0, 1, 2]


def test_step_numbers_continue_and_patience_restarts():
    assert chosen("WRW", steps_before=7, patience=3) == (Best(2, 1.0, 10), [8, 9, 10])


def test_a_training_loss_brings_the_usual_measures_and_their_order_is_fixed():
    reports = Reports()
    model = SimpleNamespace(score=lambda features, offsets: WRONG)
    best_of([Candidate(model, 0.5, reported={"tau": 0.3})], VALI, "ndcg@2", reports)
    ((_, values),) = reports
    assert list(values) == ["tau", "train_loss", "vali_map", "vali_ndcg@10", "vali_ndcg@2"]
    assert values["train_loss"] == 0.5
    assert values["vali_map"] == 0.5
    assert values["vali_ndcg@2"] == 1.0  # the discount of rank 2 is 1 under `letor4`
