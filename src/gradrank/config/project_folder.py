"""A folder that runs the installed workflow, without a checkout: `gradrank init`."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from string import Template

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.config.code_digest import PACKAGE
from gradrank.data.compressed import plain_name
from gradrank.data.layout import find_layout

PROJECT = PACKAGE / "config" / "project"  # of a checkout: links to its own files, and what only such a folder has
OWN_DATA = "own_data.yaml"  # params.yaml for a user's own data
FILES = {  # of such a folder, and of PROJECT
    "params.yaml": "params.yaml",
    "Snakefile": "Snakefile",
    "dvc.yaml": "dvc.yaml",
    ".gitignore": "gitignore",
    "profiles/default/config.yaml": "profiles/default/config.yaml",
    "workflow/profiles/slurm/config.yaml": "workflow/profiles/slurm/config.yaml",
    "workflow/dvc-run.sh": "workflow/dvc-run.sh",
}


def init(folder: Path, data: Path | None = None) -> list[Path]:
    """Write FILES into a folder, made if need be; returns their paths.

    data: a user's own, which params.yaml then describes; None: the shipped params.yaml. Raises GradrankError, before
    anything is written, where one of the files is there with another text and where `data` is no collection. A call
    that was killed is completed by the same call.
    """
    texts = {name: (PROJECT / source).read_text(encoding="utf-8") for name, source in FILES.items()}
    if data is not None:
        texts["params.yaml"] = _own_data(folder, data)
    there = [name for name in texts if os.path.lexists(folder / name)]
    if other := [name for name in there if not _holds(folder / name, texts[name])]:
        raise GradrankError(
            f"{folder}: holds {', '.join(other)} already, and nothing is overwritten; choose a new folder, or move "
            "them away"
        )
    for name in texts.keys() - there:
        with atomic(folder / name) as partial:
            partial.write_text(texts[name], encoding="utf-8")
    return [folder / name for name in texts]


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def next_command(folder: Path) -> str:
    """What to type after `init`."""
    return f"cd {shlex.quote(str(folder))} && {typed('snakemake', folder)} --cores 2"


def typed(command: str, folder: Path) -> str:
    """A command of this environment as one types it in `folder`: by its place where the shell does not find it."""
    beside, here = Path(sys.prefix, "bin", command), folder.resolve()
    if shutil.which(command) or not beside.is_file():
        return command
    return shlex.quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))


def _own_data(folder: Path, data: Path) -> str:
    """params.yaml for `data`; the path as seen from `folder` if it lies there."""
    find_layout(data)
    path, base = data.resolve(), folder.resolve()
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    values = {"path": str(shown), "title": plain_name(path).stem}
    quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}  # JSON is YAML
    return Template((PROJECT / OWN_DATA).read_text(encoding="utf-8")).substitute(quoted)
