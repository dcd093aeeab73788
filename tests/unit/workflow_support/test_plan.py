"""The plan that is computed from params.yaml: the files of every target, seeds, members, options."""

import json
import re
from pathlib import Path

import pytest

from gradrank.base.results import Results
from gradrank.config.params import check, load
from gradrank.workflow_support.plan import FOLD, METHOD, Plan
from made_project import DATASET, SETTINGS, STUDY


def plan(**changes) -> Plan:
    return Plan(check(SETTINGS | changes))


def there(folder: Path, *without: str) -> set[str]:
    """Every file below a folder as a target names it: a model and the tables by their folder."""
    found = set()
    for path in folder.rglob("*"):
        whole = next((above for above in (path, *path.parents) if above.name in ("model", "tables")), path)
        if path.is_file() and path.name not in without:
            found.add(str(whole))
    return found


STORED = {f"data/parquet/{DATASET}/collection.json", f"data/pairs/{DATASET}/pairs.json"}


def test_a_data_set_s_target_asks_for_every_file_of_a_finished_one(project):
    asked = Plan(load()).dataset_files(DATASET)
    assert set(asked) == STORED | there(Results().dataset(DATASET).folder, "timing.json")
    assert len(asked) == len(set(asked))


def test_a_study_s_target_asks_for_its_files_and_all_that_it_is_made_of(project):
    own, results = Plan(load()), Results()
    measured = {each for each in own.dataset_files(DATASET) if each.count("/") > 2 or each.startswith("data")}
    assert set(own.study_files(STUDY)) == measured | there(results.study(STUDY).folder)
    assert set(own.study_files("pair_targets")) == there(results.study("pair_targets").folder)
    assert own.study_evaluations(STUDY) == [
        f"results/{DATASET}/{name}/evaluation.json" for name in ("prank", "single_feature")
    ]


def test_the_run_asks_for_its_data_sets_and_the_reduced_studies():
    studies = SETTINGS["studies"] | {"pair_targets": {"draws": 9, "sizes": [50], "reduced": {"draws": 3}}}
    own = plan(studies=studies)
    assert own.reduced_studies == ["pair_targets/reduced"] and own.studies == [STUDY, "pair_targets"]
    assert own.run_files() == own.dataset_files(DATASET) + own.study_files("pair_targets/reduced")
    assert own.run_records() == [
        f"results/{DATASET}/provenance.json",
        "results/studies/pair_targets/reduced/provenance.json",
    ]
    assert "results/studies/pair_targets/reduced/jobs/targets.json" in own.run_files()


def test_further_seeds_lie_inside_the_first_seed_s_fold():
    own = plan()
    assert own.fold(3, 5) == "fold3" and own.fold(3, 6) == "fold3/seed6"
    for fold, expected in (("3", (3, 5)), ("3/seed6", (3, 6))):
        assert re.fullmatch(FOLD, fold) and own.fold_and_seed(fold) == expected
    assert own.fold_files(DATASET, "prank", ["spec.json"]) == [
        f"results/{DATASET}/prank/fold{number}{seed}/spec.json" for seed in ("", "/seed6") for number in range(1, 6)
    ]
    assert len(own.fold_files(DATASET, "single_feature", ["spec.json"])) == 5, "no chance is in it"
    assert (own.further_seeds("prank"), own.further_seeds("single_feature")) == ("--further-seeds 6", "")
    groups = {own.group(DATASET, "prank", fold) for fold in ("1", "2", "1/seed6", "2/seed6")}
    assert len(groups) == 2 and own.group(DATASET, "prank") not in groups
    assert own.group(DATASET, "single_feature") == own.group(DATASET, "single_feature", "1")


FUSED = {
    "both": {"model": "combsum", "models": ["prank", "single_feature"]},
    "all_three": {"model": "combsum", "models": ["both", "ranksvm"]},
}


def test_a_fusion_brings_its_members_with_their_own_seeds():
    own = plan(models=SETTINGS["models"] | FUSED, run=SETTINGS["run"] | {"models": ["all_three"]})
    files = own.dataset_files(DATASET)
    assert {path.split("/")[2] for path in files if path.endswith("evaluation.json")} == {
        "all_three", "both", "prank", "ranksvm", "single_feature",
    }  # fmt: skip
    assert own.evaluations(DATASET) == [f"results/{DATASET}/all_three/evaluation.json"]
    assert own.training_inputs(DATASET, "both", "2/seed6") == [
        f"results/{DATASET}/prank/fold2/scores.parquet",  # with which the job compares that of its own seed
        f"results/{DATASET}/prank/fold2/seed6/scores.parquet",
        f"results/{DATASET}/single_feature/fold2/scores.parquet",
    ]
    assert own.training_inputs(DATASET, "ranksvm", "2") == [f"data/pairs/{DATASET}/pairs.json"]
    assert f"--members results/{DATASET}" in own.training_options(DATASET, "both")
    assert f"--pairs data/pairs/{DATASET}" in own.training_options(DATASET, "ranksvm")


def test_a_data_set_has_its_own_list_of_models():
    datasets = SETTINGS["datasets"] | {"mq2007": {"models": ["mart"]}}
    own = plan(datasets=datasets)
    assert own.evaluations("mq2007") == ["results/mq2007/mart/evaluation.json"]
    assert len(own.evaluations("ohsumed")) == 2, "as the run's"
    assert json.loads(own.tracked_datasets(["mq2007"])) == {"mq2007": ["mart"]}
    assert list(json.loads(own.dataset_settings("mq2007"))["models"]) == ["mart"]


@pytest.mark.parametrize(("dataset", "folds"), [("mq2007", 5), ("yahoo_ltrc", 1), (DATASET, 5)])
def test_the_catalogue_says_how_many_folds_there_are(dataset, folds):
    assert len(plan().folds(dataset)) == folds


def test_own_data_are_read_from_where_they_lie_and_options_are_quoted(tmp_path):
    folder = tmp_path / "my data"
    folder.mkdir()
    for split in ("train", "vali", "test"):
        (folder / f"{split}.csv").write_text("qid,label,f1,some text\n1,0,1,x\n")
    (tmp_path / "pairs.csv").write_text("qid,first,second\n")
    mine = {"path": str(folder), "ignore": ["some text"], "pairs": str(tmp_path / "pairs.csv"), "missing": "zero"}
    own = plan(datasets=SETTINGS["datasets"] | {"mine": mine})
    assert own.text("mine") == [str(folder / f"{split}.csv") for split in ("train", "vali", "test")]
    assert own.text("mq2007") == ["data/raw/mq2007/fetched.json"] and len(own.folds("mine")) == 1
    assert own.parse_options("mine") == "--missing zero --ignore 'some text'"
    assert own.given_pairs("mine") == [str(tmp_path / "pairs.csv")] and "--given" in own.pairs_options("mine")
    assert own.pairs_options("mq2007") == "--ties omit" and not own.given_pairs("mq2007")
    assert own.generator_options(DATASET) == "net --queries 10 --documents 6"


def test_a_method_from_elsewhere_waits_for_its_score_files():
    models = {"theirs": {"scores": "runs/{dataset}{fold}.txt"}}
    own = plan(models=models, run=SETTINGS["run"] | {"models": ["theirs"]})
    assert own.imported == ["theirs"] and own.import_pattern("theirs") == "runs/{dataset}{fold}.txt"
    assert own.import_files(DATASET, "theirs", "2") == [f"runs/{DATASET}2.txt"]
    assert own.training_inputs(DATASET, "theirs", "2") == []
    assert own.training_code("theirs") != own.training_code("prank")


def test_names_of_methods_are_folders():
    for name in ("lambdamart-learning_rate=1e-05", "ranksvm", "arsm_loss-loss=p@10", "x-hidden=64x32"):
        assert re.fullmatch(METHOD, name)
    assert not re.fullmatch(METHOD, "a/b")
