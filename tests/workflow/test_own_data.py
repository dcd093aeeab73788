"""A user's own data are read in several layouts, and faults are named before any job runs."""

import pytest

from gradrank.base.files import read_json
from project import Project


def table(project: Project) -> str:
    """Return the user's data as CSV text whose columns have other names and whose query ids are text."""
    rows = [line.split(" #")[0].split() for line in text(project).splitlines()]
    lines = [
        [f"Q{row[1].removeprefix('qid:')}", row[0], "http://", *(token.partition(":")[2] for token in row[2:])]
        for row in rows
    ]
    names = ["who asked", "clicks", "url", *(f"signal {k}" for k in range(1, len(lines[0]) - 2))]
    return "\n".join(map(",".join, [names, *lines])) + "\n"


def text(project: Project) -> str:
    """Return the lines of all three parts of the user's data."""
    own = project.root / "own data"
    return "".join((own / f"{split}.txt").read_text() for split in ("train", "vali", "test"))


def test_other_layouts_are_stored_and_a_damaged_line_stops_only_its_data_set(project):
    root, whole = project.root, text(project)
    (root / "all.svm").write_text("\n".join(line.split(" #")[0] for line in whole.splitlines()) + "\n")
    (root / "all.csv").write_text(table(project))
    (root / "bad.txt").write_text(whole.replace(" 7:", " seven:", 1))
    project.params(
        datasets={
            "one_file": {"path": "all.svm"},
            "table": {"path": str(root / "all.csv"), "query": "who asked", "label": "clicks", "ignore": ["url"]},
            "damaged": {"path": "bad.txt"},
        }
    )
    project.environment["GRADRANK_MIRROR"] = ""
    collections = {name: f"data/parquet/{name}/collection.json" for name in ("one_file", "table", "damaged")}
    assert len(project.plan("table")) > 3 * 5 * 4
    output = project.snakemake("--cores", "2", *collections.values(), "data/raw/mq2008/fetched.json", ok=False)
    assert "FAILED fetch: dataset=mq2008" in output and "GRADRANK_MIRROR is not set" in output
    for name in ("one_file", "table"):
        meta = read_json(root / collections[name])
        assert (len(meta["folds"]), meta["queries"], meta["features"]) == (5, 6, 50)
    assert not (root / collections["damaged"]).exists()
    log = (root / "logs/parse/damaged.log").read_text()
    assert "bad.txt" in log and "line 1" in log and "Traceback" not in log


REFUSED = {
    "models.lambdamart.learning_rat": {"models": {"lambdamart": {"learning_rat": 0.1}}},
    "datasets.mine.pairs": {"datasets": {"mine": {"pairs": "nowhere.csv"}}},
    "few.txt": {"datasets": {"few": {"path": "few.txt"}}, "run": {"datasets": ["few"]}},
    "models.theirs: 1 of 1 score files for mine do not exist: theirs/1.txt. Fix:": {
        "run": {"datasets": ["mine"], "models": ["theirs"]},
        "models": {"theirs": {"scores": "theirs/{fold}.txt"}},
    },
}


@pytest.mark.parametrize("named", REFUSED)
def test_a_fault_is_named_before_any_job(project, named):
    (project.root / "few.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n0 qid:3 1:1\n")
    project.params(**REFUSED[named])
    output = project.snakemake("--cores", "1", ok=False)
    assert named in output
    assert "Traceback" not in output and "Exception" not in output and ".smk" not in output
    assert not (project.root / "results").exists()


def test_a_duplicate_key_and_an_unknown_target_are_named(project):
    params = project.root / "params.yaml"
    text = params.read_text()
    params.write_text(f"{text}seed: 7\n")
    output = project.snakemake("--dry-run", ok=False)
    first, last = text.splitlines().index("seed: 2005") + 1, len(params.read_text().splitlines())
    assert f"line {first} " in output and f"line {last}" in output and "Traceback" not in output
    params.write_text(text)
    output = project.snakemake("--dry-run", "sintetic_net", ok=False)
    assert "'sintetic_net' (did you mean 'synthetic_net'?)" in output


def test_a_failed_fetch_keeps_what_is_in_its_folder(project):
    file = project.root / "data/raw/mq2007/S1.txt"
    file.parent.mkdir(parents=True)
    file.write_text("a part of the user's copy")
    project.environment = {"GRADRANK_MIRROR": str(project.root / "none")}
    assert "mq2007: not found" in project.snakemake("--cores", "1", "data/raw/mq2007/fetched.json", ok=False)
    assert file.read_text() == "a part of the user's copy"
    assert not (file.parent / "fetched.json").exists()
