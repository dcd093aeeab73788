"""Plan: the files of every target, seeds, members and options, computed from params.yaml."""

import json
import re
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.datasets import FOLDS_VARIABLE
from gradrank.bench.config.params import check, load
from gradrank.bench.results import Results
from gradrank.bench.workflow_support.plan import FOLD, METHOD, Plan
from made_project import DATASET, SETTINGS, STUDY


def plan(**changes) -> Plan:
    return Plan(check(SETTINGS | changes))


def files_below(folder: Path, *without: str) -> set[str]:
    """Return every file below a folder as a target names it: a model and the tables by their folder."""
    files = set()
    for path in folder.rglob("*"):
        output = next((above for above in (path, *path.parents) if above.name in ("model", "tables")), path)
        if path.is_file() and path.name not in without:
            files.add(str(output))
    return files


STORED = {f"data/parquet/{DATASET}/collection.json", f"data/pairs/{DATASET}/pairs.json"}


def test_a_data_set_s_target_asks_for_every_file_of_a_finished_one(project):
    asked = Plan(load()).dataset_files(DATASET)
    assert set(asked) == STORED | files_below(Results().dataset(DATASET).folder, "timing.json")
    assert len(asked) == len(set(asked))


def test_a_study_s_target_asks_for_its_files_and_all_inputs(project):
    workflow, results = Plan(load()), Results()
    measured = {path for path in workflow.dataset_files(DATASET) if path.count("/") > 2 or path.startswith("data")}
    assert set(workflow.study_files(STUDY)) == measured | files_below(results.study(STUDY).folder)
    assert set(workflow.study_files("pair_targets")) == files_below(results.study("pair_targets").folder)
    assert workflow.study_evaluations(STUDY) == [
        f"results/{DATASET}/methods/{name}/evaluation.json" for name in ("prank", "single_feature")
    ]


def test_the_run_asks_for_its_data_sets_and_the_reduced_studies():
    studies = SETTINGS["studies"] | {"pair_targets": {"draws": 9, "sizes": [50], "reduced": {"draws": 3}}}
    workflow = plan(studies=studies)
    assert workflow.reduced_studies == ["pair_targets/reduced"] and workflow.studies == [STUDY, "pair_targets"]
    assert workflow.run_files() == workflow.dataset_files(DATASET) + workflow.study_files("pair_targets/reduced")
    assert workflow.run_records() == [
        f"results/{DATASET}/provenance.json",
        "results/studies/pair_targets/reduced/provenance.json",
    ]
    assert "results/studies/pair_targets/reduced/jobs/targets.json" in workflow.run_files()


def test_further_seeds_are_subfolders_of_the_first_seed_s_fold():
    workflow = plan()
    assert workflow.fold_folder(3, 5) == "fold3" and workflow.fold_folder(3, 6) == "fold3/seed6"
    for fold, expected in (("3", (3, 5)), ("3/seed6", (3, 6))):
        assert re.fullmatch(FOLD, fold) and workflow.fold_and_seed(fold) == expected
    assert workflow.fold_files(DATASET, "prank", ["spec.json"]) == [
        f"results/{DATASET}/methods/prank/fold{number}{seed}/spec.json"
        for seed in ("", "/seed6")
        for number in range(1, 6)
    ]
    assert len(workflow.fold_files(DATASET, "single_feature", ["spec.json"])) == 5, "the model uses no random numbers"
    options = {name: workflow.further_seeds_option(DATASET, name) for name in ("prank", "single_feature")}
    assert options == {"prank": "--further-seeds 6", "single_feature": ""}
    groups = {workflow.group(DATASET, "prank", fold) for fold in ("1", "2", "1/seed6", "2/seed6")}
    assert len(groups) == 2 and workflow.group(DATASET, "prank") not in groups
    assert workflow.group(DATASET, "single_feature") == workflow.group(DATASET, "single_feature", "1")


FUSED = {
    "both": {"model": "combsum", "models": ["prank", "single_feature"]},
    "all_three": {"model": "combsum", "models": ["both", "ranksvm"]},
}


def test_the_target_of_a_fusion_includes_its_members_with_their_seeds():
    workflow = plan(models=SETTINGS["models"] | FUSED, run=SETTINGS["run"] | {"models": ["all_three"]})
    files = workflow.dataset_files(DATASET)
    assert {path.split("/")[3] for path in files if path.endswith("evaluation.json")} == {
        "all_three", "both", "prank", "ranksvm", "single_feature",
    }  # fmt: skip
    assert workflow.evaluations(DATASET, ["all_three"]) == [f"results/{DATASET}/methods/all_three/evaluation.json"]
    assert len(workflow.evaluations(DATASET)) == 5  # the record of the data set describes the members as well
    folders = [
        f"results/{DATASET}/methods/prank/fold2",  # the job compares it with the results of its own seed
        f"results/{DATASET}/methods/prank/fold2/seed6",
        f"results/{DATASET}/methods/single_feature/fold2",
    ]
    scores = [f"{folder}/scores.parquet" for folder in folders]
    assert workflow.member_scores(DATASET, "both", "2/seed6") == scores
    files = workflow.training_files(DATASET, "both", "2/seed6")
    assert files[0] == f"data/parquet/{DATASET}" and {*scores, f"{folders[0]}/spec.json"} < {*files}
    assert workflow.training_pairs(DATASET, "both") == []
    assert workflow.training_pairs(DATASET, "ranksvm") == [f"data/pairs/{DATASET}/pairs.json"]
    assert workflow.training_files(DATASET, "ranksvm", "2") == [f"data/parquet/{DATASET}", f"data/pairs/{DATASET}"]


@pytest.mark.parametrize(("gain", "option"), [("linear", "--gain linear"), ([0, 1, 3.5], "--gain 0.0,1.0,3.5")])
def test_the_gain_of_a_data_set_is_an_option_of_its_trainings(gain, option):
    assert plan(datasets={DATASET: {"gain": gain}}).gain_option(DATASET) == f" {option.strip()}"
    assert not plan().gain_option(DATASET)


def test_a_data_set_has_its_own_list_of_models():
    datasets = SETTINGS["datasets"] | {"mq2007": {"models": ["mart"]}}
    workflow = plan(datasets=datasets)
    assert workflow.evaluations("mq2007") == ["results/mq2007/methods/mart/evaluation.json"]
    assert len(workflow.evaluations("ohsumed")) == 2, "the models of the run"
    assert json.loads(workflow.tracked_datasets(["mq2007"])) == {"mq2007": ["mart"]}
    assert list(json.loads(workflow.dataset_settings("mq2007"))["models"]) == ["mart"]


@pytest.mark.parametrize(("dataset", "folds"), [("mq2007", 5), ("yahoo_ltrc", 1), (DATASET, 5)])
def test_the_number_of_folds_comes_from_the_catalogue(dataset, folds):
    assert len(plan().folds(dataset)) == folds


def test_own_data_are_read_in_place_and_options_are_quoted(tmp_path):
    folder = tmp_path / "my data"
    folder.mkdir()
    for split in ("train", "vali", "test"):
        (folder / f"{split}.csv").write_text("qid,label,f1,some text\n1,0,1,x\n")
    (tmp_path / "pairs.csv").write_text("qid,first,second\n")
    mine = {"path": str(folder), "ignore": ["some text"], "pairs": str(tmp_path / "pairs.csv"), "missing": "zero"}
    workflow = plan(datasets=SETTINGS["datasets"] | {"mine": mine})
    assert workflow.text_files("mine") == [str(folder / f"{split}.csv") for split in ("train", "vali", "test")]
    assert workflow.text_files("mq2007") == ["data/raw/mq2007/fetched.json"] and len(workflow.folds("mine")) == 1
    assert workflow.parse_options("mine") == "--missing zero --ignore 'some text'"
    assert workflow.given_pairs("mine") == [str(tmp_path / "pairs.csv")] and "--given" in workflow.pairs_options("mine")
    assert workflow.pairs_options("mq2007") == "--ties omit" and not workflow.given_pairs("mq2007")
    assert workflow.generator_options(DATASET) == "net --queries 10 --documents 6"


def test_the_form_of_files_becomes_options_of_parse(tmp_path):
    (tmp_path / "all.tsv").write_text("1\t0.5\t3\n")
    form = {"query": 1, "label": 2, "header": False, "group_rows": True, "grade_edges": [0.07, 0.14]}
    workflow = plan(datasets=SETTINGS["datasets"] | {"mine": {"path": str(tmp_path / "all.tsv"), **form}})
    expected = "--query 1 --label 2 --no-header --group-rows --grade-edges 0.07 --grade-edges 0.14"
    assert workflow.parse_options("mine") == expected
    of_entry = workflow.parse_options("yandex_imat2009")
    assert of_entry.startswith("--query 1 --label 2 --docid 3 --ignore 4 --no-header --group-rows --grade-edges 0.07")
    assert workflow.parse_options("clueweb09") == ""


def test_imported_scores_wait_for_their_files():
    models = {"theirs": {"scores": "runs/{dataset}{fold}.txt"}}
    workflow = plan(models=models, run=SETTINGS["run"] | {"models": ["theirs"]})
    assert workflow.imported == ["theirs"] and workflow.score_pattern("theirs") == "runs/{dataset}{fold}.txt"
    assert workflow.score_files(DATASET, "theirs", "2") == [f"runs/{DATASET}2.txt"]
    assert workflow.training_pairs(DATASET, "theirs") == []
    assert workflow.training_code("theirs") != workflow.training_code("prank")


def test_names_of_methods_are_folders():
    for name in ("lambdamart-learning_rate=1e-05", "ranksvm", "arsm_loss-loss=p@10", "x-hidden=64x32"):
        assert re.fullmatch(METHOD, name)
    assert not re.fullmatch(METHOD, "a/b")


def test_nothing_is_tracked_if_track_is_false_and_a_missing_mlflow_ends_the_planning(monkeypatch):
    assert plan().tracked_file("results") == ["results/tracked.json"]
    monkeypatch.setattr("gradrank.base.errors.find_spec", lambda name: None)
    assert plan(track=False).tracked_file("results") == []
    with pytest.raises(SystemExit, match=r"mlflow.*gradrank\[track\].*`track: false`"):
        plan().tracked_file("results")


def test_a_host_without_the_files_of_own_data_knows_the_number_of_folds(tmp_path, monkeypatch):
    mine = {"path": str(tmp_path / "absent")}
    with pytest.raises(GradrankError, match="does not exist"):
        plan(datasets=SETTINGS["datasets"] | {"mine": mine})
    monkeypatch.setenv(FOLDS_VARIABLE, '{"mine": 3}')
    assert list(plan(datasets=SETTINGS["datasets"] | {"mine": mine}).folds("mine")) == [1, 2, 3]
