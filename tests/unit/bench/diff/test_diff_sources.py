"""States from a folder, a git revision and a DVC experiment of one study are equal."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from diff_states import make_study
from gradrank.base.errors import GradrankError
from gradrank.bench.diff.compare import compare
from gradrank.bench.diff.read_state import read_state
from gradrank.bench.folds.per_query import join_test_queries
from gradrank.bench.results import Results
from made_project import DATASET

ROOT = Path(__file__).resolve().parents[4]
PARAMS = (ROOT / "params.yaml").read_text()
DVC = Path(sys.executable).with_name("dvc")
METHODS = {"lambdamart", "ranksvm"}

# The stage of the toy project: it takes the study that a parameter names to where DVC and git keep it.
STAGE = """
import shutil, yaml
rate = yaml.safe_load(open("params.yaml"))["models"]["lambdamart"]["learning_rate"]
made = f"made/{rate}"
shutil.copyfile(f"{made}/results/per_query.parquet", "results/per_query.parquet")
shutil.copyfile(f"{made}/results/mq2007/summary.json", "results/mq2007/summary.json")
"""
STAGES = f"""
stages:
  study:
    cmd: '"{sys.executable}" stage.py'
    params: [models]
    outs: [results/per_query.parquet]
"""


def run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def commit(folder: Path, message: str, *paths: str | Path) -> None:
    run(folder, "git", "add", *(paths or ["."]))
    run(folder, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", message)


def verdicts(a, b) -> dict[tuple[str, str], str]:
    return {(row.model, row.metric): row.verdict for row in compare(a, b).rows}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A repository with results at HEAD, the same without DVC's lock at HEAD~1, and an experiment `faster`.

    made/0.05 and made/0.1 hold the two studies that lie behind them.
    """
    if not DVC.is_file():
        pytest.skip("needs DVC: pip install 'gradrank[dvc]'")
    root = tmp_path_factory.mktemp("diff") / "my project"
    for rate in ("0.05", "0.1"):
        results = make_study(root / "made" / rate, shift=float(rate))
        values = join_test_queries(Results(results).dataset("mq2007").methods())
        values.write_parquet(results / "per_query.parquet")
    (root / "results/mq2007").mkdir(parents=True)
    shutil.copy(root / "made/0.05/results/mq2007/summary.json", root / "results/mq2007")
    (root / "params.yaml").write_text(PARAMS)
    (root / "stage.py").write_text(STAGE)
    (root / "dvc.yaml").write_text(STAGES)
    (root / ".gitignore").write_text("made\nresults/*\n!results/mq2007\n")
    run(root, "git", "init", "--quiet")
    for key, value in (("user.name", "a"), ("user.email", "a@b")):
        run(root, "git", "config", key, value)
    run(root, DVC, "init", "--quiet")
    run(root, DVC, "config", "core.analytics", "false")
    commit(root, "means only")
    run(root, DVC, "repro", "--quiet")
    commit(root, "results")
    run(root, DVC, "exp", "run", "--quiet", "--name", "faster", "-S", "models.lambdamart.learning_rate=0.1")
    run(root, "git", "checkout", "--quiet", ".")
    run(root, DVC, "checkout", "--quiet")
    return root


@pytest.fixture
def here(repository, monkeypatch) -> Path:
    monkeypatch.chdir(repository)
    return repository


def test_folder_by_its_project_itself_or_one_data_set(here):
    states = [read_state(f"made/0.05{below}") for below in ("", "/results", "/results/mq2007")]
    for one in states:
        assert one.kind == "results folder" and one.conventions == {"mq2007": "letor4"}
        assert one.methods["mq2007"].keys() == METHODS
        assert set(verdicts(states[0], one).values()) == {"unchanged"}
    assert states[0].methods["mq2007"]["ranksvm"].cost.seconds == sum(2.0 + fold for fold in range(1, 6))
    assert compare(states[0], read_state("made/0.1")).changes.params == [
        ("models.lambdamart.shift", 0.05, 0.1, ("mq2007",))
    ]


@pytest.mark.parametrize("content", [lambda whole: whole[:-40], lambda whole: b"", lambda whole: whole[:4] * 9])
@pytest.mark.parametrize("name", ["mq2007/methods/lambdamart/per_query.parquet", "per_query.parquet"])
def test_a_damaged_table_of_values_is_named(tmp_path, name, content):
    results = make_study(tmp_path)
    table = results / name
    if not table.exists():  # the common file, which is read if no method has a file of its own
        join_test_queries(Results(results).dataset("mq2007").methods()).write_parquet(table)
        for method in Results(results).dataset("mq2007").methods():
            method.per_query_path.unlink()
    table.write_bytes(content(table.read_bytes()))
    with pytest.raises(GradrankError, match=f"{table}: damaged.*Fix:"):
        read_state(str(results))


def test_a_malformed_params_yaml_beside_a_folder_is_named(tmp_path):
    folder = make_study(tmp_path)
    (tmp_path / "params.yaml").write_text("models: [\n")
    with pytest.raises(GradrankError, match=r"params\.yaml, line 2.*not YAML"):
        read_state(str(folder))


def test_folder_as_dvc_pull_leaves_it(here, tmp_path):
    pulled = tmp_path / "results"
    (pulled / "mq2007").mkdir(parents=True)
    shutil.copy(here / "made/0.05/params.yaml", tmp_path)
    shutil.copy(here / "made/0.05/results/mq2007/summary.json", pulled / "mq2007")
    alone = read_state(str(pulled))
    assert "only the means" in alone.notices[0] and "dvc pull" in alone.notices[0]
    assert set(verdicts(alone, read_state("made/0.05")).values()) == {"untested"}
    shutil.copy(here / "made/0.05/results/per_query.parquet", pulled)
    assert set(verdicts(read_state(str(pulled)), read_state("made/0.05")).values()) == {"unchanged"}


def test_revisions_without_dvc_are_tested_by_what_git_holds(tmp_path, monkeypatch):
    """With queries.parquet alone, the verdicts equal those of all values, and other metrics are untested."""
    full, found = {}, {}
    repository = tmp_path / "clone"
    repository.mkdir()
    run(repository, "git", "init", "--quiet")
    for rate in ("0.05", "0.1"):
        made = make_study(tmp_path / rate, shift=float(rate))
        full[rate] = read_state(str(tmp_path / rate))
        (repository / "results/mq2007").mkdir(parents=True, exist_ok=True)
        for name in ("summary.json", "queries.parquet"):
            shutil.copy(made / "mq2007" / name, repository / "results/mq2007")
        (repository / "params.yaml").write_text(PARAMS)
        commit(repository, rate)
    monkeypatch.chdir(repository)
    before, after, folder = read_state("HEAD~1"), read_state("HEAD"), read_state(".")
    assert before.notices == ()
    expected, found = (
        {(row.model, row.metric): row for row in compare(*states).rows}
        for states in ((full["0.05"], full["0.1"]), (before, after))
    )
    assert {key for key, row in found.items() if row.verdict != "untested"} == {
        (model, metric) for model in METHODS for metric in ("ndcg@10", "map")
    }
    assert expected.keys() == found.keys() and len(expected) > 4
    for key in ((model, metric) for model in METHODS for metric in ("ndcg@10", "map")):
        assert found[key].verdict == expected[key].verdict
        assert found[key].wilcoxon == pytest.approx(expected[key].wilcoxon, rel=1e-3)
        assert found[key].difference == pytest.approx(expected[key].difference, abs=1e-6)
    for one, two in ((after, full["0.1"]), (folder, after), (folder, full["0.1"])):
        assert set(verdicts(one, two).values()) <= {"unchanged", "untested"}


def test_folder_whose_summary_is_of_another_run_says_so(here, tmp_path):
    folder = shutil.copytree(here / "made/0.05", tmp_path / "mixed")
    assert not read_state(str(folder)).notices
    shutil.copy(here / "made/0.1/results/mq2007/summary.json", folder / "results/mq2007")
    assert "is not the mean of the values" in read_state(str(folder)).notices[0]


def test_git_revision(here):
    head = read_state("HEAD")
    assert head.kind == "git revision" and len(head.revision) == 40
    assert head.notices == ()
    assert set(verdicts(head, read_state("made/0.05")).values()) == {"unchanged"}
    assert head.methods["mq2007"]["lambdamart"].cost is None  # a time is the machine's that measured it
    assert head.params["mq2007"]["models.lambdamart"]["learning_rate"] == 0.05
    assert head.params["mq2007"]["models.lambdamart"]["lambda_l2"] == 0.0  # a default, which params.yaml omits


def test_revision_without_values_shows_means_and_says_how_to_get_more(here):
    before = read_state("HEAD~1")
    assert "no dvc.lock" in before.notices[0]
    assert "git worktree add" in before.notices[0]
    found = compare(before, read_state("faster"))
    assert {row.verdict for row in found.rows} == {"untested"}
    moved = {(row.model, row.metric) for row in found.rows if row.difference}
    assert moved == {("lambdamart", "ndcg@10")}


def test_dvc_experiment(here):
    faster = read_state("faster")
    assert faster.kind == "DVC experiment"
    found = compare(read_state("HEAD"), faster)
    (row,) = (row for row in found.rows if row.verdict != "unchanged")
    assert (row.model, row.metric, row.verdict) == ("lambdamart", "ndcg@10", "better")
    assert row.difference == pytest.approx(0.05)
    assert found.changes.params == [("models.lambdamart.learning_rate", 0.05, 0.1, ("mq2007",))]


def test_values_that_dvc_has_lost_are_named(here, tmp_path, monkeypatch):
    copy = shutil.copytree(here, tmp_path / "lost")
    shutil.rmtree(run(copy, DVC, "cache", "dir"))
    monkeypatch.chdir(copy)
    lost = read_state("HEAD")
    assert "neither in its cache nor in a remote" in lost.notices[0]
    assert lost.methods["mq2007"]["ranksvm"].values is None


def test_revision_whose_parameters_are_refused_today(here, tmp_path, monkeypatch):
    copy = shutil.copytree(here, tmp_path / "old")
    monkeypatch.chdir(copy)
    old = PARAMS.replace("    num_leaves: 15", "    number_of_leaves: 15")
    assert old != PARAMS
    (copy / "params.yaml").write_text(old)
    run(copy, "git", "commit", "--quiet", "-am", "as they once were called")
    found = compare(read_state("HEAD~1"), read_state("HEAD"))
    assert "params.yaml" in found.notices[0] and "number_of_leaves" in found.notices[0]
    changed = {change.name: change[1:3] for change in found.changes.params}
    assert changed["models.lambdamart.number_of_leaves"] == (None, 15)
    assert not [name for name in changed if not name.startswith("models.lambdamart.num")]


def test_unknown_name_and_a_folder_without_results(here):
    with pytest.raises(GradrankError, match="slower: "):
        read_state("slower")
    with pytest.raises(GradrankError, match="no results"):
        read_state("made")


def test_a_committed_record_says_what_the_results_were_made_of(project, monkeypatch, tmp_path):
    """Parameters, code and packages are read from provenance.json in git, unless its schema differs."""
    run(project, "git", "init", "--quiet")
    kept = ["params.yaml", *Results().dataset(DATASET).folder.glob("*.*")]
    commit(project, "results", "--force", *kept)
    record = Results().dataset(DATASET).provenance_path
    said = json.loads(record.read_text())
    said["params"]["seed"], said["code"]["summary"] = 6, "0" * 16
    said["methods"]["prank"] |= {"params": {"epochs": 3}, "digest": "0" * 16, "train": "1" * 16}
    said["methods"]["single_feature"].pop("params", None)
    record.write_text(json.dumps(said))
    commit(project, "other results", "--force", *kept)
    changes = compare(read_state("HEAD~1"), read_state("HEAD")).changes
    found = {each.name: each[1:3] for each in changes.params}
    assert found["seed"] == (5, 6) and found["models.prank.epochs"] == (2, 3)
    assert {each.name for each in changes.code} == {"summary", "train prank"} and changes.versions == []
    record.write_text(json.dumps({"params": {}, "code": {"files": {}}, "versions": {"numpy": "1.0"}}))
    commit(project, "other results", "--force", *kept)
    old = compare(read_state("HEAD~1"), read_state("HEAD")).changes
    assert old.code is None and old.versions is None


def test_the_studies_of_a_revision_are_read_from_their_files_and_from_an_older_params_yaml(here, tmp_path, monkeypatch):
    """A variant of a study may be listed by a data set, so that a revision without its studies would be refused."""
    copy = shutil.copytree(here, tmp_path / "studies")
    monkeypatch.chdir(copy)
    values = yaml.safe_load(PARAMS)
    values["run"]["models"] = ["lambdamart", "deep"]
    study = {"datasets": ["mq2007"], "variants": {"deep": {"model": "prank", "epochs": 3}}}
    (copy / "params.yaml").write_text(yaml.safe_dump(values | {"studies": {"term_report": study}}))
    commit(copy, "the settings of the study in params.yaml")
    (copy / "params.yaml").write_text(yaml.safe_dump(values))
    (copy / "studies/term_report").mkdir(parents=True)
    (copy / "studies/term_report/study.yaml").write_text(yaml.safe_dump(study))
    commit(copy, "the settings of the study in their own file")
    states = [read_state(name) for name in ("HEAD~1", "HEAD")]
    assert not [notice for state in states for notice in state.notices if "rejects" in notice]
    assert [state.params["mq2007"]["models.deep"]["epochs"] for state in states] == [3, 3]
    study["variants"]["deep"]["epochs"] = "many"
    (copy / "studies/term_report/study.yaml").write_text(yaml.safe_dump(study))
    commit(copy, "a fault in the file of the study")
    (notice,) = (notice for notice in read_state("HEAD").notices if "rejects" in notice)
    assert "rejects studies/term_report/study.yaml (variants.deep.epochs: " in notice
