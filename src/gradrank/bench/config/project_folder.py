"""The project folder that `gradrank init` writes. In it, the installed workflow runs without a checkout.

Git and DVC are set up in it with their commands. A repository that exists is used as it is.

`dvc exp run` needs a git repository with at least one commit, and a DVC repository.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from string import Template

from gradrank.base.errors import GradrankError, missing, require
from gradrank.base.files import atomic
from gradrank.bench.config.code_digest import PACKAGE
from gradrank.bench.config.datasets import replaced_form
from gradrank.bench.git import git
from gradrank.data.file_forms import plain_name
from gradrank.data.layout import Layout, find_layout, is_table

DVC_FILES = (".dvc/config", ".dvc/.gitignore")  # `dvc init` writes them for git


def check(folder: Path, use_git: bool, use_dvc: bool) -> None:
    """Raise GradrankError if `set_up` would fail with the same arguments. Nothing is written."""
    if not (use_git or use_dvc):
        return
    if not shutil.which("git"):
        raise GradrankError("gradrank init: git is not installed. Fix: install git, or leave out --git and --dvc")
    if use_dvc:
        require("dvc", extra="dvc", needed_by="gradrank init --dvc")
    existing = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.is_dir())
    inside = git("rev-parse", "--show-toplevel", folder=existing) is not None
    if use_dvc and not use_git and not inside:
        raise GradrankError(f"{folder}: DVC needs a git repository. Fix: add --git")
    if inside and git("check-ignore", "--quiet", str(folder.resolve()), folder=existing) is not None:
        raise GradrankError(f"{folder}: the git repository around it ignores this folder. Fix: choose another folder")
    if use_git and any(git("var", f"GIT_{role}_IDENT", folder=existing) is None for role in ("AUTHOR", "COMMITTER")):
        raise GradrankError(
            "gradrank init --git: git knows no name and e-mail address for the commit. Fix: git config --global "
            "user.name 'Your Name'; git config --global user.email you@example.com"
        )


def set_up(folder: Path, files: Iterable[Path], use_git: bool, use_dvc: bool) -> list[str]:
    """Create the repositories that are missing, and commit the files that are not committed. Return what was done.

    files: files of the project to commit, within `folder`. Other files are not committed, and neither are changes of
    committed files.
    """
    done = []
    if use_git and git("rev-parse", "--show-toplevel", folder=folder) is None:
        _call(folder, "git", "init", "--quiet")
        done.append("git init")
    if use_dvc and subprocess.run([_dvc(), "root"], cwd=folder, capture_output=True).returncode:
        at_top = git("rev-parse", "--show-prefix", folder=folder) == b"\n"
        command = ("init", "--quiet", *(() if at_top else ("--subdir",)))
        _call(folder, _dvc(), *command)
        done.append(f"dvc {' '.join(command)}")
    if use_git:
        names = [path.relative_to(folder).as_posix() for path in files]
        names += [name for name in DVC_FILES if (folder / name).is_file()]
        if new := _uncommitted(folder, names):
            _call(folder, "git", "add", "--", *new)
            _call(folder, "git", "commit", "--quiet", "--message", "Set up the gradrank project", "--", *new)
            done.append(f"git commit: {', '.join(new)}")
    return done


def _uncommitted(folder: Path, names: list[str]) -> list[str]:
    """Return the names of files that the last commit does not contain."""
    committed = git("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *names, folder=folder) or b""
    return sorted(set(names) - set(committed.decode().split("\0")))


def _dvc() -> str:
    """Return the path of the command `dvc` of this Python environment."""
    return shutil.which("dvc", path=str(Path(sys.prefix, "bin"))) or "dvc"


def _call(folder: Path, *command: str) -> None:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        line = " ".join([Path(command[0]).name, *command[1:3]])
        raise GradrankError(
            f"{folder}: `{line}` failed: {process.stderr.strip() or process.stdout.strip()}\n"
            "Fix: remove the cause, then run the same command again"
        )


# The folder contains links to files in the checkout, and the files that only project folders have.
PROJECT = PACKAGE / "bench" / "config" / "project"
OWN_DATA = "own_data.yaml"  # template of params.yaml for a user's own data
FILES = {  # key: path in the project folder; value: path in PROJECT
    "params.yaml": "params.yaml",
    "Snakefile": "Snakefile",
    "dvc.yaml": "dvc.yaml",
    ".dvcignore": "dvcignore",
    ".gitignore": "gitignore",
    "profiles/default/config.yaml": "profiles/default/config.yaml",
    "workflow/profiles/slurm/config.yaml": "workflow/profiles/slurm/config.yaml",
    "workflow/dvc-run.sh": "workflow/dvc-run.sh",
    "workflow/schemas/params.schema.json": "workflow/schemas/params.schema.json",
}


TOOLS = {  # key: import name of an optional package; value: its name, the extra that installs it, its use
    "snakemake": ("Snakemake", "workflow", "runs the workflow"),
    "mlflow": ("MLflow", "track", "records the runs, unless params.yaml has `track: false`"),
    "dvc": ("DVC", "dvc", "runs dvc.yaml, if you want to version data and results"),
}


def init(folder: Path, data: Path | None = None, complete: bool = False) -> list[Path]:
    """Write FILES into a folder and return their paths. The folder is created if it does not exist.

    data: a user's own data, which params.yaml will describe. If None, the shipped params.yaml is written. complete:
    whether to leave the edited files of an existing project as they are, and to write only the missing files. If a call
    is killed, the same call can be repeated and writes the missing files. Raises GradrankError if a file exists with
    different content or if `data` is not a collection. In both cases, nothing is written.
    """
    texts = {name: (PROJECT / source).read_text(encoding="utf-8") for name, source in FILES.items()}
    if data is not None:
        texts["params.yaml"] = _own_data(folder, data)
    existing = [name for name in texts if os.path.lexists(folder / name)]
    different = [name for name in existing if not _has_content(folder / name, texts[name])]
    is_project = all((folder / name).is_file() for name in ("params.yaml", "Snakefile"))
    if different and not (complete and is_project and data is None):
        raise GradrankError(
            f"{folder}: {', '.join(different)} already exist with other content, and nothing is overwritten. "
            "Fix: choose a new folder, or move the files away"
        )
    for name in texts.keys() - existing:
        with atomic(folder / name) as partial:
            partial.write_text(texts[name], encoding="utf-8")
    return [folder / name for name in texts]


def missing_tools() -> list[str]:
    """Return a sentence for each optional package that a project folder uses and that is not installed."""
    tools = [TOOLS[package] for package in missing(TOOLS)]
    return [f"{name} is not installed. It {use}. Fix: pip install 'gradrank[{extra}]'" for name, extra, use in tools]


def _has_content(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def next_command(folder: Path, dvc: bool = False) -> str:
    """Return the command that runs the workflow in a new project folder, with Snakemake or with DVC."""
    command = f"{typed('snakemake', folder)} --cores 2"
    if dvc:  # DVC finds `snakemake` by name
        programs = "" if shutil.which("snakemake") else f"PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH "
        command = f"{programs}dvc exp run"
    return command if folder.samefile(".") else f"cd {shlex.quote(str(folder))} && {command}"


def typed(command: str, folder: Path) -> str:
    """Return a command of this Python environment as a user types it in `folder`.

    If the shell would not find the command, the path of the command is returned.
    """
    program, project = Path(sys.prefix, "bin", command), folder.resolve()
    if shutil.which(command) or not program.is_file():
        return command
    return shlex.quote(str(program.relative_to(project) if program.is_relative_to(project) else program))


def _own_data(folder: Path, data: Path) -> str:
    """Return the text of params.yaml for `data`. The path in this text is relative if the data are in `folder`."""
    declared = _declared(find_layout(data))
    path, base = data.resolve(), folder.resolve()
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    if fault := replaced_form(shown):
        raise GradrankError(f"{data}: {fault.partition('; ')[0]}. Fix: {fault.partition('; ')[2]}")
    values = {"path": str(shown), "title": plain_name(path).stem}
    quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}  # JSON is YAML
    return Template((PROJECT / OWN_DATA).read_text(encoding="utf-8")).substitute(quoted, declared=declared)


def _declared(layout: Layout) -> str:
    """Return the lines of params.yaml that declare the columns of a user's tables; empty for text.

    Raises GradrankError if no declaration makes a table readable.
    """
    table = next((file for file in layout.files if is_table(file)), None)
    if table is None:
        return ""
    from gradrank.data.proposal import propose
    from gradrank.data.tables.roles import Columns
    from gradrank.data.tables.table import raw_table

    proposal = propose(raw_table(table, table), Columns())
    if proposal.problems:
        raise GradrankError(f"{table}: {'; '.join(proposal.problems)}. `gradrank inspect {table}` shows all columns")
    return "".join(f"{line}\n" for line in proposal.entries())
