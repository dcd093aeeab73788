"""`gradrank verify`: it names each part of the results that differs from the checkout, and notes missing methods."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base import processor
from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed, read_stamp, write_sealed, write_stamp
from gradrank.bench.cli import app
from gradrank.bench.config.params import RunSettings, load
from gradrank.bench.folds.job import train
from gradrank.bench.parts import write_job
from gradrank.bench.provenance.verify import verify
from gradrank.bench.results import Results
from gradrank.data.parse import parse
from made_project import DATASET, SETTINGS, STUDY, write_params

DATA, RESULTS = Path("data"), Path("results")
RECORD = RESULTS / DATASET / "provenance.json"
PAGE = RESULTS / "studies" / STUDY / "provenance.json"


def checks(settings: RunSettings | None = None, ok: bool | None = False) -> list[str]:
    """Return the texts of the checks with this outcome."""
    return [check.text for check in verify(settings or load(), RESULTS, DATA) if check.ok is ok]


def places(settings: RunSettings | None = None) -> list[str]:
    """Return what differs, without the difference: `<data set or study>: <part>`."""
    return [text.rpartition(": ")[0] for text in checks(settings)]


def edit(path: Path, change: Callable[[dict], object]) -> None:
    content = read_sealed(path)
    change(content)
    write_sealed(path, content)


def test_a_finished_project_matches_its_checkout(project):
    outcomes = list(verify(load(), RESULTS, DATA))
    assert {check.ok for check in outcomes} == {True}
    for name in (DATASET, STUDY, "pair_targets"):
        assert any(check.text.startswith(f"{name}: ") for check in outcomes)


POLY = "synthetic_poly"
OTHER_SIZE = {"datasets": {DATASET: {"queries": 11, "documents": 6}}}
OWN_MODELS = {"datasets": {DATASET: {"queries": 10, "documents": 6, "models": ["prank"]}}}
OTHER_DRAWS = {"studies": {"pair_targets": {"draws": 4, "sizes": [50]}}}
TWO_CONVENTIONS = {"evaluation": {"conventions": ["standard", "trec"]}}
# A change of a key of params.yaml ({} empties it), what differs, and the old and the new value if there are any.
CHANGES = {
    "seed": ({"seed": 6, "run": {"seeds": [5, 6]}}, f"{DATASET}: seed", "5", "6"),
    "seeds": ({"run": {"seeds": [5]}}, f"{DATASET}: seeds", "[5, 6]", "None"),
    "parameter": ({"models": {"prank": {"epochs": 3}}}, f"{DATASET}: models.prank.epochs", "2", "3"),
    "default": ({"models": {}}, f"{DATASET}: models.prank.epochs", "2", "default"),
    "pairs": ({"pairs": {"ties": "half"}}, f"{DATASET}: pairs.ties", "omit", "half"),
    "size": (OTHER_SIZE, f"{DATASET}: dataset.queries", "10", "11"),
    "convention": (TWO_CONVENTIONS, f"{DATASET}: evaluation.conventions", "['standard']", "['standard', 'trec']"),
    "more models": ({"run": {"models": ["single_feature", "prank", "mart"]}}, f"{DATASET}: models.mart", "", ""),
    "fewer models": ({"run": {"models": ["prank"]}}, f"{DATASET}: models.single_feature", "", ""),
    "a data set's models": (OWN_MODELS, f"{DATASET}: models.single_feature", "", ""),
    "another data set": ({"run": {"datasets": [DATASET, POLY]}}, POLY, "", ""),
    "study": ({"studies": {}}, "pair_targets", "", ""),
    "a study's setting": (OTHER_DRAWS, "pair_targets: settings.draws", "3", "4"),
}


@pytest.mark.parametrize(("changes", "place", "old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_changed_parameter_is_named_with_both_values(project, changes, place, old, new):
    merged = {
        key: SETTINGS.get(key, {}) | value if isinstance(value, dict) and value else value
        for key, value in changes.items()
    }
    (text,) = (text for text in checks(write_params(project, **merged)) if text.rpartition(": ")[0] == place)
    difference = text.removeprefix(place)
    assert old in difference and new in difference[difference.index(old) + len(old) :]


def test_a_changed_default_is_named(project):
    edit(RECORD, lambda record: record["methods"]["single_feature"].update(digest="0" * 16))
    assert places() == [f"{DATASET}: models.single_feature"]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda code: code.update(parse="0" * 16), "`parse`: changed"),
        (lambda code: code.update(telepathy="0" * 16), "`telepathy`: removed"),
        (lambda code: code.pop("parse"), "`parse`: added"),
    ],
)
def test_changed_removed_and_added_stages_are_named(project, change, difference):
    edit(RECORD, lambda record: change(record["code"]))
    assert checks() == [f"code of {difference}: {DATASET}"]


def test_changed_code_that_only_shows_results_is_a_note(project):
    edit(RECORD, lambda record: record["code"].update(summary="0" * 16))
    edit(PAGE, lambda record: record["code"].update(study="0" * 16))
    assert checks() == []
    assert [f"`summary`: changed: {DATASET}" in text or STUDY in text for text in checks(ok=None)] == [True, True]


def test_changed_code_of_a_method_is_one_line_for_its_data_set_and_its_studies(project):
    edit(RECORD, lambda record: record["methods"]["prank"].update(train="0" * 16))
    edit(PAGE, lambda record: record["models"]["prank"].update(train="1" * 16))
    edit(PAGE, lambda record: record["code"].pop("study"))
    assert places() == ["code of `study`: added", "code of prank (`train`): changed"]


def test_a_recorded_method_that_no_longer_exists_is_named(project):
    edit(RECORD, lambda record: record["methods"].update(gone=record["methods"]["prank"]))
    assert {f"{DATASET}: models.gone", "code of gone (`train`): removed"} <= set(places())


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"params": {}, "code": {"files": {}}}', '{"schema": 1}'])
@pytest.mark.parametrize("path", [RECORD, PAGE], ids=["data set", "study"])
def test_a_record_of_another_version_is_one_line(project, path, text):
    path.write_text(text)
    wrong = [check for check in verify(load(), RESULTS, DATA) if check.ok is False and str(path) in check.text]
    assert len(wrong) == 1 and ("git" if "schema" in text else "") in wrong[0].fix


@pytest.mark.parametrize("processor_form", ["native", "not recorded"])
def test_another_instruction_set_differs(project, processor_form):
    if processor.form() != processor.X86_64_V3:
        pytest.skip("this process uses the instruction set of this processor")
    edit(RECORD, lambda record: record.update(processors=[processor_form]))
    (text,) = checks()
    assert text.startswith(f"{DATASET}: instruction set: ")


def test_another_package_version_is_a_note(project):
    edit(RECORD, lambda record: record["versions"].update(numpy="1.0", gone="2.0"))
    (text,) = checks(ok=None)
    assert "numpy 1.0" in text and checks() == []


def test_other_models_and_other_values_than_the_recorded_ones_differ(project):
    method = Results(RESULTS).dataset(DATASET).method("single_feature")
    stored = DATA / "parquet" / DATASET
    train("single_feature", stored, 2, {"select_by": "ndcg@10"}, 5, method.fold(2).folder)
    assert places() == [f"{DATASET}: {method.folder}"]
    other = pl.read_parquet(method.per_query_path).with_columns(map=0.5)
    other.write_parquet(method.per_query_path)
    write_stamp(method.evaluation_path, read_stamp(method.evaluation_path), [method.per_query_path])
    assert f"{STUDY}: {DATASET}/single_feature" in places()


@pytest.mark.parametrize("name", ["fold2/spec.json", "fold2/seed6/spec.json", "evaluation.json"])
def test_a_missing_stamp_of_a_method_differs(project, name):
    (RESULTS / DATASET / "methods/prank" / name).unlink()
    assert f"{DATASET}: {RESULTS / DATASET / 'methods/prank'}" in places()


def test_a_missing_record_of_the_run_s_data_set_differs(project):
    RECORD.unlink()
    assert DATASET in places()


def test_a_study_with_other_results_of_a_job_differs(project):
    study = Results(RESULTS).study("pair_targets")
    write_job(study.job_path("targets"), {"other": 1})
    assert places() == ["pair_targets: jobs"]


def test_other_stored_data_than_the_results_differ(project):
    raw = DATA / "raw" / DATASET
    text = (raw / "S1.txt").read_text()
    parse(raw, DATA / "parquet" / DATASET, 5, DATASET, missing="mean")
    edit(DATA / "parquet" / DATASET / "collection.json", lambda stamp: stamp.update(note="other"))
    assert f"{DATASET}: {DATA / 'parquet' / DATASET / 'collection.json'}" in places()
    (raw / "S1.txt").write_text(text.replace("qid:1 1:", "qid:1 1:0", 1))
    assert any(text.startswith(f"{DATASET}: {raw} ") for text in checks())


def test_a_user_s_own_text_and_pairs_are_compared_with_what_was_parsed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("".join(f"{q % 2} qid:{q} 1:{q}\n0 qid:{q} 1:0\n" for q in range(1, 7)))
    own = {"datasets": SETTINGS["datasets"] | {"mine": {"path": "mine.txt"}}}
    settings = write_params(tmp_path, run={"datasets": ["mine"], "models": ["mart"]}, studies={}, **own)
    parse(Path("mine.txt"), DATA / "parquet/mine", 5, "mine")
    without_results = checks(settings)
    assert places(settings) == ["mine"]
    Path("mine.txt").write_text(Path("mine.txt").read_text().replace("1:6", "1:7"))
    first, *rest = checks(settings)
    assert first.startswith("mine: mine.txt ") and rest == without_results


def test_a_fresh_clone_is_judged_without_training(project):
    shutil.rmtree(DATA)
    for path in RESULTS.glob(f"{DATASET}/*/"):
        shutil.rmtree(path)
    shutil.rmtree(RESULTS / "studies" / STUDY / "tables")
    shutil.rmtree(RESULTS / "studies/pair_targets/jobs")
    for name in ("per_query.parquet", "methods.csv", "run.json"):
        (RESULTS / name).unlink()
    assert checks() == []
    assert {text.partition(":")[0] for text in checks(ok=None)} == {DATASET}
    assert checks(write_params(project, models={})) != []


def test_nothing_to_verify_and_another_checkout_are_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = write_params(tmp_path)
    with pytest.raises(GradrankError, match=f"^{RESULTS}: .*Fix: "):
        list(verify(settings, RESULTS, DATA))
    Path("src/gradrank").mkdir(parents=True)
    with pytest.raises(GradrankError, match=r"^/.*/gradrank: .*Fix: "):
        list(verify(settings, RESULTS, DATA))


def test_the_command_exits_with_1_if_a_file_differs_and_repairs_it(project):
    run = CliRunner().invoke
    assert run(app, ["verify"]).exit_code == 0
    scores = RESULTS / DATASET / "methods/prank/fold1/scores.parquet"
    scores.write_bytes(b"damaged")
    result = run(app, ["verify"])
    assert result.exit_code == 1 and str(scores) in result.stdout and "gradrank verify --repair" in result.stdout
    result = run(app, ["verify", "--repair"])
    assert result.exit_code == 1 and str(scores) in result.stdout and scores.read_bytes() == b"damaged"
    result = run(app, ["verify", "--repair", "--yes"])
    assert result.exit_code == 0 and str(scores) in result.stdout and not scores.exists()
    assert not scores.with_name("spec.json").exists()
