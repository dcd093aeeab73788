"""`gradrank verify`: each part that differs from the checkout is named, and what is not here is a note."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base import processor
from gradrank.base.errors import GradrankError
from gradrank.base.results import Results, write_job
from gradrank.base.stamps import read_sealed, read_stamp, write_sealed, write_stamp
from gradrank.cli import app
from gradrank.config.params import RunSettings, load
from gradrank.data.parse import parse
from gradrank.provenance.verify import verify
from gradrank.training.job import train
from made_project import DATASET, SETTINGS, STUDY, write_params

DATA, RESULTS = Path("data"), Path("results")
RECORD = RESULTS / DATASET / "provenance.json"
PAGE = RESULTS / "studies" / STUDY / "provenance.json"


def checks(params: RunSettings | None = None, ok: bool | None = False) -> list[str]:
    """The texts of the checks with this outcome."""
    return [each.text for each in verify(params or load(), RESULTS, DATA) if each.ok is ok]


def edit(path: Path, change: Callable[[dict], object]) -> None:
    said = read_sealed(path)
    change(said)
    write_sealed(path, said)


def test_a_finished_project_matches_its_checkout(project):
    found = list(verify(load(), RESULTS, DATA))
    assert {each.ok for each in found} == {True}
    for name in (DATASET, STUDY, "pair_targets"):
        assert any(each.text.startswith(f"{name}: ") for each in found)


POLY, NO_LONGER = "synthetic_poly", f"{DATASET}: models.single_feature: no longer asked for"
OTHER_SIZE = {"datasets": {DATASET: {"queries": 11, "documents": 6}}}
OWN_MODELS = {"datasets": {DATASET: {"queries": 10, "documents": 6, "models": ["prank"]}}}
OTHER_DRAWS = {"studies": {"pair_targets": {"draws": 4, "sizes": [50]}}}
# A change of a key of params.yaml ({} empties it), and the message.
CHANGES = {
    "seed": ({"seed": 6, "run": {"seeds": [5, 6]}}, f"{DATASET}: seed: 5 then, 6 now"),
    "seeds": ({"run": {"seeds": [5]}}, f"{DATASET}: seeds: [5, 6] then, None now"),
    "parameter": ({"models": {"prank": {"epochs": 3}}}, f"{DATASET}: models.prank.epochs: 2 then, 3 now"),
    "default": ({"models": {}}, f"{DATASET}: models.prank.epochs: 2 then, default now"),
    "pairs": ({"pairs": {"ties": "half"}}, f"{DATASET}: pairs.ties: omit then, half now"),
    "size": (OTHER_SIZE, f"{DATASET}: dataset.queries: 10 then, 11 now"),
    "convention": (
        {"evaluation": {"conventions": ["letor4", "trec"]}},
        f"{DATASET}: evaluation.conventions: ['letor4'] then, ['letor4', 'trec'] now",
    ),
    "more models": ({"run": {"models": ["single_feature", "prank", "mart"]}}, f"{DATASET}: models.mart: not trained"),
    "fewer models": ({"run": {"models": ["prank"]}}, NO_LONGER),
    "a data set's models": (OWN_MODELS, NO_LONGER),
    "another data set": ({"run": {"datasets": [DATASET, POLY]}}, f"{POLY}: in run.datasets, but without results"),
    "study": ({"studies": {}}, "pair_targets: no longer in params.yaml"),
    "a study's setting": (OTHER_DRAWS, "pair_targets: settings.draws: 3 then, 4 now"),
}


@pytest.mark.parametrize(("changes", "said"), CHANGES.values(), ids=CHANGES)
def test_a_changed_parameter_is_named_with_both_values(project, changes, said):
    merged = {
        key: SETTINGS.get(key, {}) | value if isinstance(value, dict) and value else value
        for key, value in changes.items()
    }
    assert said in checks(write_params(project, **merged))


def test_another_default_is_named_though_no_parameter_is_written_down(project):
    edit(RECORD, lambda said: said["methods"]["single_feature"].update(digest="0" * 16))
    assert checks() == [f"{DATASET}: models.single_feature: another default"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda code: code.update(summary="0" * 16), "code of `summary`: changed"),
        (lambda code: code.update(telepathy="0" * 16), "code of `telepathy`: no longer there"),
        (lambda code: code.pop("parse"), "code of `parse`: new"),
    ],
)
def test_a_stage_s_other_code_is_named_and_an_unknown_stage_is_no_crash(project, change, said):
    edit(RECORD, lambda record: change(record["code"]))
    assert checks() == [f"{DATASET}: {said}"]


def test_a_method_s_other_code_is_named_for_its_data_set_and_its_studies(project):
    edit(RECORD, lambda said: said["methods"]["prank"].update(train="0" * 16))
    edit(PAGE, lambda said: said["models"]["prank"].update(train="1" * 16))
    edit(PAGE, lambda said: said["code"].pop("study"))
    assert checks() == [
        f"{DATASET}: code of `train prank`: changed",
        f"{STUDY}: code of `study`: new",
        f"{STUDY}: code of `train prank`: changed",
    ]


def test_a_method_that_no_longer_exists_is_no_crash(project):
    edit(RECORD, lambda said: said["methods"].update(gone=said["methods"]["prank"]))
    found = checks()
    assert f"{DATASET}: models.gone: no longer asked for" in found
    assert f"{DATASET}: code of `train gone`: no longer there" in found


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"params": {}, "code": {"files": {}}}', '{"schema": 1}'])
@pytest.mark.parametrize("path", [RECORD, PAGE], ids=["data set", "study"])
def test_a_record_of_another_version_is_one_line(project, path, text):
    path.write_text(text)
    wrong = [each for each in verify(load(), RESULTS, DATA) if each.ok is False and str(path) in each.text]
    assert len(wrong) == 1 and ("git" if "schema" in text else "") in wrong[0].fix


@pytest.mark.parametrize("made", ["native", "not recorded"])
def test_another_instruction_set_differs(project, made):
    if processor.form() != processor.X86_64_V3:
        pytest.skip("this process is held to no instruction set")
    edit(RECORD, lambda said: said.update(processors=[made]))
    (said,) = checks()
    assert said.startswith(f"{DATASET}: instruction set: ")


def test_another_package_version_is_a_note(project):
    edit(RECORD, lambda said: said["versions"].update(numpy="1.0", gone="2.0"))
    (said,) = checks(ok=None)
    assert "numpy 1.0" in said and checks() == []


def test_other_models_and_other_values_than_the_recorded_ones_differ(project):
    method = Results(RESULTS).dataset(DATASET).method("single_feature")
    stored = DATA / "parquet" / DATASET
    train("single_feature", stored, 2, {"select_by": "ndcg@10"}, 5, method.fold(2).folder)
    assert checks() == [f"{DATASET}: {method.folder}: not the recorded results"]
    other = pl.read_parquet(method.per_query_path).with_columns(map=0.5)
    other.write_parquet(method.per_query_path)
    write_stamp(method.evaluation_path, read_stamp(method.evaluation_path), [method.per_query_path])
    assert f"{STUDY}: {DATASET}/single_feature: not the results that the page was made of" in checks()


@pytest.mark.parametrize("name", ["fold2/spec.json", "fold2/seed6/spec.json", "evaluation.json"])
def test_a_missing_stamp_of_a_method_differs(project, name):
    (RESULTS / DATASET / "prank" / name).unlink()
    assert f"{DATASET}: {RESULTS / DATASET / 'prank'}: not the recorded results" in checks()


def test_a_missing_record_of_the_run_s_data_set_differs(project):
    RECORD.unlink()
    assert f"{DATASET}: in run.datasets, but without results" in checks()


def test_a_study_whose_jobs_found_something_else_differs(project):
    own = Results(RESULTS).study("pair_targets")
    write_job(own.job_path("targets"), {"other": 1})
    (said,) = checks()
    assert said.startswith("pair_targets: jobs: ")


def test_other_stored_data_than_the_results_differ(project):
    raw = DATA / "raw" / DATASET
    text = (raw / "S1.txt").read_text()
    parse(raw, DATA / "parquet" / DATASET, 5, DATASET, missing="mean")
    edit(DATA / "parquet" / DATASET / "collection.json", lambda said: said.update(note="other"))
    assert any("not the data of the recorded results" in each for each in checks())
    (raw / "S1.txt").write_text(text.replace("qid:1 1:", "qid:1 1:0", 1))
    assert any(f"{raw} is not the text" in each for each in checks())


def test_a_user_s_own_text_and_pairs_are_compared_with_what_was_parsed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("".join(f"{q % 2} qid:{q} 1:{q}\n0 qid:{q} 1:0\n" for q in range(1, 7)))
    own = {"datasets": SETTINGS["datasets"] | {"mine": {"path": "mine.txt"}}}
    params = write_params(tmp_path, run={"datasets": ["mine"], "models": ["mart"]}, studies={}, **own)
    parse(Path("mine.txt"), DATA / "parquet/mine", 5, "mine")
    expected = ["mine: in run.datasets, but without results"]
    assert checks(params) == expected
    Path("mine.txt").write_text(Path("mine.txt").read_text().replace("1:6", "1:7"))
    first, *rest = checks(params)
    assert "mine.txt is not the text that" in first and rest == expected


def test_a_fresh_clone_is_judged_without_training(project):
    shutil.rmtree(DATA)
    for path in RESULTS.glob(f"{DATASET}/*/"):
        shutil.rmtree(path)
    shutil.rmtree(RESULTS / "studies" / STUDY / "tables")
    shutil.rmtree(RESULTS / "studies/pair_targets/jobs")
    for name in ("per_query.parquet", "methods.csv", "run.json"):
        (RESULTS / name).unlink()
    assert checks() == []
    assert {each.partition(":")[0] for each in checks(ok=None)} == {DATASET}
    assert checks(write_params(project, models={})) != []


def test_nothing_to_verify_and_another_checkout_are_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = write_params(tmp_path)
    with pytest.raises(GradrankError, match="no results to verify"):
        list(verify(params, RESULTS, DATA))
    Path("src/gradrank").mkdir(parents=True)
    with pytest.raises(GradrankError, match="not the one of this checkout"):
        list(verify(params, RESULTS, DATA))


def test_the_command_ends_with_1_where_something_differs_and_repairs_it(project):
    run = CliRunner().invoke
    assert run(app, ["verify"]).exit_code == 0
    scores = RESULTS / DATASET / "prank/fold1/scores.parquet"
    scores.write_bytes(b"damaged")
    done = run(app, ["verify"])
    assert done.exit_code == 1 and str(scores) in done.stdout and "gradrank verify --repair" in done.stdout
    done = run(app, ["verify", "--repair"])
    assert done.exit_code == 0 and str(scores) in done.stdout and not scores.exists()
    assert not scores.with_name("spec.json").exists()
