"""The study of target probabilities: its experiments against reference solutions, and claims that can fail."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from gradrank.bench.parts import write_job
from gradrank.bench.results import Results
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from made_study import PARAMS
from studies.pair_targets import jobs
from studies.pair_targets.experiments import (
    KINDS,
    all_pairs,
    draw_targets,
    learn_probabilities,
    optimal_probabilities,
    run_job,
)
from studies.pair_targets.page import claims_on_tables, claims_on_targets, fixed_points

SIZES, DRAWS = [50, 250], 6


@pytest.fixture(scope="module")
def found():
    return run_job({"draws": DRAWS, "sizes": SIZES}, Path(), 1)


def skewed(seed, items=5):
    wanted = np.full((items, items), 0.5)
    above = np.triu_indices(items, 1)
    wanted[above] = np.random.default_rng(seed).uniform(0.05, 0.95, len(above[0]))
    wanted.T[above] = 1.0 - wanted[above]
    return wanted


@pytest.mark.parametrize("seed", [0, 1])
def test_newton_and_training_end_where_a_general_minimiser_does(seed):
    wanted = skewed(seed)
    first, second = np.array(all_pairs(5)).T

    def cost(outputs):
        o = outputs[first] - outputs[second]
        return (np.logaddexp(0.0, o) - wanted[first, second] * o).sum()

    outputs = minimize(cost, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    least = expit(outputs[:, None] - outputs)
    np.testing.assert_allclose(optimal_probabilities(wanted), least, atol=1e-5)
    np.testing.assert_allclose(learn_probabilities(wanted, all_pairs(5)), least, atol=1e-3)
    np.testing.assert_allclose(optimal_probabilities(wanted).sum(axis=1), wanted.sum(axis=1), atol=1e-12)


def test_judges_say_what_the_probability_says_on_average():
    p, rng = np.full(20_000, 0.3), np.random.default_rng(0)
    words = [draw_targets(p, kind, rng) for kind in KINDS]
    assert set(words[0]) == {0.3} and set(words[2]) == {0.0, 1.0}
    assert sorted(set(words[1])) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert [each.mean() for each in words] == pytest.approx([0.3] * 3, abs=0.01)


def test_every_claim_holds_and_the_page_says_so(found, tmp_path):
    folder = Results(tmp_path).study("pair_targets").folder
    write_job(folder / "jobs/targets.json", found)
    write_study("pair_targets", Inputs(tmp_path, tmp_path, folder, {"draws": DRAWS, "sizes": SIZES}))
    numbers = json.loads((folder / "numbers.json").read_text())
    assert len(numbers["claims"]) == 12 and {row["verdict"] for row in numbers["claims"]} == {"holds"}
    page = (folder / "page.md").read_text()
    assert "12 of 12 claims hold." in page and f"{DRAWS} random tasks" in page
    assert "250 judgements: error" in page
    assert [row["pairs"] for row in numbers["noise"]] == [50] * 3 + [250] * 3
    combined = next(row for row in numbers["combined"] if (row["p_ij"], row["p_jk"]) == (0.7, 0.9))
    assert combined["learned"] == pytest.approx(0.63 / (1 + 2 * 0.63 - 1.6), abs=1e-4)


def test_claims_are_lost_where_the_numbers_are_others(found):
    combined, circles, draws = (deepcopy(found[part]) for part in ("combined", "circles", "draws"))
    combined[0]["learned"] += 0.01
    combined[-1]["learned"] = 0.85  # of .9 and .9
    circles[0]["learned_ij"] = 0.6
    draws[1]["consistent"]["neighbours"] = 0.02
    draws[2]["inconsistent"] |= {"excess": 0.0, "wins": 0.1}
    lost = [
        claim.claim for claim in (*claims_on_tables(combined, circles), *claims_on_targets(draws)) if not claim.holds
    ]
    assert len(lost) == 7
    assert not any("as they are" in claim for claim in lost)


def test_another_combination_has_other_fixed_points(monkeypatch):
    monkeypatch.setattr("studies.pair_targets.page.combine", lambda p, q: p * q)
    assert not fixed_points().holds


def test_the_job_is_what_params_ask_for(found):
    whole, reduced = (PARAMS.studies[form] for form in ("pair_targets", "pair_targets/reduced"))
    assert jobs(whole)["targets"] == {"draws": whole.draws, "sizes": list(whole.sizes)}
    assert reduced.draws < whole.draws
    assert run_job({"draws": 2, "sizes": SIZES}, Path(), 1)["draws"] == found["draws"][:2]
    assert found["draws"][0] != found["draws"][1]
