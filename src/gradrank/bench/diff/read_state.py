"""Read the states that the arguments A and B of `gradrank diff A B` refer to."""

from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.bench.diff.state import State


def read_state(name: str) -> State:
    """Return the state called `name`: a folder, git revision or DVC experiment, tried in this order.

    Raises GradrankError if none of these has the name, or if the state has no results.
    """
    from gradrank.bench.diff.committed import find_commit
    from gradrank.bench.diff.folder import read_folder
    from gradrank.bench.diff.revision import read_revision

    if Path(name).is_dir():
        return read_folder(Path(name))
    if commit := find_commit(name):
        return read_revision(name, commit)
    raise GradrankError(
        f"{name}: not a folder, git revision or DVC experiment. Fix: give one of these. `dvc exp show` lists "
        "experiments"
    )
