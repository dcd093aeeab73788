"""The files of a contest, its members and its frozen data sets."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.workflow_support.plan import ContestPlan, Plan, with_frozen_datasets
from made_project import SETTINGS

METHODS = ["regression", "ranksvm", "combsum"]
CONTEST = {"datasets": ["mq2007"], "methods": METHODS, "frozen": ["ohsumed"], "trials": 4, "tuners": 2, "seeds": 2}
FOLDER = "results/studies/contest"


def plan(**changes) -> ContestPlan:
    return ContestPlan(Plan(check(SETTINGS | {"studies": {"contest": CONTEST | changes}})))


@pytest.fixture
def contest() -> ContestPlan:
    return plan()


def test_the_page_asks_for_the_files_in_git_alone(contest):
    """They have the trials and values of every tuner; a frozen data set has no trials."""
    files = [f"{FOLDER}/{name}" for name in ("choices.json", "trials.parquet", "values.parquet")]
    assert contest.page_inputs("contest") == files
    divided = plan(divisions={"datasets": ["mq2007"], "methods": ["ranksvm"], "count": 3})
    assert divided.page_inputs("contest") == [*files, f"{FOLDER}/divisions.parquet"]
    tuned, tuners = [("mq2007", method) for method in METHODS], (1, 2)
    frozen = [("ohsumed", method) for method in METHODS]
    for kind, pairs in (("trials", tuned), ("values", tuned + frozen)):
        expected = {f"{FOLDER}/{kind}/{'/'.join(pair)}/tuner{tuner}.parquet" for pair in pairs for tuner in tuners}
        parts = contest.parts("contest", kind)
        assert set(parts) == expected and len(parts) == len(expected)


def test_methods_have_budgets_of_their_own():
    divided = {"datasets": ["mq2007"], "methods": ["ranksvm"], "count": 3}
    methods = ["regression", "ranksvm", "single_feature", "combsum"]
    contest = plan(methods=methods, budgets={"ranksvm": {"tuners": 5}, "regression": {"trials": 3}}, divisions=divided)
    assert [len(contest.trials("contest", "mq2007", name)) for name in methods] == [2, 5, 1, 2]
    assert contest.tune_options("contest", "mq2007", "regression") == "--trials 3"
    assert contest.tune_options("contest", "mq2007", "ranksvm") == "--trials 4"
    assert contest.choice_arguments("contest") == "regression:2 ranksvm:5 single_feature:1 combsum:2"
    assert contest.divisions("contest") == [f"{FOLDER}/divisions/mq2007/ranksvm.parquet"]
    assert plan(divisions=divided | {"datasets": ["ohsumed"]}).divisions("contest") == [], "nothing is tuned on it"
    for wrong in ({"budgets": {"ranksv": {}}}, {"divisions": divided | {"methods": ["ranksv"]}}):
        with pytest.raises(GradrankError, match="unknown model 'ranksv'"):
            plan(**wrong)


def test_a_fusion_waits_for_the_methods_that_combine_nothing(contest):
    assert contest.members("contest", "combsum") == ["regression", "ranksvm"]
    assert contest.members("contest", "ranksvm") == []
    assert len(contest.member_values("contest", "mq2007", "combsum")) == 4
    assert contest.member_values("contest", "mq2007", "regression") == []
    assert contest.tune_options("contest", "mq2007", "combsum").endswith("--among regression,ranksvm")
    assert contest.pair_stamps("contest", "mq2007", ["ranksvm"]) == ["data/pairs/mq2007/pairs.json"]
    assert (
        contest.pair_stamps("contest", "mq2007", ["regression"]) == []
        and contest.pairs_option("contest", "mq2007", ["regression"]) == ""
    )


def test_choices_are_made_on_the_tuned_data_set_alone(contest):
    assert len(contest.all_trials("contest")) == 3 * 2 and contest.frozen == {"contest": {"ohsumed"}}
    assert all("/mq2007/" in path for path in contest.trials("contest", "ohsumed", "ranksvm"))
    assert contest.refit_options("contest", "ohsumed", "ranksvm") == "--adopt-from mq2007"
    assert contest.refit_options("contest", "mq2007", "ranksvm") == ""
    codes = {contest.stage_code("contest", stage, method) for stage in ("tune", "refit") for method in METHODS}
    assert len(codes) == 6


def test_another_study_is_tuned_in_the_same_way():
    """The cells of a factorial study are variants, which the commands get as options, and its files are its own."""
    factorial = {
        "datasets": ["mq2007"],
        "scorers": {"net": {}, "trees": {}},
        "losses": ["ranknet", "softmax"],
        "trials": 3,
    }
    study = ContestPlan(Plan(check(SETTINGS | {"studies": {"contest": CONTEST, "factorial": factorial}})))
    assert study.main_forms == ["contest", "factorial"]
    assert study.trials("factorial", "mq2007", "net-softmax")[1] == (
        "results/studies/factorial/trials/mq2007/net-softmax/tuner2.parquet"
    )
    assert study.tune_options("factorial", "mq2007", "trees-softmax") == (
        """--trials 3 --variant '{"loss": "softmax", "model": "any_loss_trees"}'"""
    )
    assert study.refit_options("factorial", "mq2007", "trees-softmax").startswith("--only-choices --variant ")
    assert study.pair_stamps("factorial", "mq2007", ["net-ranknet"]) == [], "the pairs follow from the grades"
    names = list(study.settings["factorial"].method_names())
    assert len({study.stage_code("factorial", "tune", name) for name in names}) == 4, "each loss and scorer counts"
    assert study.divisions("factorial") == [] and study.refit_options("contest", "mq2007", "ranksvm") == ""


def test_frozen_data_sets_are_named_on_the_command_line():
    config = {"studies": {"contest": CONTEST}, "contest_datasets": "ohsumed,mq2008"}
    assert with_frozen_datasets(config)["studies"]["contest"]["frozen"] == ["ohsumed", "mq2008"]
    assert with_frozen_datasets({"studies": {}}) == {"studies": {}} and "frozen" in config["studies"]["contest"]
    with pytest.raises(GradrankError, match=r"contest_datasets: .*Fix: "):
        with_frozen_datasets({"contest_datasets": "ohsumed"})
