"""Tuning: the files it reads and writes; neither interruptions nor test labels change the choices."""

import json
import math
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.base.conventions import LETOR4
from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json
from gradrank.base.stamps import write_sealed
from gradrank.bench.tuning import trials
from gradrank.bench.tuning.choices import adopt, by_validation, choose, frozen_choices, tuner_choices, write_choices
from gradrank.bench.tuning.divisions import divide
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.refits import Refits, refit, run_seed
from gradrank.bench.tuning.trials import Plan, tune
from gradrank.data.parse import parse
from gradrank.data.part_files import COLLECTION
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.training.model import Model, ModelParams, param
from gradrank.training.search_space import Uniform

FOLDS, TEST_PART = 5, 5  # of fold 1


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "synthetic_net", seed=1, dataset="synthetic_net")
    return folder / "synthetic_net"


def tuned(data, out: Path, model="ranknet_linear", plan=Plan(3), folds=(1,), **more) -> pl.DataFrame:  # noqa: B008
    return tune(model, data, plan, 7, out / "trials.parquet", folds=folds, **more)


def untimed(table: pl.DataFrame) -> list[dict]:
    return table.drop("seconds", "made_with").to_dicts()


class ToyParams(ModelParams):
    slope: float = param(0.5, "made up")


class Toy(Model):
    """A model that scores by the first feature, and diverges if its slope is too steep."""

    name, Params, summary = "toy", ToyParams, "made up"
    space = {"slope": Uniform(0.0, 1.0, "made up")}  # noqa: RUF012
    steepest, peeks, fits = 0.6, None, 0

    def __init__(self, slope):
        self.slope = slope

    @classmethod
    def fit(cls, train, vali, params, seed, callback):
        Toy.fits += 1
        if Toy.peeks:
            with suppress(GradrankError):  # as a model that hides the error
                Toy.peeks.open("rb")
        if params.slope > Toy.steepest:
            raise FloatingPointError(f"slope {params.slope} is too steep\nwith details")
        return cls(params.slope)

    def score(self, features, offsets):
        return self.slope * features[:, 0].astype(np.float64)

    def save(self, folder):
        write_json(folder / "toy.json", self.slope)

    @classmethod
    def load(cls, folder):
        return cls(read_json(folder / "toy.json"))


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(trials, "get_model", lambda name: Toy)
    monkeypatch.setattr(Toy, "fits", 0)
    monkeypatch.setattr(Toy, "peeks", None)
    monkeypatch.setattr(Toy, "score", Toy.score)  # a test may replace it
    monkeypatch.setattr(Toy, "steepest", Toy.steepest)
    return Toy


def test_trials_and_the_choice(data, tmp_path):
    found = tuned(data, tmp_path, folds=None)
    assert found.select("fold", "trial").rows() == [(fold, n) for fold in range(1, FOLDS + 1) for n in range(3)]
    assert found["error"].null_count() == 15 and found["seed"].n_unique() == 15
    for choice in choose(found, math.inf):
        values = found.filter(fold=choice.fold)["vali_ndcg@10"].to_list()
        assert choice.trial == choice.timed == values.index(max(values)), "the earlier one of equals"
        assert choice.params[choice.trial]["l2"] == choice.configuration["l2"] and len(choice.sha256) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["trials.parquet"]
    assert pl.read_parquet(tmp_path / "trials.parquet").equals(found)


@pytest.mark.parametrize("is_table", [False, True])
def test_a_file_of_the_user_with_the_name_of_the_stored_trials_is_kept(is_table, data, tmp_path):
    path = tmp_path / "trials.unfinished.parquet"
    pl.DataFrame({"mine": [1]}).write_parquet(path) if is_table else path.write_text("mine")
    before = path.read_bytes()
    with pytest.raises(GradrankError, match="Fix: "):
        tuned(data, tmp_path)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_value_that_the_order_of_the_file_gives_is_said(data, tmp_path, toy, capsys):
    toy.steepest = 2.0
    tuned(data, tmp_path / "varied", convention=LETOR4)
    assert "in expectation" not in capsys.readouterr().err
    toy.score = lambda self, features, offsets: np.zeros(len(features))
    tuned(data, tmp_path / "constant", convention=LETOR4)
    assert capsys.readouterr().err.count("in expectation") == 3
    tuned(data, tmp_path / "standard", convention=resolve("standard"))
    assert "in expectation" not in capsys.readouterr().err


def test_the_choice_within_a_time_is_among_the_first_trials(data, tmp_path):
    found = tuned(data, tmp_path).with_columns(
        seconds=pl.Series([2.0, 3.0, 4.0]), **{"vali_ndcg@10": pl.Series([0.1, 0.2, 0.3])}
    )
    assert [choose(found, limit)[0].timed for limit in (0, 2, 4.9, 5, 8.9, 9)] == [0, 0, 0, 1, 1, 2]
    assert choose(found, 0)[0].trial == 2


def test_the_test_part_is_not_read(data, tmp_path):
    """The trials are the same if the file of the test part is missing."""
    without = shutil.copytree(data, tmp_path / "synthetic_net")
    (without / f"part{TEST_PART}.parquet").unlink()
    assert untimed(tuned(data, tmp_path / "a")) == untimed(tuned(without, tmp_path / "b"))


def shuffled(data: Path, out: Path, part: int) -> Path:
    """Return a copy of the collection with the grades of one part in another order."""
    changed = shutil.copytree(data, out)
    path = changed / f"part{part}.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(frame["label"].shuffle(seed=1)).write_parquet(path)
    described = StoredCollection.open(changed).description
    described["parts"][str(part)]["sha256"] = sha256(path)
    write_sealed(changed / COLLECTION, described)
    return changed


def test_shuffled_test_labels_choose_the_same(data, tmp_path):
    first = untimed(tuned(data, tmp_path / "a"))
    assert untimed(tuned(shuffled(data, tmp_path / "synthetic_net", TEST_PART), tmp_path / "b")) == first
    other = shuffled(data, tmp_path / "other/synthetic_net", 4)  # fold 1 validates on part 4
    assert untimed(tuned(other, tmp_path / "c")) != first


def test_an_interrupted_job_continues_where_it_stopped(data, tmp_path, toy, monkeypatch):
    whole = tuned(data, tmp_path / "whole", "toy", folds=(1, 2))
    fits, score = toy.fits, toy.score

    def killed(self, features, offsets):
        if toy.fits == fits + 4:
            raise KeyboardInterrupt
        return score(self, features, offsets)

    monkeypatch.setattr(toy, "score", killed)
    with pytest.raises(KeyboardInterrupt):
        tuned(data, tmp_path / "killed", "toy", folds=(1, 2))
    monkeypatch.setattr(toy, "score", score)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["trials.unfinished.parquet"]
    before = toy.fits
    assert untimed(tuned(data, tmp_path / "killed", "toy", folds=(1, 2))) == untimed(whole)
    assert toy.fits - before == fits - 3, "what was tried is not tried again"


def test_other_code_starts_again(data, tmp_path, toy, monkeypatch):
    monkeypatch.setattr(trials.TrialStore, "finish", lambda self, folds, count: None)
    tuned(data, tmp_path, "toy", code="one")
    fits = toy.fits
    tuned(data, tmp_path, "toy", code="one")
    assert toy.fits == fits
    tuned(data, tmp_path, "toy", code="two")
    assert toy.fits == 2 * fits


def test_a_configuration_that_fails_is_a_trial_with_its_reason(data, tmp_path, toy):
    found = tuned(data, tmp_path, "toy", Plan(12))
    failed = found.filter(pl.col("error").is_not_null())
    assert 0 < len(failed) < 12
    assert failed["error"].str.contains(r"^FloatingPointError: slope 0\.\d+ is too steep$").all()
    assert failed["vali_ndcg@10"].null_count() == len(failed)
    assert choose(found, math.inf)[0].trial not in failed["trial"].to_list()


def test_nothing_but_failures_is_an_error(data, tmp_path, toy, monkeypatch):
    monkeypatch.setattr(toy, "steepest", 0.0)
    with pytest.raises(GradrankError, match=r"toy: .* is too steep"):
        tuned(data, tmp_path, "toy")


def test_a_model_that_opens_the_test_part_ends_the_job(data, tmp_path, toy, monkeypatch):
    """The job ends although the model catches the error and a failed configuration would be a trial."""
    monkeypatch.setattr(toy, "peeks", data / f"part{TEST_PART}.parquet")
    with pytest.raises(GradrankError, match=rf"part{TEST_PART}\.parquet"):
        tuned(data, tmp_path, "toy")
    assert not (tmp_path / "trials.parquet").exists()


def test_one_configuration_for_all_folds(data, tmp_path):
    """It has the highest mean over folds, and another collection can take it over."""
    found = tuned(data, tmp_path, folds=None)
    means = found.group_by("trial").agg(pl.col("vali_ndcg@10").mean()).sort("trial")["vali_ndcg@10"].to_list()
    best = means.index(max(means))
    assert {choice.one for choice in choose(found, math.inf)} == {best}
    assert [(choice.fold, choice.trial) for choice in adopt(found, 3)] == [(1, best), (2, best), (3, best)]


def test_refits_have_new_seeds_and_continue_where_they_stopped(data, tmp_path):
    contest, name = Contest(tmp_path), "ranknet_two_layer"
    tune(name, data, Plan(2), 7, contest.trials_path("synthetic_net", name, 1))
    write_choices(contest, [("synthetic_net", name, 1)], math.inf)
    chosen = tuner_choices(contest, data, name, 1, math.inf)
    refit(contest, name, 1, chosen, Refits(data, 2, 7))
    runs = {n: contest.run(1, n).dataset("synthetic_net").method(name).fold(1) for n in (1, 2)}
    assert {run.spec()["seed"] for run in runs.values()} == {run_seed(7, 1, n) for n in runs}
    assert all(run.spec()["params"] == chosen[0].params[chosen[0].trial] for run in runs.values())
    path = contest.values_path("synthetic_net", name, 1)
    before, times = path.read_bytes(), [run.spec_path.stat().st_mtime_ns for run in runs.values()]
    refit(contest, name, 1, chosen, Refits(data, 2, 7))
    assert path.read_bytes() == before and times == [run.spec_path.stat().st_mtime_ns for run in runs.values()]
    refit(contest, name, 1, chosen, Refits(data, 2, 8))
    assert path.read_bytes() != before
    whole = pl.read_parquet(path).filter(whole=True)
    assert whole["map"].null_count() == len(whole) and whole["ndcg@10"].null_count() == 0


def test_a_fusion_is_not_tuned_but_has_the_members_of_the_contest(data, tmp_path):
    with pytest.raises(GradrankError, match=r"combsum: .*--among"):
        tuned(data, tmp_path, "combsum")
    found = tuned(data, tmp_path, "combsum", Plan(4, 1, ("regression", "ranknet_linear")))
    assert len(found) == 1 and found["vali_ndcg@10"].null_count() == 1
    (choice,) = choose(found, math.inf)
    assert choice.value is None and choice.params[0]["models"] == ["regression", "ranknet_linear"]


def test_methods_by_validation(data, tmp_path):
    contest, names = Contest(tmp_path), ("regression", "single_feature", "combsum")
    for name in names:
        among = names[:2] if name == "combsum" else ()
        tune(name, data, Plan(2, 1, among), 7, contest.trials_path("synthetic_net", name, 1))
    tables = {name: pl.read_parquet(contest.trials_path("synthetic_net", name, 1)) for name in names[:2]}
    means = {
        name: np.mean([rows["vali_ndcg@10"].max() for rows in table.partition_by("fold")])
        for name, table in tables.items()
    }
    expected = dict(zip(sorted(means, key=means.__getitem__, reverse=True), (1.0, 2.0), strict=True))
    assert by_validation(contest, ["synthetic_net"], names, 2) == expected


def test_choices_json_is_readable_and_complete(data, tmp_path):
    contest = Contest(tmp_path)
    for tuner in (1, 2):
        tune("regression", data, Plan(2, tuner), 7, contest.trials_path("synthetic_net", "regression", tuner))
    write_choices(contest, [("synthetic_net", "regression", tuner) for tuner in (1, 2)], math.inf)
    written = json.loads(contest.choices_path.read_text())
    assert list(written) == [f"synthetic_net/regression/fold{fold}" for fold in range(1, FOLDS + 1)]
    assert all(set(entry) == {"sha256", "tuner1", "tuner2"} for entry in written.values())


def test_choices_that_do_not_follow_from_the_trials_are_refused(data, tmp_path):
    contest, part = Contest(tmp_path), ("synthetic_net", "regression", 1)
    tune("regression", data, Plan(2), 7, contest.trials_path(*part))
    write_choices(contest, [part], math.inf)
    assert len(frozen_choices(contest, *part, math.inf)) == FOLDS
    written = json.loads(contest.choices_path.read_text())
    written["synthetic_net/regression/fold2"]["tuner1"]["trial"] += 1
    contest.choices_path.write_text(json.dumps(written))
    with pytest.raises(GradrankError, match=r"regression/fold2: .*Fix:"):
        frozen_choices(contest, *part, math.inf)


def test_divisions_are_different_and_have_groups_of_equal_size():
    drawn = [divide(23, division, 7) for division in (1, 2, 3)]
    assert all(sorted(np.bincount(groups)) == [4, 4, 5, 5, 5] for groups in drawn)
    assert not any(np.array_equal(drawn[0], other) for other in drawn[1:]) and np.array_equal(
        drawn[0], divide(23, 1, 7)
    )
