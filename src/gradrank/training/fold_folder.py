"""The folder of a trained model: its files, and how a training writes them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.base.stamps import check_file

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gradrank.base.files import temporary_folder
from gradrank.base.stamps import check_own_folder, is_recognised, mismatches, remove_listed

MODEL, MEMBERS = "model", "members"


SCORES, HISTORY, TIMING, SPEC = "scores.parquet", "history.parquet", "timing.json", "spec.json"
FOLD_FILES = (MODEL, SCORES, HISTORY, TIMING, SPEC)  # in the order of writing: if SPEC exists, all others are complete


class Below:
    """A descriptor for the path of a file in the object's `folder`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> Path:
        return owner.folder / self.name


@dataclass(frozen=True)
class Folder:
    """A folder in results/. It need not exist."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name


class FoldFolder(Folder):
    """The output of one training job: fold<k>/, fold<k>/seed<s>/, or any folder with the files of a model."""

    model_path = Below(MODEL)  # a folder, which the model writes and reads
    scores_path = Below(SCORES)
    history_path = Below(HISTORY)
    timing_path = Below(TIMING)
    spec_path = Below(SPEC)

    @property
    def finished(self) -> bool:
        return self.spec_path.is_file()

    def check(self, path: Path) -> None:
        """Raise GradrankError if the checksum of a file of this fold differs from the one in spec.json."""
        check_file(self.spec_path, path)

    def spec(self) -> dict[str, Any]:
        """Return the content of spec.json, which is the stamp of the fold.

        Its keys are `model`, `dataset`, `fold`, `params`, `features`, `seed`, `job_seed`, `data_sha256`, `inputs` (a
        dict from input to SHA-256), `code`, `versions`, `processor`, and `files` (a dict from path to SHA-256, without
        timing.json).
        """
        return read_json(self.spec_path)

    def timing(self) -> dict[str, float]:
        """Return a dict with `seconds`, `fit_seconds`, `peak_memory_mb` and further costs (bench/folds/costs.py).

        A fold of imported scores has no further costs.
        """
        return read_json(self.timing_path)

    def history(self) -> "pl.DataFrame":
        """Return a frame with one row per training step.

        The columns are `step` and the values that the model reported. A value that was not reported is null.
        """
        import polars as pl

        return pl.read_parquet(self.history_path)

    def scores(self, split: str) -> "np.ndarray":
        """Return the (n,) float64 scores of a split, in row order. split: `train`, `vali` or `test`.

        Raises GradrankError if the file does not match its checksum.
        """
        import polars as pl

        self.check(self.scores_path)
        return pl.read_parquet(self.scores_path).filter(split=split)["score"].to_numpy()

    def member(self, number: int) -> "FoldFolder":
        """Return the folder of a member of a model that combines other models' scores. Members are numbered from 1."""
        return FoldFolder(self.model_path / MEMBERS / str(number))


@contextmanager
def partial_folder(out: Path, inputs: Iterable[Path] = ()) -> Iterator[FoldFolder]:
    """Yield a new folder next to `out` that only this process uses, and remove it at the end of the block.

    The folder of another process is not removed, because the other process could still be running. If a killed job left
    its folder, `gradrank verify --repair` removes it. Raises GradrankError if `out` contains files that gradrank has
    not written, or one of the inputs.
    """
    check_own_folder(out / SPEC, inputs, _is_fold_file)
    with temporary_folder(out) as partial:
        yield FoldFolder(partial)


def publish(partial: FoldFolder, out: FoldFolder) -> None:
    """Move the contents of the finished folder `partial` into `out`, which may already exist. Move spec.json last.

    If `out` already contains the same result, nothing is moved. This happens if a job of a killed run ends after the
    job that replaced it. Otherwise, only files that the earlier spec.json lists are removed. The caller has called
    `partial_folder`, which refuses other files.
    """
    same = out.finished and out.spec_path.read_bytes() == partial.spec_path.read_bytes()
    if same and not any(mismatches(out.spec_path)):
        return
    if not out.folder.exists():  # a folder that exists is kept, because it may be the working folder of a process
        with suppress(OSError):  # raised if another job has just made the folder
            partial.folder.replace(os.path.realpath(out.folder))
            return
    if is_recognised(out.spec_path):
        remove_listed(out.spec_path)
    else:  # left by an interrupted job
        out.spec_path.unlink(missing_ok=True)
        shutil.rmtree(out.model_path, ignore_errors=True)
    files = [path.relative_to(partial.folder) for path in partial.folder.rglob("*") if path.is_file()]
    for name in sorted(files, key=lambda name: (name == Path(SPEC), name != Path(TIMING), name)):
        (out.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (partial.folder / name).replace(out.folder / name)


def _is_fold_file(path: Path) -> bool:
    """Return True for a file or folder of a training job that the stamp of its folder does not list.

    These are the folders of further seeds and timing.json. If the stamp is missing or damaged, all files of the job are
    recognised by timing.json.
    """
    if path.is_symlink():
        return False
    if path.is_dir() and re.fullmatch(r"seed\d+", path.name):
        return True
    fold = FoldFolder(path.parent)
    if is_recognised(fold.spec_path):
        return path == fold.timing_path
    return path.name in FOLD_FILES and _has_own_timing(fold)


def _has_own_timing(fold: FoldFolder) -> bool:
    try:
        return {"seconds", "fit_seconds", "peak_memory_mb"} <= fold.timing().keys()
    except (OSError, GradrankError, AttributeError):
        return False
