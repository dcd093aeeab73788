"""Tuning a fold: the files it reads and writes; neither interruptions nor test labels change the choice."""

import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json
from gradrank.base.stamps import write_sealed
from gradrank.data.parse import parse
from gradrank.data.part_files import COLLECTION
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.training.model import Model, ModelParams, param
from gradrank.training.registry import get_model
from gradrank.training.search_space import Uniform
from gradrank.tuning import trials
from gradrank.tuning.folders import Contest, TunedFold
from gradrank.tuning.freeze import freeze
from gradrank.tuning.refits import refit, run_seed
from gradrank.tuning.selection import for_all_folds, read_choice, select
from gradrank.tuning.trials import Plan, tune

FOLDS, TEST_PART = 5, 5  # of fold 1


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "synthetic_net", seed=1, dataset="synthetic_net")
    return folder / "synthetic_net"


def tuned(data, out: Path, model="ranknet_linear", plan=Plan(3, 2), fold=1, **more) -> TunedFold:  # noqa: B008
    folder = TunedFold(out)
    tune(model, data, fold, plan, 7, folder, **more)
    return folder


def left(folder: TunedFold) -> dict[str, bytes]:
    """Return the files of a tuned fold, without the times."""
    files = (path for path in folder.folder.rglob("*") if path.is_file() and path != folder.seconds_path)
    return {str(path.relative_to(folder.folder)): path.read_bytes() for path in files}


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
    return Toy


def test_trials_and_the_choice(data, tmp_path):
    folder = tuned(data, tmp_path / "fold1")
    found = pl.read_parquet(folder.trials_path)
    assert found.select("tuner", "trial").rows() == [(t, n) for t in (1, 2) for n in range(3)]
    assert found["error"].null_count() == 6 and found["seed"].n_unique() == 6
    choice = select(folder)
    for own in choice.chosen:
        values = found.filter(tuner=own.tuner)["vali_ndcg@10"].to_list()
        assert own.trial == values.index(max(values)), "the earlier one of equals"
    assert read_choice(folder) == choice and len(choice.sha256) == 64
    assert {path.name for path in folder.folder.iterdir()} == {
        "trials.parquet", "seconds.parquet", "models", "choice.json",
    }  # fmt: skip


def test_the_test_part_is_not_read(data, tmp_path):
    """The written bytes are the same if the file of the test part is missing."""
    without = shutil.copytree(data, tmp_path / "synthetic_net")
    (without / f"part{TEST_PART}.parquet").unlink()
    assert left(tuned(data, tmp_path / "a")) == left(tuned(without, tmp_path / "b"))


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
    first = select(tuned(data, tmp_path / "a"))
    changed = shuffled(data, tmp_path / "synthetic_net", TEST_PART)
    assert first == select(tuned(changed, tmp_path / "b"))
    elsewhere = shuffled(data, tmp_path / "other/synthetic_net", 4)  # fold 1 validates on part 4
    assert first.sha256 != select(tuned(elsewhere, tmp_path / "c")).sha256


def test_an_interrupted_job_continues_where_it_stopped(data, tmp_path, toy):
    whole = tuned(data, tmp_path / "whole", "toy")
    fits, save = toy.fits, toy.save

    def killed(self, folder):
        if toy.fits == fits + 4:
            raise KeyboardInterrupt
        save(self, folder)

    toy.save = killed
    with pytest.raises(KeyboardInterrupt):
        tuned(data, tmp_path / "killed", "toy")
    toy.save = save
    assert not TunedFold(tmp_path / "killed").trials_path.exists()
    before = toy.fits
    assert left(tuned(data, tmp_path / "killed", "toy")) == left(whole)
    assert toy.fits - before < fits, "what was tried is not tried again"


def test_other_code_starts_again(data, tmp_path, toy, monkeypatch):
    monkeypatch.setattr(trials, "_finish", lambda job, rows: None)
    tuned(data, tmp_path, "toy", code="one")
    fits = toy.fits
    tuned(data, tmp_path, "toy", code="one")
    assert toy.fits == fits
    tuned(data, tmp_path, "toy", code="two")
    assert toy.fits == 2 * fits


def test_a_configuration_that_fails_is_a_trial_with_its_reason(data, tmp_path, toy):
    folder = tuned(data, tmp_path, "toy", Plan(12))
    found = pl.read_parquet(folder.trials_path)
    failed = found.filter(pl.col("error").is_not_null())
    assert 0 < len(failed) < 12
    assert failed["error"].str.contains(r"^FloatingPointError: slope 0\.\d+ is too steep$").all()
    assert failed["vali_ndcg@10"].null_count() == len(failed)
    assert select(folder).of(1).trial not in failed["trial"].to_list()


def test_nothing_but_failures_is_an_error(data, tmp_path, toy, monkeypatch):
    monkeypatch.setattr(toy, "steepest", 0.0)
    with pytest.raises(GradrankError, match=r"toy: .* is too steep"):
        tuned(data, tmp_path, "toy")


def test_a_model_that_opens_the_test_part_ends_the_job(data, tmp_path, toy, monkeypatch):
    """The job ends although the model catches the error and a failed configuration would be a trial."""
    monkeypatch.setattr(toy, "peeks", data / f"part{TEST_PART}.parquet")
    with pytest.raises(GradrankError, match=rf"part{TEST_PART}\.parquet"):
        tuned(data, tmp_path, "toy")
    assert not TunedFold(tmp_path).trials_path.exists()


def test_one_configuration_for_all_folds(data, tmp_path):
    """It has the highest mean over folds, and another collection can take it over."""
    folders = [tuned(data, tmp_path / f"fold{n}", fold=n) for n in range(1, FOLDS + 1)]
    joined = pl.concat([pl.read_parquet(folder.trials_path) for folder in folders])
    means = joined.group_by("tuner", "trial").agg(pl.col("vali_ndcg@10").mean())
    for own in for_all_folds([pl.read_parquet(folder.trials_path) for folder in folders]):
        best = means.filter(tuner=own.tuner)["vali_ndcg@10"].max()
        assert own.value == pytest.approx(best)
    other = TunedFold(tmp_path / "other/fold1")
    assert freeze(other, folders).chosen == for_all_folds(map(pl.read_parquet, (f.trials_path for f in folders)))


def test_refits_have_new_seeds_and_continue_where_they_stopped(data, tmp_path):
    contest = Contest(tmp_path)
    fold = contest.tuned("synthetic_net", "ranknet_linear").fold(1)
    tuned(data, fold.folder)
    choice = select(fold)
    refit(contest, fold, 1, data, 2, 7)
    keys = ((1, 1), (1, 2), (2, 1), (2, 2))  # tuner, seed
    runs = {key: contest.run(*key).dataset("synthetic_net").method("ranknet_linear").fold(1) for key in keys}
    assert {run.spec()["seed"] for run in runs.values()} == {run_seed(7, *key) for key in runs}
    for (tuner, _), run in runs.items():
        assert run.spec()["params"] == choice.of(tuner).params
    assert len(read_json(fold.refits_path)["specs_sha256"]) == 4
    assert not fold.unfinished_refits_path.exists()


def test_a_fusion_is_tuned_on_what_the_others_chose(data, tmp_path):
    contest, among = Contest(tmp_path), ("ranknet_linear", "regression")
    for name in among:
        select(tuned(data, contest.tuned("synthetic_net", name).fold(1).folder, name))
    own = contest.tuned("synthetic_net", "combsum").fold(1)
    with pytest.raises(GradrankError, match=r"combsum: .*<method>/fold1.*--among"):
        tuned(data, own.folder, "combsum")
    with pytest.raises(GradrankError, match=r"listnet/fold1/choice.json"):
        tuned(data, own.folder, "combsum", Plan(2, 2, ("listnet",)))
    found = pl.read_parquet(tuned(data, own.folder, "combsum", Plan(2, 2, among)).trials_path)
    assert found["error"].null_count() == 4
    members = [get_model("combsum").Params.model_validate_json(text).models for text in found["params"]]
    assert members[0] == among
