"""What A and B of `gradrank diff A B` may be."""

import re
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.diff.state import State


def read_state(name: str) -> State:
    """The first of these that `name` is: a folder, a git revision, a DVC experiment, an MLflow run.

    Raises GradrankError where it is none of them or holds no results.
    """
    from gradrank.diff.committed import find_commit
    from gradrank.diff.folder import read_folder
    from gradrank.diff.mlflow_run import read_run
    from gradrank.diff.revision import read_revision

    if Path(name).is_dir():
        return read_folder(Path(name))
    if found := find_commit(name):
        return read_revision(name, found)
    if re.fullmatch(r"[0-9a-f]{32}", name):
        return read_run(name)
    raise GradrankError(
        f"{name}: no folder, git revision, DVC experiment (`dvc exp show`) or MLflow run (32 hexadecimal digits)"
    )
