"""`gradrank verify --recheck`: it computes a sample again, and writes only the digests of what is equal."""

import subprocess
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed, write_sealed
from gradrank.bench.config.params import load
from gradrank.bench.provenance.records import training_code
from gradrank.bench.provenance.verify import verify
from gradrank.bench.results import Results
from gradrank.bench.workflow_support.recheck import Recheck
from made_project import DATASET, STUDY

RECORD, PAGE = Path("results") / DATASET / "provenance.json", Path("results/studies") / STUDY / "provenance.json"
OLD = "0" * 16


def commit() -> None:
    for command in (["init", "--quiet"], ["add", "params.yaml"], ["commit", "--quiet", "--message", "a project"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], check=True)


def forget(path: Path, section: str, methods: tuple[str, ...], stages: tuple[str, ...] = ()) -> None:
    """Replace code digests in a record."""
    record = read_sealed(path)
    record["code"] |= dict.fromkeys(stages, OLD)
    for method in methods:
        record[section][method]["train"] = OLD
    write_sealed(path, record)


@pytest.fixture
def changed(project):
    """A project in which the code of two methods and of some stages seems to have changed."""
    commit()
    forget(RECORD, "methods", ("prank", "single_feature"), ("parse", "evaluate_folds"))
    forget(PAGE, "models", ("prank",))
    return project


def recheck(count: int = 1, seed: int = 5) -> Recheck:
    return Recheck(load(), Results(), Path("params.yaml"), count, seed)


def test_equal_values_confirm_a_method_in_all_records_and_unequal_ones_do_not(changed):
    record = read_sealed(RECORD)
    record["methods"]["single_feature"]["folds"] = {"5": " ".join(["f" * 12] * 5)}
    write_sealed(RECORD, record)
    before = {path: path.read_bytes() for path in Path("data").rglob("*") if path.is_file()}
    check = recheck()
    assert {training.method for training in check.trainings} == {"prank", "single_feature"}
    check.run(cores=2)
    (wrong,) = (outcome.text for outcome in check.outcomes() if not outcome.ok)
    assert "single_feature" in wrong and "scores differ" in wrong

    record, page, params = read_sealed(RECORD), read_sealed(PAGE), load().models["prank"].params
    code = training_code("prank", params)
    assert record["methods"]["prank"]["train"] == page["models"]["prank"]["train"] == code
    assert record["methods"]["single_feature"]["train"] == OLD
    assert {*record["rechecked"]} == {"evaluate_folds", "parse", "train prank"} and {*page["rechecked"]} == {
        "train prank"
    }
    entry = record["rechecked"]["train prank"]
    assert entry["was"] == OLD and "prank" in entry["sample"] and "scores and values" in entry["compared"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert entry["commit"] == head
    (difference,) = (outcome.text for outcome in verify(load(), Path("results"), Path("data")) if outcome.ok is False)
    assert "single_feature" in difference
    assert before == {path: path.read_bytes() for path in Path("data").rglob("*") if path.is_file()}


def test_without_digests_of_scores_the_values_per_query_decide_and_the_digest_is_added(changed):
    record = read_sealed(RECORD)
    expected = record["methods"]["prank"]["folds"]
    for method in record["methods"].values():
        del method["folds"]
    write_sealed(RECORD, record)
    check = recheck(count=2)
    check.run(cores=2)
    assert all(outcome.ok for outcome in check.outcomes())
    added = read_sealed(RECORD)["methods"]["prank"]["folds"]
    known = {(seed, each) for seed, digests in added.items() for each in digests.split()} - {("5", "-"), ("6", "-")}
    assert len(known) == 2
    assert known <= {(seed, each) for seed, digests in expected.items() for each in digests.split()}


def test_the_sample_depends_on_its_seed_alone(changed):
    assert recheck().trainings == recheck().trainings
    assert len({tuple(recheck(seed=seed).trainings) for seed in range(5)}) > 1


def test_code_that_is_not_committed_confirms_nothing(changed):
    with Path("params.yaml").open("a") as stream:
        stream.write("\n# a change\n")
    with pytest.raises(GradrankError, match=r"Fix: commit"):
        recheck()
