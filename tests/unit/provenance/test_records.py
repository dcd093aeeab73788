"""Records: what they hold, what they refuse, how small they are; and what a run collects for DVC."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.results import Results
from gradrank.base.stamps import read_stamp, write_sealed, write_stamp
from gradrank.config.params import check, load
from gradrank.provenance.collect import collect
from gradrank.provenance.records import write_record
from gradrank.provenance.settings import dataset_settings, model_settings, study_settings
from gradrank.provenance.study_records import study_code, write_study_record
from gradrank.training.registry import missing_packages, models
from made_project import DATASET, SETTINGS, STUDY
from made_results import make_results, write_spec

DATA = Path("data/parquet")
OWN = Results().dataset(DATASET)


def write() -> None:
    write_record(OWN, dataset_settings(load(), DATASET), DATA)


def test_equal_results_give_equal_records_without_times_and_places(project):
    before = OWN.provenance_path.read_bytes()
    for timing in OWN.folder.rglob("timing.json"):
        timing.write_text('{"seconds": 99}')
    write()
    assert OWN.provenance_path.read_bytes() == before and str(project).encode() not in before
    study = Results().study(STUDY)
    kept, tables = study.provenance_path.read_bytes(), study.tables_path.glob("*")
    params = load()
    code, settings = study_code(params, STUDY), study_settings(params, STUDY)
    write_study_record(study, Results(), STUDY, settings, code, tables)
    assert study.provenance_path.read_bytes() == kept


def test_a_record_says_what_the_results_were_made_of(project):
    record = OWN.provenance()
    assert record["params"]["seeds"] == [5, 6] and record["params"]["dataset"]["documents"] == 6
    assert record["methods"]["prank"]["params"] == {"epochs": 2}
    assert "params" not in record["methods"]["single_feature"]
    specs = [fold.spec() for fold in OWN.method("prank").folds()]
    assert {spec["code"] for spec in specs} == {record["methods"]["prank"]["train"]} and len(specs) == 10
    assert record["versions"]["numpy"] == specs[0]["versions"]["numpy"]
    study = Results().study(STUDY).provenance()
    assert study["read"] == {f"{DATASET}/{name}": own["values"] for name, own in record["methods"].items()}


FAULTS = {"seed": 7, "model": "mart", "params": {"epochs": 3}, "code": "0" * 16, "processor": "native"}


@pytest.mark.parametrize(("key", "value"), FAULTS.items(), ids=FAULTS)
def test_a_fold_that_was_trained_otherwise_is_refused(project, key, value):
    path = OWN.method("prank").fold(2, 6).spec_path
    write_sealed(path, read_stamp(path) | {key: value})
    with pytest.raises(GradrankError, match=r"fold2/seed6/spec\.json: .*Fix: delete "):
        write()


def test_a_method_that_was_not_measured_is_refused(project):
    OWN.method("prank").evaluation_path.unlink()
    with pytest.raises(GradrankError, match=r"prank/evaluation\.json: .*missing"):
        write()


def test_a_method_without_a_trained_fold_is_refused(project):
    for fold in OWN.method("single_feature").folds():
        fold.spec_path.unlink()
    with pytest.raises(GradrankError, match="single_feature: no trained fold"):
        write()


def test_the_record_of_every_model_is_small(tmp_path):
    names = sorted(name for name, cls in models().items() if not missing_packages(cls))
    params = check(SETTINGS | {"seed": 2005, "run": {"datasets": ["mq2007"], "models": names}})
    settings = dataset_settings(params, "mq2007")
    own = Results(make_results(tmp_path, models=("mart",)).parent).dataset("mq2007")
    for name in names:
        method = own.method(name)
        method.fold(1).folder.mkdir(parents=True, exist_ok=True)
        write_spec(method.fold(1), model=name, params=params.models[name].params)
        method.per_query_path.write_bytes(own.method("mart").per_query_path.read_bytes())
        made_by = {"code": "0" * 16, "versions": {}, "processor": method.fold(1).spec()["processor"]}
        write_stamp(method.evaluation_path, made_by, [method.per_query_path])
        for fold in method.folds()[1:]:
            fold.spec_path.unlink()
    own.tables_path.mkdir()
    written = [own.summary_path, own.summary_page_path, own.queries_path]
    for path in (*written, *(own.tables_path / f"a_table_{number}.csv" for number in range(30))):
        path.touch()
    write_record(own, settings, tmp_path / "data/parquet")
    assert len(own.provenance()["methods"]) == len(names) > 60
    assert own.provenance_path.stat().st_size < 20_000


def test_what_a_run_collects_is_of_its_data_sets_and_stamped(project):
    results = Results()
    values = pl.read_parquet(results.per_query_path)
    assert set(values["dataset"]) == {DATASET} and set(values["model"]) == {"single_feature", "prank"}
    with results.means_path.open(newline="") as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    summary = OWN.summary()
    assert {name: float(row["map"]) for name, row in rows.items()} == {
        f"{DATASET}: {name}": means["map"] for name, means in summary.items()
    }
    assert rows[f"{DATASET}: prank"]["p@10"] == "", "not measured"
    assert json.loads(results.metrics_path.read_text()) == {DATASET: summary}
    assert set(read_stamp(results.run_path)["files"]) == {"per_query.parquet", "methods.csv", "metrics.json"}
    before = {path: path.read_bytes() for path in (results.per_query_path, results.run_path)}
    collect(results, [DATASET])
    assert {path: path.read_bytes() for path in before} == before


def test_nothing_is_collected_of_what_is_missing_or_damaged(project):
    with pytest.raises(GradrankError, match=r"mq2007/provenance\.json: no such file"):
        collect(Results(), [DATASET, "mq2007"])
    OWN.method("prank").per_query_path.write_bytes(b"damaged")
    with pytest.raises(GradrankError, match=r"prank/per_query\.parquet: damaged"):
        collect(Results(), [DATASET])


def test_settings_name_what_is_not_a_default_and_a_digest_of_all():
    def settings(**changes) -> dict:
        return dataset_settings(check(SETTINGS | changes), DATASET)

    plain, changed = settings(models={}), settings()
    assert plain["models"]["prank"]["params"] == {} and changed["models"]["prank"]["params"] == {"epochs": 2}
    written_out = settings(models={"prank": {"epochs": 100}})  # the default
    assert written_out["models"] == plain["models"]
    assert len({each["models"]["prank"]["digest"] for each in (plain, changed)}) == 2
    assert plain["dataset"] == {"queries": 10, "documents": 6} and plain["pairs"] == {"ties": "omit"}
    own = SETTINGS["datasets"] | {DATASET: {"queries": 10, "documents": 6, "convention": "letor4"}}
    assert settings(datasets=own) == changed, "the primary convention is said where it is in force"


def test_settings_name_seeds_only_where_they_are_not_the_one():
    def recorded(seed: int, **run) -> dict:
        params = check(SETTINGS | {"seed": seed, "run": SETTINGS["run"] | run})
        return model_settings(params, ["single_feature", "prank"])

    one = recorded(5, seeds=[5])
    assert "seeds" not in one and recorded(5, seeds=None) == one
    assert recorded(5, seeds=[5, 6])["seeds"] == [5, 6] and recorded(5, seeds=[6])["seeds"] == [6]
    alone = check(SETTINGS | {"seed": 5})
    assert "seeds" not in model_settings(alone, ["single_feature"]), "no chance is in it"
