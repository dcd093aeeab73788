"""gradrank.bench.results names and reads every path below results/."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_stamp
from gradrank.bench.config.datasets import check_datasets
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import measured_folds, timings
from gradrank.bench.parts import read_job, write_job
from gradrank.bench.results import PLOTS, STUDIES, MethodFolder, NumberedFold, Results
from gradrank.bench.tuning.folders import Contest
from gradrank.training.fold_folder import Below, Folder, FoldFolder

ROOT = Path(__file__).parents[3]
OWN_REPORT = ("report.html", "report", "tracked.json")  # of one data set or study


def finish(fold: FoldFolder, **timing: float) -> FoldFolder:
    fold.folder.mkdir(parents=True)
    fold.spec_path.write_text(json.dumps({"fold": fold.number}))
    if timing:
        fold.timing_path.write_text(json.dumps(timing))
    return fold


def paths_of(folder: Folder) -> set[str]:
    """Return the paths that results.py names in a folder of this kind."""
    kinds = type(folder).__mro__
    names = [name for kind in kinds for name, value in vars(kind).items() if isinstance(value, Below)]
    return {str(getattr(folder, name)) for name in names}


def outputs() -> set[str]:
    """Return the outputs of the rules below results/, with their wildcards."""
    patterns = set()
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for block in re.findall(r"^    output:\n((?:^        .*\n)+)", path.read_text(), re.MULTILINE):
            patterns |= set(re.findall(r'"(results/[^"]*)"', block))
    return patterns


def test_every_output_of_the_rules_is_named_in_results():
    results = Results()
    dataset = results.dataset("{dataset}")
    study = results.study("{study}")
    contest = Contest(results.study("{contest}").folder)
    folders = [
        results,
        dataset,
        dataset.method("{model}"),
        FoldFolder(dataset.method("{model}").folder / "fold{fold}"),
        study,
        contest,
    ]
    named = set().union(*map(paths_of, folders)) | {str(results.report_path.with_suffix(""))}
    written = outputs()
    assert len(written) > 10 and "results/{dataset}/methods/{model}/fold{fold}/spec.json" in written
    shown = {f"results/{scope}/{name}" for scope in ("{dataset}", "studies/{study}") for name in OWN_REPORT}
    of_a_method = ("{dataset}", "{method}")
    parts = {contest.divisions_path(*of_a_method)}
    parts |= {path(*of_a_method, "{tuner}") for path in (contest.trials_path, contest.values_path)}
    parts |= {study.job_path("{job}"), study.folder / "{kind}.parquet"}
    assert written - named - set(map(str, parts)) == shown


def test_a_data_set_with_the_name_of_a_folder_of_results_is_refused():
    faults: list[str] = []
    names = {STUDIES, PLOTS, Results().report_path.stem}
    check_datasets({name: {"path": "."} for name in names}, [], faults)
    assert {name for name in names if any(f"datasets.{name}: " in fault for fault in faults)} == names


def test_finished_folds_are_sorted_by_number_and_seed(tmp_path):
    method = Results(tmp_path).dataset("toy").method("m")
    for number in (10, 2):
        finish(method.fold(number))
    finish(method.fold(2, seed=3))
    method.fold(4).folder.mkdir()
    (method.folder / "fold_of_old").mkdir()
    assert [(fold.number, fold.seed) for fold in method.folds()] == [(2, None), (2, 3), (10, None)]
    seeded = method.fold(2, seed=3)
    assert seeded.spec_path == tmp_path / "toy/methods/m/fold2/seed3/spec.json"
    assert (seeded.method, seeded.number, seeded.method.dataset) == (method, 2, "toy")


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("results/toy/methods/m/fold3/scores.parquet", "results/toy/methods/m/fold3"),
        ("results/toy/methods/m/fold3/seed12/model/net.safetensors", "results/toy/methods/m/fold3/seed12"),
        ("results/toy/methods/m/fold3/model/members/1/spec.json", "results/toy/methods/m/fold3"),
        ("results/toy/methods/m/per_query.parquet", None),
        ("results/toy/methods/fold_changes/per_query.parquet", None),
    ],
)
def test_the_fold_of_a_file_is_found_from_its_path(path, folder):
    assert NumberedFold.holding(path) == (NumberedFold(Path(folder)) if folder else None)


def test_data_sets_and_methods_are_those_with_files(tmp_path):
    results = Results(tmp_path)
    finish(results.dataset("trained").method("m").fold(1))
    for folder in ("summarised", "evaluated/methods/m", "report", "studies/arsm", ".partial/methods/m"):
        (tmp_path / folder).mkdir(parents=True)
    results.dataset("summarised").summary_path.write_text('{"m": {"map": 0.5}}')
    results.dataset("evaluated").method("m").per_query_path.touch()
    (results.dataset("evaluated").tables_path).mkdir()
    (results.dataset("evaluated").tables_path / "folds.csv").touch()
    assert [dataset.name for dataset in results.datasets()] == ["evaluated", "summarised", "trained"]
    assert results.dataset("evaluated").methods() == [MethodFolder(tmp_path / "evaluated/methods/m")]
    assert results.dataset("summarised").summary() == {"m": {"map": 0.5}}
    assert Results(tmp_path / "none").datasets() == []


def test_the_cost_covers_all_jobs_with_a_timing_file(tmp_path):
    method = Results(tmp_path).dataset("toy").method("m")
    assert Cost.of(timings(method)) is None
    finish(method.fold(1), seconds=3.0, fit_seconds=1.0, peak_memory_mb=300)
    finish(method.fold(2), seconds=5.0, fit_seconds=4.0, peak_memory_mb=200)
    finish(method.fold(3))
    cost = Cost.of(timings(method))
    assert cost == Cost(2, 5.0, 4.0, 8.0, 300) and cost.mean_fit_seconds == 2.5


def test_folds_of_removed_seeds_do_not_count(tmp_path):
    method = Results(tmp_path).dataset("toy").method("m")
    for seed in (None, 5, 9):
        for number in (1, 2):
            finish(method.fold(number, seed), seconds=1.0, fit_seconds=1.0, peak_memory_mb=1)
    assert measured_folds(method) == [method.fold(1), method.fold(2)], "nothing is measured"
    rows = pl.DataFrame({"fold": [1, 2, 1, 2], "seed": [7, 7, 5, 5]})
    rows.write_parquet(method.per_query_path)
    assert measured_folds(method) == [method.fold(number, seed) for number in (1, 2) for seed in (None, 5)]
    assert len(timings(method)) == 4
    rows.drop("seed").write_parquet(method.per_query_path)
    assert measured_folds(method) == [method.fold(1), method.fold(2)]


def test_damaged_json_is_refused_with_the_file_and_a_fix(tmp_path):
    fold = finish(Results(tmp_path).dataset("toy").method("m").fold(1))
    fold.spec_path.write_bytes(b'{"fold": 1, "par\x00\xff')
    with pytest.raises(GradrankError, match=r"fold1/spec\.json: not JSON .*Fix: "):
        fold.spec()


def test_scores_of_a_part_keep_their_order_and_damaged_scores_are_refused(tmp_path):
    pl.DataFrame({"split": ["train", "test", "test"], "score": [1.0, 3.0, 2.0]}).write_parquet(
        FoldFolder(tmp_path).scores_path
    )
    fold = FoldFolder(tmp_path)
    write_stamp(fold.spec_path, {}, [fold.scores_path])
    assert fold.scores("test").tolist() == [3.0, 2.0]
    with fold.scores_path.open("r+b") as stream:
        stream.write(b"damaged")
    with pytest.raises(GradrankError, match=r"scores\.parquet: damaged"):
        fold.scores("test")


def test_values_per_query_must_match_their_stamp(tmp_path):
    method = MethodFolder(tmp_path)
    method.per_query_path.write_bytes(b"values")
    with pytest.raises(GradrankError, match=r"evaluation\.json: .*Fix: "):
        method.check()
    write_stamp(method.evaluation_path, {}, [method.per_query_path])
    method.check()
    method.per_query_path.write_bytes(b"other")
    with pytest.raises(GradrankError, match=r"per_query\.parquet: damaged"):
        method.check()


def test_the_file_of_a_job_is_its_own_stamp(tmp_path):
    path, numbers = tmp_path / "jobs/a.json", {"b": [1, 0.1, None], "a": "ü"}
    write_job(path, numbers)
    assert read_job(path) == numbers
    for text in (path.read_text().replace("0.1", "0.2"), '{"found": 1}', "[]", "{"):
        path.write_text(text)
        with pytest.raises(GradrankError, match=r"a\.json: "):
            read_job(path)
