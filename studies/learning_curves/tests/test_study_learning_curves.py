"""The jobs and the page of small learning curves, and which family wins."""

import shutil

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.parts import write_job
from gradrank.bench.provenance.study_records import jobs_digest
from gradrank.bench.results import StudyFolder
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.writing import write_study
from gradrank.bench.tuning.fold_training import FoldTraining
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.metrics import compute
from gradrank.training.registry import models
from made_project import SETTINGS
from recomputed import assert_recomputed
from studies.learning_curves.experiments import METRIC, UNIT, reduced, run_job, with_steps
from studies.learning_curves.page import build, comparisons, curves_of, difference, winners

FAMILIES = {"linear": ["regression", "listnet"], "trees": ["mart"]}
DATASET, SIZES, DRAWS = "synthetic_net", (4, 8, 500), 3
STUDY = {"datasets": ["mq2007"], "families": FAMILIES, "sizes": [30, 100], "draws": 3}


def settings(method, size, **params):
    plain = models()[method].Params(**params).model_dump(mode="json")
    about = {"dataset": DATASET, "method": method, "model": method, "params": plain, "seed": 5, "pairs": False}
    return about | {"convention": "letor4", "queries": size, "draws": DRAWS}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("curves")
    generate("net", 20, 12, 1, root / "text")
    parse(root / "text", root / "data" / DATASET, seed=1, dataset=DATASET)
    folder = StudyFolder(root / "results/studies/learning_curves")
    for method, params in (("regression", {}), ("listnet", {}), ("mart", {"rounds": 5})):
        for size in (*SIZES, None):
            write_job(folder.job_path(f"{method}-{size}"), run_job(settings(method, size, **params), root / "data", 7))
    folder.job_parts.pack()
    values = {"datasets": [DATASET], "families": FAMILIES}
    return Inputs(root / "results", root / "data", folder.folder, values)


@pytest.fixture(scope="module")
def curves(inputs):
    return curves_of(inputs.jobs(), DATASET)


def test_sizes_that_a_fold_does_not_have_are_left_out(curves):
    assert list(curves) == [4, 8, 12], "12 of 20 queries are the training part"
    assert curves[4]["regression"].tuners == DRAWS
    assert curves[12]["regression"].tuners == 1, "nothing is random if all queries are used"


def test_all_queries_give_the_values_of_an_ordinary_training(inputs, curves):
    stored, found = StoredCollection.open(inputs.data / DATASET), []
    for number in range(1, 6):
        fold = FoldTraining(models()["regression"], stored, number, None, resolve("letor4"))
        scores, test = fold.scores({}, 1), fold.test
        found.append(compute([METRIC], scores, test.labels, test.offsets, "letor4")[METRIC])
    np.testing.assert_allclose(curves[12]["regression"].per_query, np.concatenate(found), atol=0.51 / UNIT)


def test_a_draw_is_part_of_a_larger_draw_and_the_same_for_every_method(inputs):
    stored = StoredCollection.open(inputs.data / DATASET)
    train, vali = (stored.read(stored.fold(1)[split]) for split in ("train", "vali"))
    small, large, other = (reduced(train, vali, size, seed) for size, seed in ((4, 1), (8, 1), (4, 2)))
    assert set(small[0].qids) < set(large[0].qids) and set(small[1].qids) <= set(large[1].qids)
    assert [part.queries for part in (*small, *large)] == [4, 2, 8, 3]
    assert set(small[0].qids) != set(other[0].qids)


def test_nets_take_at_least_twenty_steps_per_epoch():
    params = models()["ranknet_two_layer"].Params()
    assert [with_steps(params, queries).batch_queries for queries in (5, 30, 100, 1017, 5000)] == [1, 2, 5, 50, 50]
    assert with_steps(models()["mart"].Params(), 30) == models()["mart"].Params()


def test_the_difference_is_computed_draw_by_draw(curves):
    a, b = curves[4]["regression"], curves[4]["listnet"]
    found = difference(a, b)
    assert found.difference == pytest.approx(a.mean - b.mean)
    shifted = type(a)(a.values + 0.1, a.folds)
    assert difference(shifted, a).error == pytest.approx(0, abs=1e-12) and difference(shifted, a).p < 1e-9
    assert difference(curves[12]["listnet"], curves[12]["mart"]).freedom > 0


def test_the_family_that_wins_has_the_best_method(curves):
    compared = comparisons(curves)
    assert len(compared) == 3 * 3 and all(row["difference"] >= 0 for row in compared)
    for row in winners(curves, FAMILIES, compared):
        own = [curves[row["size"]][name].mean for name in FAMILIES[row["family"]]]
        assert row["mean"] == max(own)
        assert (row["wins"] == "yes") == (row["mean"] == max(runs.mean for runs in curves[row["size"]].values()))


def test_the_results_of_jobs_are_read_from_the_packed_file(inputs, tmp_path):
    clone = tmp_path / "learning_curves"
    clone.mkdir()
    shutil.copy(inputs.folder / "jobs.parquet", clone)
    packed = StudyFolder(clone)
    assert packed.jobs() == inputs.jobs() and len(packed.jobs()) == 12
    assert jobs_digest(packed) == jobs_digest(StudyFolder(inputs.folder))


def test_another_script_recomputes_every_number(inputs):
    assert build(inputs)
    write_study("learning_curves", inputs)
    changes = [(f"{table}_{DATASET}", key) for table, key in (("curves", "half"), ("pairs", "p"), ("families", "mean"))]
    assert_recomputed("check_learning_curves.py", inputs.folder, changes)


def test_there_is_one_job_per_method_and_size():
    checked = check(SETTINGS | {"studies": {"learning_curves": STUDY}})
    jobs = checked.study_jobs("learning_curves")
    assert set(jobs) == {
        f"mq2007-{name}-{size}" for name in ("regression", "listnet", "mart") for size in (30, 100, "all")
    }
    assert jobs["mq2007-mart-all"]["queries"] is None
    with pytest.raises(GradrankError, match="remove the key `models`"):
        check(SETTINGS | {"studies": {"learning_curves": STUDY | {"models": ["mart"]}}})
