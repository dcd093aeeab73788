"""A user's own data: three lines in params.yaml, whatever the layout."""

import json
import shutil
from pathlib import Path

import pytest

from conftest import Project
from gradrank.data.layout import ROTATION
from gradrank.data.synthetic import generate


def five_folds(parts: list[str], folder: Path) -> Path:
    for number, rotation in enumerate(ROTATION, 1):
        fold = folder / f"Fold{number}"
        fold.mkdir(parents=True)
        for split, members in rotation.items():
            (fold / f"{split}.txt").write_text("".join(parts[part - 1] for part in members))
    return folder


def one_fold(parts: list[str], folder: Path) -> Path:
    folder.mkdir()
    for split, text in zip(("train", "vali", "test"), parts, strict=False):
        (folder / f"{split}.txt").write_text(text)
    return folder


def svmlight_file(parts: list[str], folder: Path) -> Path:
    folder.mkdir()
    lines = [line.split(" #")[0] for part in parts for line in part.splitlines()]
    (folder / "all.svm").write_text("\n".join(lines) + "\n")
    return folder / "all.svm"


def table(parts: list[str], folder: Path) -> Path:
    """A CSV file whose columns have names of their own, and query ids that are text."""
    folder.mkdir()
    rows = [line.split(" #")[0].split() for part in parts for line in part.splitlines()]
    lines = [
        [
            f"Q{row[1].removeprefix('qid:')}",
            row[0],
            "http://",
            *(token.partition(":")[2] for token in row[2:]),
        ]
        for row in rows
    ]
    names = ["who asked", "clicks", "url", *(f"signal {k}" for k in range(1, len(lines[0]) - 2))]
    (folder / "all.csv").write_text("\n".join(map(",".join, [names, *lines])) + "\n")
    return folder / "all.csv"


# The name of each layout's data set, what params.yaml says of it beside its path, and its folds.
LAYOUTS = {
    "five_folds": (five_folds, {}, 5),
    "one_fold": (one_fold, {}, 1),
    "svmlight_file": (svmlight_file, {}, 5),
    "table": (table, {"query": "who asked", "label": "clicks", "ignore": ["url"]}, 5),
}


@pytest.fixture(scope="module")
def made(checkout, tmp_path_factory) -> tuple[Project, str]:
    """A checkout with the results of one model on own data of every layout, and what that run said."""
    base = tmp_path_factory.mktemp("own")
    generate("net", 10, 8, 3, base / "text")
    parts = [(base / f"text/S{part}.txt").read_text() for part in range(1, 6)]
    datasets = {
        name: {"path": str(write(parts, base / f"my own {name}"))} | declared
        for name, (write, declared, _) in LAYOUTS.items()
    }
    project = checkout(base / "my checkout")
    project.params(datasets=datasets, run={"models": ["single_feature"]})
    return project, project.snakemake("--cores", "2", *LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_own_data_run_through_the_whole_chain(made, name):
    project, _ = made
    meta = json.loads((project.root / f"data/parquet/{name}/collection.json").read_text())
    assert len(meta["folds"]) == LAYOUTS[name][-1]
    assert meta["queries"] == (6 if name == "one_fold" else 10)
    summary = json.loads((project.root / f"results/{name}/summary.json").read_text())
    assert 0 < summary["single_feature"]["map"] <= 1
    assert name in (project.root / "results/report.html").read_text()


def test_a_second_run_on_own_data_does_nothing(made):
    assert "Nothing to be done" in made[0].snakemake("--cores", "2", *LAYOUTS)


def test_zeros_of_short_lists_are_warned_of_until_the_data_set_names_its_convention(made, tmp_path):
    project, output = Project(shutil.copytree(made[0].root, tmp_path / "my checkout")), made[1]
    page, summary = (project.root / "results/one_fold" / name for name in ("summary.md", "summary.json"))
    assert json.loads(summary.read_text())["single_feature"]["ndcg@10"] == 0
    said = "under `letor4` a query with fewer than k documents has 0"
    own = output[output.index("\none_fold: NDCG@10 under letor4") :].lstrip().partition("\n\n")[0]
    assert said in own and said in page.read_text()
    assert 'class="notice warning"' in (project.root / "results/report.html").read_text()

    project.params(datasets={"one_fold": {"convention": "standard"}})
    jobs = project.planned("one_fold")
    assert {rule for rule, *_ in jobs} == {"summary", "provenance", "report", "track", "one_fold"}
    output = project.snakemake("--cores", "2", "one_fold")
    assert "one_fold: NDCG@10 under standard" in output and "WARNING" not in output
    assert json.loads(summary.read_text())["single_feature"]["ndcg@10"] > 0
    assert "under the `standard` convention" in page.read_text() and "Warning" not in page.read_text()
    record = json.loads((project.root / "results/one_fold/provenance.json").read_text())
    assert record["params"]["evaluation"]["convention"] == "standard"
    assert "DIFFERS  one_fold" not in project.gradrank("verify")
    sides = json.loads(project.gradrank("diff", "results", "results", "--json"))
    assert sides["a"]["conventions"]["one_fold"] == "standard"


def test_a_convention_that_is_not_measured_is_refused(project, tmp_path):
    project.params(
        datasets={"synthetic_net": {"convention": "trec"}, "mq2007": {"convention": "letor3", "path": "x"}}
    )
    output = project.snakemake("--cores", "2", "--dry-run", ok=False)
    assert (
        "datasets.synthetic_net.convention: 'trec' is not measured; it must be one of evaluation.conventions"
        in output
    )
    assert "datasets.mq2007: is in the catalogue and takes no setting but `convention`" in output


def test_damaged_line_is_named_and_nothing_is_trained(project, tmp_path):
    generate("net", 10, 8, 3, tmp_path / "text")
    parts = [(tmp_path / f"text/S{part}.txt").read_text() for part in range(1, 6)]
    parts[1] = parts[1].replace(" 7:", " seven:", 1)
    path = five_folds(parts, tmp_path / "damaged")
    project.params(datasets={"my_data": {"path": str(path)}}, run={"models": ["single_feature"]})
    output = project.snakemake("--cores", "2", "my_data", ok=False)
    assert "Fold1/test.txt" in output or "Fold2/test.txt" in output
    assert "line 1" in output or ":1:" in output
    assert not (project.root / "data/parquet/my_data").exists()
    assert not (project.root / "results/my_data").exists()


def test_a_part_that_is_damaged_or_gone_is_made_again_and_nothing_is_trained_again(rerun):
    project = rerun
    before, part = project.results(), project.root / "data/parquet/synthetic_net/part3.parquet"
    specs = {path: path.stat().st_mtime_ns for path in project.root.glob("results/*/*/fold*/spec.json")}
    content = part.read_bytes()
    part.write_bytes(content[:3000])
    output = project.snakemake("--cores", "2", "synthetic_net", "--forcerun", "evaluate_folds")
    assert "part3.parquet: gone, damaged or edited since it was made; it is made again first" in output
    assert part.read_bytes() == content and project.results() == before
    part.unlink()
    project.snakemake("--cores", "2", "synthetic_net")
    assert part.read_bytes() == content and project.results() == before
    assert specs == {path: path.stat().st_mtime_ns for path in specs}


def test_too_few_queries_are_refused_before_any_job(project, tmp_path):
    (tmp_path / "few.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n0 qid:3 1:1\n")
    project.params(datasets={"my_data": {"path": str(tmp_path / "few.txt")}})
    output = project.snakemake("--cores", "2", "--dry-run", "my_data", ok=False)
    assert "few.txt: 3 queries; dividing a file into five parts takes at least 5" in output
    assert "Traceback" not in output


def test_fault_in_params_stops_before_any_job(project):
    project.params(models={"lambdamart": {"learning_rat": 0.1}})
    output = project.snakemake("--cores", "2", ok=False)
    assert "models.lambdamart.learning_rat: unknown key (did you mean 'learning_rate'?)" in output
    assert not (project.root / "data").exists()
