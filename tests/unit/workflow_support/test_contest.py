"""The files of a contest, its members and its frozen data sets."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.config.params import check
from gradrank.workflow_support.contest import ContestPlan, with_frozen_datasets
from gradrank.workflow_support.plan import Plan
from made_project import SETTINGS

METHODS = ["regression", "ranksvm", "combsum"]
CONTEST = {"datasets": ["mq2007"], "methods": METHODS, "frozen": ["ohsumed"], "trials": 4, "tuners": 2, "seeds": 2}


@pytest.fixture
def contest() -> ContestPlan:
    return ContestPlan(Plan(check(SETTINGS | {"studies": {"contest": CONTEST}})))


def test_the_page_asks_for_every_file_from_the_stored_data_on(contest):
    folder = "results/studies/contest/tuning"
    expected = {f"data/{kind}/{name}" for kind in ("parquet", "pairs") for name in ("mq2007", "ohsumed")}
    files = list(contest.files("contest"))
    assert {file.rpartition("/")[0] for file in files if file.startswith("data/")} == expected
    for method in METHODS:
        for fold in range(1, 6):
            tuned = {f"{folder}/mq2007/{method}/fold{fold}/{name}.json" for name in ("choice", "refits")}
            assert tuned | {f"{folder}/mq2007/{method}/fold{fold}/trials.parquet"} < set(files)
            assert f"{folder}/ohsumed/{method}/fold{fold}/choice.json" in files
            assert f"{folder}/ohsumed/{method}/fold{fold}/trials.parquet" not in files, (
                "a frozen data set has no trials"
            )
        for dataset in ("mq2007", "ohsumed"):
            assert f"{folder}/{dataset}/{method}/per_query.parquet" in files
        assert f"{folder}/mq2007/{method}/trials_test.parquet" in files
        assert f"{folder}/ohsumed/{method}/trials_test.parquet" not in files
    assert "results/studies/contest/choices.json" in files and len(files) == len(set(files))


def test_a_fusion_waits_for_the_methods_that_combine_nothing(contest):
    assert contest.members("contest", "combsum") == ["regression", "ranksvm"]
    assert contest.members("contest", "ranksvm") == []
    assert contest.member_files("contest", "mq2007", "combsum", "3", "choice.json") == [
        f"results/studies/contest/tuning/mq2007/{name}/fold3/choice.json" for name in ("regression", "ranksvm")
    ]
    assert contest.tune_options("contest", "combsum").endswith("--among regression,ranksvm")
    assert contest.pair_stamps("mq2007", "ranksvm") == ["data/pairs/mq2007/pairs.json"]
    assert contest.pair_stamps("mq2007", "regression") == [] and contest.pairs_option("mq2007", "regression") == ""


def test_choices_are_made_on_the_tuned_data_set_alone(contest):
    assert len(contest.choices("contest")) == 3 * 5 and contest.frozen == {"ohsumed"}
    assert all("/mq2007/" in path for path in contest.choices("contest"))
    assert all("/mq2007/" in path for path in contest.source_trials("contest", "ranksvm"))
    codes = {contest.stage_code(stage, method) for stage in ("tune", "refit") for method in METHODS}
    assert len(codes) == 6


def test_frozen_data_sets_are_named_on_the_command_line():
    config = {"studies": {"contest": CONTEST}, "contest_datasets": "ohsumed,mq2008"}
    assert with_frozen_datasets(config)["studies"]["contest"]["frozen"] == ["ohsumed", "mq2008"]
    assert with_frozen_datasets({"studies": {}}) == {"studies": {}} and "frozen" in config["studies"]["contest"]
    with pytest.raises(GradrankError, match=r"contest_datasets: .*Fix: "):
        with_frozen_datasets({"contest_datasets": "ohsumed"})
