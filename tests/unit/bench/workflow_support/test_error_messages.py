"""Errors of Snakemake's planning are explained with the name that is wrong, the files that are missing, and the fix."""

import re

import pytest

from gradrank.bench.workflow_support.checks import explain
from made_project import DATASET, write_params

NO_RULE = "MissingRuleException:\nNo rule to produce {} (if you use input functions make sure that ...)."
NO_INPUT = "Missing input files for rule import_scores:\n    wildcards: dataset={}, model={}, fold=2\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose params.yaml has a method with imported scores, of which one of five files exists."""
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path, models={"theirs": {"scores": "runs/{dataset}{fold}.txt"}})
    (tmp_path / "runs").mkdir()
    (tmp_path / f"runs/{DATASET}3.txt").touch()
    return tmp_path


@pytest.mark.parametrize(("name", "near"), [("mq20007", "mq2007"), ("average_precison", "average_precision")])
def test_an_unknown_target_gets_the_nearest_name(folder, name, near):
    assert f"did you mean '{near}'?" in explain("MissingRuleException", NO_RULE.format(name))


def test_a_study_without_settings_is_named_with_the_file_to_write(folder):
    message = explain("MissingRuleException", NO_RULE.format("contest"))
    assert "no settings" in message and "Fix: write studies/contest/study.yaml" in message


def test_a_file_that_no_rule_makes_is_named(folder):
    assert "'results/my data/x.md'." in explain("MissingRuleException", NO_RULE.format("results/my data/x.md"))


def test_all_missing_score_files_of_a_method_are_named(folder):
    message = explain("MissingInputException", NO_INPUT.format(DATASET, "theirs"))
    assert message.startswith(f"models.theirs: 4 of 5 score files for {DATASET}") and "Fix: " in message
    assert [fold for fold in range(1, 6) if f"runs/{DATASET}{fold}.txt" in message] == [1, 2, 4, 5]


def test_the_lock_of_a_killed_run_is_explained_with_the_command_that_removes_it(folder):
    message = explain("LockException", "Error: Directory cannot be locked.")
    assert str(folder) in message and re.search(r"Fix: .*snakemake --unlock`", message)


def test_other_errors_keep_the_text_of_snakemake(folder):
    assert explain("MissingInputException", NO_INPUT.format(DATASET, "prank")) is None
    assert explain("MissingInputException", NO_INPUT.format("other", "theirs")) is None  # of another config file
    assert explain("MissingInputException", "Missing input files for rule paper") is None
    assert explain("WorkflowError", NO_RULE.format("x")) is None
    (folder / "params.yaml").unlink()
    assert explain("MissingRuleException", NO_RULE.format("mq20007")) is None
