"""`gradrank verify`: results that belong to the checkout pass; each way in which they may not is named."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import Project
from gradrank.files import read_json, sha256

ROOT = Path(__file__).resolve().parents[2]
NET = "results/synthetic_net"
COMMITTED = ("summary.json", "summary.md", "queries.parquet", "provenance.json")


def verify(project, ok: bool) -> str:
    """The output; the test fails unless the exit code is 0 (with ok=False: 1)."""
    done = project.ask("verify")
    assert done.returncode == (0 if ok else 1), done.stdout + done.stderr
    return done.stdout + done.stderr


def test_finished_results_belong_to_their_checkout(finished):
    output = verify(finished, ok=True)
    for dataset in ("synthetic_net", "synthetic_poly"):
        for what in ("parameters", "code", "data", "text", "results"):
            assert f"ok       {dataset}: {what}: " in output
    assert "DIFFERS" not in output and "To do" not in output


def test_the_record_has_every_file_and_no_time(finished):
    entry = read_json(finished.root / NET / "provenance.json")
    files = {path for path in finished.results() if path.startswith(NET) and "timestamp" not in path}
    made = {path.removeprefix(f"{NET}/") for path in files}
    assert made <= set(entry["results"]) and "tables/main.csv" in entry["results"]
    assert str(finished.root) not in (finished.root / NET / "provenance.json").read_text()
    assert set(entry["data"]["files"]) == {
        *(
            f"data/{kind}/synthetic_net/part{part}.parquet"
            for kind in ("parquet", "pairs")
            for part in range(1, 6)
        ),
        "data/parquet/synthetic_net/collection.json",
        "data/pairs/synthetic_net/pairs.json",
    }
    assert {"train lambdamart", "train ranknet_linear", "parse", "evaluate_folds"} <= set(
        entry["code"]["stages"]
    )
    assert entry["params"]["models"]["lambdamart"]["params"]["rounds"] == 5
    assert {"numpy", "lightgbm", "gradrank"} <= set(entry["versions"])
    assert "timing.json" not in " ".join(entry["results"])


def edited_score(root: Path) -> None:
    path = root / NET / "ranknet_linear/fold2/scores.parquet"
    scores = pl.read_parquet(path)
    scores.with_columns(score=pl.col("score").reverse()).write_parquet(path)


def edited_text(root: Path) -> None:
    path = root / "data/raw/synthetic_net/S3.txt"
    path.write_text(path.read_text().replace("2:0", "2:1"))


def append(name: str):
    return lambda root: (root / name).write_bytes((root / name).read_bytes() + b"\n# edited\n")


def append_code(name: str):
    return lambda root: (root / name).write_text((root / name).read_text() + "EDITED = 1\n")


def delete(name: str):
    return lambda root: (root / name).unlink()


MODEL = f"{NET}/lambdamart/fold1/model/trees0.txt"
CHANGES = {
    "edited score": (edited_score, f"synthetic_net: {NET}/ranknet_linear/fold2/scores.parquet: edited or replaced"),
    "edited model": (append(MODEL), f"synthetic_net: {MODEL}: edited or replaced"),
    "deleted model": (delete(MODEL), f"synthetic_net: {MODEL}: deleted"),
    "edited table": (append(f"{NET}/tables/main.csv"), f"{NET}/tables/main.csv: edited or replaced"),
    "deleted summary": (delete(f"{NET}/summary.json"), f"{NET}/summary.json: deleted"),
    "replaced data": (
        append("data/parquet/synthetic_poly/part2.parquet"),
        "synthetic_poly: data/parquet/synthetic_poly/part2.parquet: edited or replaced",
    ),
    "edited text": (edited_text, "data/raw/synthetic_net: not the text that the Parquet file was made of"),
    "edited model source": (
        append_code("src/gradrank/models/lambdamart.py"),
        "synthetic_net: src/gradrank/models/lambdamart.py: changed, concerns train lambdamart",
    ),
    "edited callee of compiled code": (
        append_code("src/gradrank/data/order.py"),
        "synthetic_net: src/gradrank/data/order.py: changed, concerns evaluate_folds",
    ),
    "edited metric": (
        append_code("src/gradrank/evaluation/metrics.py"),
        "synthetic_poly: src/gradrank/evaluation/metrics.py: changed, concerns evaluate_folds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named(rerun, change):
    edit, line = CHANGES[change]
    edit(rerun.root)
    output = verify(rerun, ok=False)
    differing = [text for text in output.splitlines() if text.startswith("DIFFERS")]
    assert any(line in text for text in differing), output
    assert {text.split(": ", 1)[-1] for text in differing} == {differing[0].split(": ", 1)[-1]}, output
    assert "To do:\n  " in output


def test_changed_parameters_are_named(rerun):
    rerun.params(models={"lambdamart": {"rounds": 6}}, run={"models": ["lambdamart", "single_feature"]})
    output = verify(rerun, ok=False)
    assert "DIFFERS  synthetic_net: models.lambdamart.rounds: 5 then, 6 now" in output
    assert "DIFFERS  synthetic_poly: models.ranknet_linear: no longer there" in output
    assert "models.single_feature" not in output and "ok       synthetic_net: results" in output


def test_no_record_is_an_error(rerun):
    for dataset in ("synthetic_net", "synthetic_poly"):
        (rerun.root / f"results/{dataset}/provenance.json").unlink()
    expected = "results/<dataset>/provenance.json: no such file; `snakemake --cores 2` writes it"
    assert expected in verify(rerun, ok=False)


def test_hand_edited_score_is_not_taken_over_and_the_next_call_mends_it(finished, rerun):
    edited_score(rerun.root)
    assert f"{NET}/ranknet_linear/fold2/scores.parquet: edited or replaced" in verify(rerun, ok=False)
    output = rerun.snakemake("--cores", "2")
    assert f"{NET}/ranknet_linear/fold2/scores.parquet: gone, damaged or edited" in output
    assert rerun.results() == finished.results()
    verify(rerun, ok=True)


def test_a_file_asked_for_by_its_path_brings_what_it_was_made_of(finished, rerun):
    edited_score(rerun.root)
    shutil.rmtree(rerun.root / NET / "lambdamart/fold1")
    rerun.snakemake("--cores", "2", f"{NET}/summary.json")
    assert rerun.results() == finished.results()


def test_hand_edited_score_is_found_beside_a_change_of_another_model(rerun):
    edited_score(rerun.root)
    rerun.params(models={"lambdamart": {"rounds": 6}})
    output = rerun.snakemake("--cores", "2", "synthetic_net")
    (line,) = {line for line in output.splitlines() if "gone, damaged or edited" in line}
    assert f"{NET}/ranknet_linear/fold2/scores.parquet" in line and "lambdamart" not in line


def test_a_score_whose_edit_the_start_does_not_see_is_refused_where_it_is_read(rerun):
    """As old as its spec.json, and measured again."""
    edited_score(rerun.root)
    path = rerun.root / NET / "ranknet_linear/fold2/scores.parquet"
    spec = path.with_name("spec.json").stat()
    os.utime(path, ns=(spec.st_atime_ns, spec.st_mtime_ns))
    shutil.rmtree(rerun.root / "results/synthetic_poly")
    rerun.params(run={"datasets": ["synthetic_net"]}, evaluation={"metrics": ["map", "ndcg@10", "mrr"]})
    for _ in range(2):  # as often as it is asked
        refused = rerun.snakemake("--cores", "2", ok=False)
        assert f"{NET}/ranknet_linear/fold2/scores.parquet: not the file that" in refused
    path.with_name("spec.json").unlink()
    rerun.snakemake("--cores", "2")
    verify(rerun, ok=True)


@pytest.fixture
def clone(finished, tmp_path) -> Project:
    """Of the finished checkout what git holds, elsewhere: no data, no model, no score."""
    root = tmp_path / "another clone"
    left_out = shutil.ignore_patterns("results", "data", ".snakemake", "logs")
    shutil.copytree(finished.root, root, symlinks=True, ignore=left_out)
    shutil.copytree(finished.root / "src/gradrank/data", root / "src/gradrank/data")
    for dataset in ("synthetic_net", "synthetic_poly"):
        (root / "results" / dataset).mkdir(parents=True)
        for name in COMMITTED:
            shutil.copy2(finished.root / "results" / dataset / name, root / "results" / dataset)
    return Project(root)


def test_git_holds_of_results_what_a_fresh_clone_is_told_about(finished, tmp_path):
    root = shutil.copytree(finished.root / "results", tmp_path / "results").parent
    shutil.copy(ROOT / ".gitignore", root)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard", "results"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    datasets = ("synthetic_net", "synthetic_poly")
    recorded = {f"results/{dataset}/{name}" for dataset in datasets for name in COMMITTED}
    assert set(listed) == recorded | {"results/metrics.json"}


def test_fresh_clone_says_without_training_whose_its_numbers_are(clone):
    output = verify(clone, ok=True)
    assert output.count("files are not here: trained models and scores are not in git") == 2
    assert output.count("12 files are not here: data are not in git") == 2
    for what in ("parameters", "code", "instruction set"):
        assert f"ok       synthetic_net: {what}: " in output
    assert "ok       synthetic_net: results: 3 files" in output

    append(f"{NET}/summary.md")(clone.root)
    append_code("src/gradrank/models/lambdamart.py")(clone.root)
    clone.params(models={"ranknet_linear": {"l2": [0.1]}})
    (clone.root / NET / "lambdamart/fold1").mkdir(parents=True)
    (clone.root / NET / "lambdamart/fold1/spec.json").write_text("{}")
    output = verify(clone, ok=False)
    assert f"DIFFERS  synthetic_net: {NET}/summary.md: edited or replaced" in output
    assert "DIFFERS  synthetic_poly: src/gradrank/models/lambdamart.py: changed" in output
    assert "DIFFERS  synthetic_net: models.ranknet_linear.l2: " in output
    assert f"DIFFERS  synthetic_net: {NET}/lambdamart/fold1/spec.json: edited" in output
    assert f"DIFFERS  synthetic_net: {NET}/lambdamart/fold2/scores.parquet: deleted" in output


def test_a_run_in_a_fresh_clone_is_held_against_the_committed_record(finished, clone):
    path = clone.root / NET / "provenance.json"
    record = read_json(path)
    scores = "single_feature/fold2/scores.parquet"
    record["results"][scores] = "0" * 64  # as made on a machine with other last digits
    path.write_text(json.dumps(record))
    before = sha256(path)
    refused = clone.snakemake("--cores", "2", "synthetic_net", ok=False)
    (line,) = {line for line in refused.splitlines() if "Were they edited?" in line}
    assert f"error: {NET}/{scores}: not the bytes that {NET}/provenance.json names" in line
    assert "lambdamart" not in line and f"delete {NET}/provenance.json" in line
    assert sha256(path) == before
    path.unlink()
    clone.snakemake("--cores", "2", "synthetic_net")
    assert path.read_bytes() == (finished.root / NET / "provenance.json").read_bytes()
