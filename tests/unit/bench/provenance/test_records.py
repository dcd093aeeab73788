"""Records: their content, their errors and their size; and the files that a run collects for DVC."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_stamp, write_sealed, write_stamp
from gradrank.bench.config.params import check, load
from gradrank.bench.provenance.records import collect, dataset_settings, model_settings, study_settings, write_record
from gradrank.bench.provenance.study_records import study_code, write_study_record
from gradrank.bench.results import Results
from gradrank.training.registry import missing_packages, models
from made_project import DATASET, SETTINGS, STUDY
from made_results import make_results, write_spec

DATA = Path("data/parquet")
FOLDER = Results().dataset(DATASET)


def write() -> None:
    write_record(FOLDER, dataset_settings(load(), DATASET), DATA)


def test_equal_results_give_equal_records_without_times_and_places(project):
    before = FOLDER.provenance_path.read_bytes()
    for timing in FOLDER.folder.rglob("timing.json"):
        timing.write_text('{"seconds": 99}')
    write()
    assert FOLDER.provenance_path.read_bytes() == before and str(project).encode() not in before
    study = Results().study(STUDY)
    record, tables = study.provenance_path.read_bytes(), study.tables_path.glob("*")
    settings = load()
    code, recorded = study_code(settings, STUDY), study_settings(settings, STUDY)
    write_study_record(study, Results(), STUDY, recorded, code, tables)
    assert study.provenance_path.read_bytes() == record


def test_a_record_has_the_inputs_of_the_results(project):
    record = FOLDER.provenance()
    assert record["params"]["seeds"] == [5, 6] and record["params"]["dataset"]["documents"] == 6
    assert record["methods"]["prank"]["params"] == {"epochs": 2}
    assert "params" not in record["methods"]["single_feature"]
    specs = [fold.spec() for fold in FOLDER.method("prank").folds()]
    assert {spec["code"] for spec in specs} == {record["methods"]["prank"]["train"]} and len(specs) == 10
    assert record["versions"]["numpy"] == specs[0]["versions"]["numpy"]
    study = Results().study(STUDY).provenance()
    assert study["read"] == {f"{DATASET}/{name}": method["values"] for name, method in record["methods"].items()}


FAULTS = {"seed": 7, "model": "mart", "params": {"epochs": 3}, "code": "0" * 16, "processor": "native"}


@pytest.mark.parametrize(("key", "value"), FAULTS.items(), ids=FAULTS)
def test_a_fold_that_was_trained_with_other_settings_is_refused(project, key, value):
    path = FOLDER.method("prank").fold(2, 6).spec_path
    write_sealed(path, read_stamp(path) | {key: value})
    with pytest.raises(GradrankError, match=r"fold2/seed6/spec\.json: .*Fix: delete "):
        write()


def test_a_method_that_was_not_evaluated_is_refused(project):
    FOLDER.method("prank").evaluation_path.unlink()
    with pytest.raises(GradrankError, match=r"prank/evaluation\.json: "):
        write()


def test_a_method_without_a_trained_fold_is_refused(project):
    for fold in FOLDER.method("single_feature").folds():
        fold.spec_path.unlink()
    with pytest.raises(GradrankError, match=r"single_feature: .*Fix: run `snakemake"):
        write()


def test_the_record_of_every_model_is_small(tmp_path):
    names = sorted(name for name, cls in models().items() if not missing_packages(cls))
    changes = {"seed": 2005, "run": {"datasets": ["mq2007"], "models": names}}
    settings = check(SETTINGS | changes | {"evaluation": {"convention": "letor4", "conventions": ["letor4"]}})
    dataset = Results(make_results(tmp_path, models=("mart",)).parent).dataset("mq2007")
    for name in names:
        method = dataset.method(name)
        method.fold(1).folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"split": ["test"], "score": [0.5]}).write_parquet(method.fold(1).scores_path)
        write_spec(method.fold(1), model=name, params=settings.models[name].params)
        method.per_query_path.write_bytes(dataset.method("mart").per_query_path.read_bytes())
        stamp = {"code": "0" * 16, "versions": {}, "processor": method.fold(1).spec()["processor"]}
        write_stamp(method.evaluation_path, stamp, [method.per_query_path])
        for fold in method.folds()[1:]:
            fold.spec_path.unlink()
    dataset.tables_path.mkdir()
    written = [dataset.summary_path, dataset.summary_page_path, dataset.queries_path]
    for path in (*written, *(dataset.tables_path / f"a_table_{number}.csv" for number in range(30))):
        path.touch()
    write_record(dataset, dataset_settings(settings, "mq2007"), tmp_path / "data/parquet")
    assert len(dataset.provenance()["methods"]) == len(names) > 60
    assert dataset.provenance_path.stat().st_size < 340 * len(names)


def test_the_collected_files_have_the_data_sets_of_the_run_and_a_stamp(project):
    results = Results()
    values = pl.read_parquet(results.per_query_path)
    assert set(values["dataset"]) == {DATASET} and set(values["model"]) == {"single_feature", "prank"}
    with results.means_path.open(newline="") as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    summary = FOLDER.summary()
    assert {name: float(row["map"]) for name, row in rows.items()} == {
        f"{DATASET}: {name}": means["map"] for name, means in summary.items()
    }
    assert rows[f"{DATASET}: prank"]["p@10"] == "", "not measured"
    assert json.loads(results.metrics_path.read_text()) == {DATASET: summary}
    assert set(read_stamp(results.run_path)["files"]) == {"per_query.parquet", "methods.csv", "metrics.json"}
    before = {path: path.read_bytes() for path in (results.per_query_path, results.run_path)}
    collect(results, [DATASET])
    assert {path: path.read_bytes() for path in before} == before


def test_missing_and_damaged_results_are_not_collected(project):
    with pytest.raises(GradrankError, match=r"mq2007/provenance\.json: .*Fix: run `snakemake"):
        collect(Results(), [DATASET, "mq2007"])
    FOLDER.method("prank").per_query_path.write_bytes(b"damaged")
    with pytest.raises(GradrankError, match=r"prank/per_query\.parquet: "):
        collect(Results(), [DATASET])


def test_recorded_settings_have_params_that_are_not_defaults_and_a_digest_of_all():
    def settings(**changes) -> dict:
        return dataset_settings(check(SETTINGS | changes), DATASET)

    plain, changed = settings(models={}), settings()
    assert plain["models"]["prank"]["params"] == {} and changed["models"]["prank"]["params"] == {"epochs": 2}
    written_out = settings(models={"prank": {"epochs": 100}})  # the default
    assert written_out["models"] == plain["models"]
    assert plain["models"]["prank"]["digest"] != changed["models"]["prank"]["digest"]
    assert plain["dataset"] == {"queries": 10, "documents": 6} and plain["pairs"] == {"ties": "omit"}
    own = SETTINGS["datasets"] | {DATASET: {"queries": 10, "documents": 6, "convention": "standard"}}
    assert settings(datasets=own) == changed, "only `evaluation.convention` has the primary convention"


def test_recorded_settings_have_seeds_only_if_they_are_not_seed_alone():
    def recorded(seed: int, **run) -> dict:
        settings = check(SETTINGS | {"seed": seed, "run": SETTINGS["run"] | run})
        return model_settings(settings, ["single_feature", "prank"], ["mq2007"])

    one = recorded(5, seeds=[5])
    assert "seeds" not in one and recorded(5, seeds=None) == one
    assert recorded(5, seeds=[5, 6])["seeds"] == [5, 6] and recorded(5, seeds=[6])["seeds"] == [6]
    alone = check(SETTINGS | {"seed": 5})
    assert "seeds" not in model_settings(alone, ["single_feature"], ["mq2007"]), "the model uses no random numbers"
