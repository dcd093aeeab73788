"""The jobs and the page of a small fusion of members that are trained several times and on both labelled parts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.parts import write_job
from gradrank.bench.results import StudyFolder
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.fold_training import FoldTraining, selected_step
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.metrics import compute
from gradrank.models.fusion.comparable_scores import z_score
from gradrank.training.best_of import History
from gradrank.training.fit import job_seed
from gradrank.training.registry import models
from made_project import SETTINGS
from recomputed import assert_recomputed
from studies.best_ranking.experiments import run_job
from studies.best_ranking.page import BEST, RECIPES, rank

DATASET = "synthetic_net"
MEMBERS = {"regression": {}, "lambdarank": {"epochs": 3, "hidden": [4]}, "mart": {"rounds": 5}}


def settings(method, trainings=2, chosen=(), **params):
    plain = models()[method].Params(**params).model_dump(mode="json")
    about = {"dataset": DATASET, "method": method, "model": method, "params": plain, "seed": 5, "pairs": False}
    own = {"choices": "choices.json", "chosen": list(chosen), "trainings": trainings}
    return about | {"convention": "letor4_expected"} | own


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("best")
    generate("net", 20, 12, 1, root / "text")
    parse(root / "text", root / "data" / DATASET, seed=1, dataset=DATASET)
    folder = StudyFolder(root / "results/studies/best_ranking")
    for method, params in MEMBERS.items():
        write_job(folder.job_path(method), run_job(settings(method, **params), root / "data", 7))
    values = {"datasets": [DATASET], "models": list(MEMBERS)}
    return Inputs(root / "results", root / "data", folder.folder, values)


def by_hand(inputs, method, fold, run, **params):
    """Return the scores of one training, made without the study."""
    stored = StoredCollection.open(inputs.data / DATASET)
    training = FoldTraining(models()[method], stored, fold, None, resolve("letor4_expected"))
    seed = job_seed(5, DATASET, f"{method}/training{run}", fold)
    return training, training.scores(params, seed)


def part(inputs, fold, split):
    stored = StoredCollection.open(inputs.data / DATASET)
    return replace(stored.read(stored.fold(fold)[split]), convention=resolve("letor4_expected"))


def test_the_scores_of_a_member_are_the_means_of_its_trainings(inputs):
    job = next(job for job in inputs.jobs() if job["method"] == "lambdarank")
    assert job["trainings"] == 2 and len(job["folds"]) == 5
    found = [by_hand(inputs, "lambdarank", 2, run, **MEMBERS["lambdarank"]) for run in (1, 2)]
    scores = [z_score(own, training.test.offsets) for training, own in found]
    assert not np.array_equal(*scores), "the two trainings have different seeds"
    np.testing.assert_allclose(job["folds"][1]["test"], np.mean(scores, axis=0), atol=1e-6)


def test_the_second_training_has_the_number_of_steps_that_the_first_one_selected(inputs):
    training, scores = by_hand(inputs, "mart", 4, 1, rounds=5)
    seed, history = job_seed(5, DATASET, "mart/training1", 4), History("mart")
    params = models()["mart"].Params(rounds=5)
    models()["mart"].fit(part(inputs, 4, "train"), training.vali, params, seed, history)
    step = selected_step(history.frame(), params.model_dump(mode="json"))
    both = training.both({"rounds": 5}, seed)
    np.testing.assert_array_equal(both.test, scores)
    np.testing.assert_array_equal(both.whole, training.scores_of_whole({"rounds": 5}, seed, step))
    assert not np.array_equal(both.whole, training.scores_of_whole({"rounds": 5}, seed, step + 1))


def test_a_member_without_chance_is_trained_once(inputs):
    jobs = {job["method"]: job for job in inputs.jobs()}
    assert jobs["regression"]["trainings"] == 1
    training, scores = by_hand(inputs, "regression", 1, 1)
    np.testing.assert_allclose(
        jobs["regression"]["folds"][0]["test"], z_score(scores, training.test.offsets), atol=1e-6
    )
    assert jobs["regression"]["folds"][0]["whole"] != jobs["regression"]["folds"][0]["test"]


def test_the_trainings_take_the_choices_of_the_tuners_in_turn(inputs):
    chosen = [[{"l2": [10.0 ** (tuner + fold)]} for fold in range(5)] for tuner in (-1, 0)]
    job = run_job(settings("regression", 3, chosen), inputs.data, 7)
    assert (job["tuners"], job["trainings"]) == (2, 2)
    found = [by_hand(inputs, "regression", 3, 1, l2=[value]) for value in (10.0, 100.0)]
    scores = [z_score(own, training.test.offsets) for training, own in found]
    np.testing.assert_allclose(job["folds"][2]["test"], np.mean(scores, axis=0), atol=1e-6)


def test_a_missing_file_of_choices_is_named(inputs):
    with pytest.raises(GradrankError, match=r"choices\.json"):
        run_job(settings("regression") | {"chosen": None}, inputs.data, 7)


def test_equal_weights_are_the_sum_of_the_members(inputs):
    jobs = inputs.jobs()
    found = rank(jobs, inputs.data / DATASET)
    recipe = next(recipe for recipe in RECIPES if recipe.model == "combsum" and recipe.scores == "test")
    test = StoredCollection.open(inputs.data / DATASET)
    values = []
    for number, splits in enumerate(test.folds, start=1):
        part = test.read(splits["test"])
        added = sum(z_score(np.array(job["folds"][number - 1]["test"]), part.offsets) for job in jobs)
        values.append(compute(["map"], added, part.labels, part.offsets, "letor4_expected")["map"])
    np.testing.assert_allclose(found.recipes[recipe.name, "map"].values[0, 0], np.concatenate(values), atol=1e-4)
    assert found.weights.shape == (3,) and len(set(found.weights)) == 3, "the weights of the best recipe are learned"


def test_another_script_recomputes_every_number(inputs):
    write_study("best_ranking", inputs)
    changes = [("recipes", "map"), ("differences", "p"), ("folds", "ndcg@10"), ("members", "whole")]
    changes = [(f"{table}_{DATASET}", key) for table, key in changes]
    assert_recomputed("check_best_ranking.py", inputs.folder, changes)
    page = (inputs.folder / "page.md").read_text()
    assert BEST.name in page and "per query |" not in page


def test_the_choices_of_a_contest_are_read_per_tuner_and_fold(tmp_path):
    path = tmp_path / "choices.json"
    entry = {"trial": 1, "one": 1, "timed": 1}
    choices = {
        f"{DATASET}/regression/fold{fold}": {"sha256": ""}
        | {f"tuner{tuner}": entry | {"configuration": {"l2": [float(10 * fold + tuner)]}} for tuner in (1, 2)}
        for fold in range(1, 6)
    }
    path.write_text(json.dumps(choices))
    study = {"datasets": [DATASET], "models": ["regression", "mart"], "choices": str(path), "trainings": 3}
    jobs = check(SETTINGS | {"studies": {"best_ranking": study}}).study_jobs("best_ranking")
    assert jobs[f"{DATASET}-mart"]["chosen"] == []
    chosen = jobs[f"{DATASET}-regression"]["chosen"]
    assert [len(tuner) for tuner in chosen] == [5, 5] and chosen[1][2] == {"l2": [32.0]}
    elsewhere = study | {"datasets": ["mq2007"]}
    jobs = check(SETTINGS | {"studies": {"best_ranking": elsewhere}}).study_jobs("best_ranking")
    assert jobs["mq2007-regression"]["chosen"] is None, "the file has no choices on this data set"
    path.unlink()
    absent = study | {"choices": str(tmp_path / "absent.json")}
    jobs = check(SETTINGS | {"studies": {"best_ranking": absent}}).study_jobs("best_ranking")
    assert jobs[f"{DATASET}-mart"]["chosen"] is None
