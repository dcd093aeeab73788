"""Every output option of every command: no input, no device and no file of others is replaced."""

import json
import os
import shutil
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.cli.options import CONTEST as CONTEST_STAGES
from gradrank.cli.options import FILE, FOLDER, STAGES
from made_project import DATASET, make_project

FOLD, DATA, RAW = f"results/{DATASET}/methods/prank/fold1", f"data/parquet/{DATASET}", f"data/raw/{DATASET}"
SCORES = ("--data", f"{RAW}/S1.txt")
# The arguments of each command with an output, without the output, and a file and a folder that the command reads.
# A command with a new output needs an entry.
EXAMPLES: dict[str, tuple[list[str], str, str]] = {
    "evaluate": (["--scores", "s1.txt", *SCORES], "s1.txt", RAW),
    "compare": (["s1.txt", "s2.txt", *SCORES], "s2.txt", RAW),
    "agreement": (["s1.txt", "s2.txt", *SCORES], "s2.txt", RAW),
    "predict": (["--model", FOLD, "--input", f"{RAW}/S1.txt"], f"{RAW}/S1.txt", FOLD),
    "importance": ([FOLD, f"{RAW}/S1.txt"], f"{RAW}/S1.txt", FOLD),
    "explain": ([FOLD, f"{RAW}/S1.txt", "--query", "1"], f"{FOLD}/spec.json", FOLD),
    "export": ([f"results/{DATASET}/methods/prank", "--data", DATA], "", DATA),
    "export-model": ([FOLD, "--to", "safetensors", "--names", "names.txt"], "names.txt", FOLD),
    "submit": (
        [f"results/{DATASET}/methods/prank", "--data", DATA, "--authors", "A", "--selection", "default"],
        "",
        f"results/{DATASET}/methods/prank",
    ),
    "table": ([f"results/{DATASET}"], f"results/{DATASET}/summary.json", ""),
    "diff": (["results", "results"], "results/run.json", ""),
    "report": ([], "results/run.json", ""),
    "track": (["--datasets", "@settings.json"], "settings.json", ""),
    "tune": (["--model", "single_feature", "--data", DATA, "--seed", "1"], f"{DATA}/part1.parquet", ""),
    "study-job": (["pair_targets", "targets", "--seed", "1", "--settings", "@settings.json"], "settings.json", ""),
    "fetch": (["mq2007", "--mirror", "mirror"], "", "mirror"),
    "generate": (["net", "--queries", "10", "--documents", "6", "--seed", "1"], "", ""),
    "parse": ([RAW, "--seed", "1"], "", RAW),
    "pairs": (["--data", DATA], "", DATA),
    "train": (["--model", "single_feature", "--data", DATA, "--seed", "1"], "", DATA),
    "refit": ([f"results/{DATASET}/methods/prank", "--data", DATA], "", DATA),
    "import-scores": (["imported/fold{fold}.txt", "--data", DATA, "--seed", "1"], "", "imported"),
}
METHOD, CONTEST = f"results/{DATASET}/methods/prank", "results/studies/contest"
# The arguments of each stage that writes into a folder of results/ without an output option, the folder, and its files.
IN_PLACE: dict[str, tuple[list[str], str, tuple[str, ...]]] = {
    "evaluate-folds": (
        [METHOD, "--model", "prank", "--data", DATA, "--params", "{}", "--seed", "5", "--metrics", "map"],
        METHOD,
        ("per_query.parquet", "evaluation.json"),
    ),
    "summary": (
        [f"results/{DATASET}", "--data", DATA],
        f"results/{DATASET}",
        ("summary.json", "summary.md", "queries.parquet", "provenance.json"),
    ),
    "explanations": (
        [f"results/{DATASET}", "--data", DATA, "--seed", "1"],
        f"results/{DATASET}",
        ("explanations.json",),
    ),
    "collect": (["--datasets", DATASET], "results", ("per_query.parquet", "metrics.json", "methods.csv", "run.json")),
    "study": (
        ["pair_targets"],
        "results/studies/pair_targets",
        ("page.json", "numbers.json", "page.md", "provenance.json"),
    ),
    "pack": (["results/studies/pair_targets", "jobs"], "results/studies/pair_targets", ("jobs.parquet",)),
    "choices": (["prank:1", "--datasets", DATASET], CONTEST, ("choices.json",)),
    "refit-choices": (
        ["prank", "--data", DATA, "--seed", "1"],
        f"{CONTEST}/values/{DATASET}/prank",
        ("tuner1.parquet",),
    ),
    "divisions": (
        ["prank", "--data", DATA, "--seed", "1", "--count", "2"],
        f"{CONTEST}/divisions/{DATASET}",
        ("prank.parquet",),
    ),
}
# These commands take less than 2 s.
RUN = ("evaluate", "compare", "agreement", "predict", "importance", "explain", "export-model", "table", "diff")
BUILD = ("export", "generate", "parse", "pairs", "train")


def command_of_name() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return group.commands


def outputs(kind: str) -> list[tuple[str, str]]:
    """Return the commands and options whose output is a file or a folder."""
    commands = command_of_name()
    options = [(name, option) for name, command in commands.items() for option in command.params]
    return [(name, option.opts[0]) for name, option in options if option.metavar == kind]


def test_every_option_that_writes_is_declared_as_an_output_and_has_an_example():
    commands = command_of_name()
    names = {(name, option.name) for name, command in commands.items() for option in command.params}
    written = {name for name, option in names if option in ("out", "html", "output", "save")}
    declared = {name for name, _ in (*outputs(FILE), *outputs(FOLDER))}
    assert written == declared, "an output option needs metavar=FILE or FOLDER"
    assert declared == EXAMPLES.keys()


def test_every_stage_without_an_output_option_is_an_example():
    with_option = {name for name, _ in (*outputs(FILE), *outputs(FOLDER))}
    commands = command_of_name()
    stages = {name for name, command in commands.items() if command.rich_help_panel in (STAGES, CONTEST_STAGES)}
    assert stages - with_option == IN_PLACE.keys()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    make_project(root)
    rows = len((root / RAW / "S1.txt").read_text().splitlines())
    for name, sign in (("s1.txt", 1), ("s2.txt", -1)):
        (root / name).write_text("".join(f"{sign * (row % 7)}\n" for row in range(rows)))
    (root / "names.txt").write_text("".join(f"name{k}\n" for k in range(50)))
    (root / "settings.json").write_text("{}")
    for folder in ("mirror", "imported"):
        (root / folder).mkdir()
    (root / "imported/fold1.txt").write_text("1\n")
    return root


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    """The working folder: a copy of the project, because a failing test destroys files."""
    monkeypatch.chdir(made)
    return tmp_path


def content(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def call(command: str, option: str, out: Path | str) -> Any:
    return CliRunner().invoke(app, [command, *EXAMPLES[command][0], option, str(out)])


@cache
def first_content(root: Path) -> dict[str, bytes]:
    """Return the content of the working folder `root` before the first command that must be refused."""
    return content(Path())


def refuse(command: str, option: str, out: Path | str) -> None:
    before = first_content(Path.cwd())
    done = call(command, option, out)
    assert isinstance(done.exception, GradrankError), done.output
    assert "Fix: " in str(done.exception)
    assert str(out) in str(done.exception)
    assert content(Path()) == before


def unusable(folder: Path) -> list[Path]:
    """Return paths that cannot be an output: a link to itself, a path below it, and a name that is too long."""
    (folder / "loop").symlink_to("loop")
    return [folder / "loop", folder / "loop/below", folder / ("x" * 256)]


@pytest.mark.parametrize(("command", "option"), outputs(FILE))
def test_a_file_output_is_no_input_no_folder_and_no_read_only_file(project, command, option):
    given = EXAMPLES[command][1]
    refuse(command, option, given)
    (project / "link.html").symlink_to(Path(given).absolute())
    refuse(command, option, project / "link.html")
    (project / "folder.html").mkdir()
    refuse(command, option, project / "folder.html")
    (project / "read_only.html").write_text("mine")
    (project / "read_only.html").chmod(0o444)
    refuse(command, option, project / "read_only.html")
    assert (project / "read_only.html").read_text() == "mine"
    refuse(command, option, project / "read_only.html/below.html")
    for path in unusable(project):
        refuse(command, option, path)


@pytest.mark.parametrize(("command", "option"), outputs(FOLDER))
def test_a_folder_output_contains_no_input_and_no_files_of_others(project, command, option):
    if given := EXAMPLES[command][2]:
        refuse(command, option, given)
        (project / "link").symlink_to(Path(given).absolute())
        refuse(command, option, project / "link")
        refuse(command, option, Path(given).absolute().parents[len(Path(given).parts) - 1])
    os.mkfifo(project / "pipe")
    (project / "file").write_text("mine")
    for name in ("pipe", "file", "file/below"):
        refuse(command, option, project / name)
    assert (project / "pipe").is_fifo()
    for path in unusable(project):
        refuse(command, option, path)


@pytest.mark.parametrize(("command", "name"), [(name, file) for name in IN_PLACE for file in IN_PLACE[name][2]])
def test_a_file_of_the_user_in_a_folder_of_results_is_refused(made, tmp_path, monkeypatch, command, name):
    """The stamp that lists the file is missing, because Snakemake removes it before a job, and a repair may."""
    arguments, folder, files = IN_PLACE[command]
    shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    for file in files:
        Path(folder, file).unlink(missing_ok=True)
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text(json.dumps({"type": "FeatureCollection"}))
    before = content(Path())
    done = CliRunner().invoke(app, [command, *arguments])
    assert isinstance(done.exception, GradrankError), (done.output, done.exception)
    assert str(Path(folder, name)) in str(done.exception) and "Fix: " in str(done.exception)
    assert content(Path()) == before


FOREIGN = ("participants.parquet", "part-00000-abc.snappy.parquet", "part1.parquet", "collection.json", "pairs.json")
FOREIGN += ("spec.json", "model/notes.txt", "S1.txt", "fold1.run.txt", "fetched.json")


@pytest.mark.parametrize("command", BUILD)
def test_a_folder_with_the_files_of_others_is_refused_and_our_own_is_replaced(project, command):
    for number, name in enumerate(FOREIGN):
        path = project / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"type": "FeatureCollection"}))
        before = content(project)
        done = call(command, "--out", project / str(number))
        assert isinstance(done.exception, GradrankError), (name, done.output)
        assert name in str(done.exception)
        assert content(project) == before
    for _ in range(2):
        done = call(command, "--out", project / "own")
        assert done.exit_code == 0, (done.output, done.exception)
    assert not list(project.glob(".*"))


@pytest.mark.parametrize("command", RUN)
def test_a_link_stays_and_a_pipe_receives_the_output(project, command):
    option = next(option for name, option in outputs(FILE) if name == command)
    os.mkfifo(project / "pipe.html")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append((project / "pipe.html").read_bytes()), daemon=True)
    reader.start()
    done = call(command, option, project / "pipe.html")
    assert done.exit_code == 0, (done.output, done.exception)
    reader.join(10)
    assert (project / "pipe.html").is_fifo()
    (project / "elsewhere").mkdir()
    (project / "link.html").symlink_to("elsewhere/file.html")
    for _ in range(2):
        assert call(command, option, project / "link.html").exit_code == 0
        assert (project / "link.html").is_symlink()
        assert len((project / "elsewhere/file.html").read_bytes()) == len(received[0]) > 0
    assert sorted(path.name for path in project.rglob("*")) == ["elsewhere", "file.html", "link.html", "pipe.html"]


def test_an_open_file_is_written_to_and_not_replaced(project):
    with (project / "printed.txt").open("wb") as stream:
        stream.write(b"before\n")
        stream.flush()
        inode = os.fstat(stream.fileno()).st_ino
        done = call("predict", "--out", f"/dev/fd/{stream.fileno()}")
    assert done.exit_code == 0, (done.output, done.exception)
    assert (project / "printed.txt").stat().st_ino == inode
    assert (project / "printed.txt").read_bytes().startswith(b"before\n")
    assert len((project / "printed.txt").read_bytes().splitlines()) > 2
