"""Removal of damaged files and of partial files of killed jobs: `gradrank verify --repair`.

Only files that gradrank wrote are removed: stamps with a marker, files that such a stamp lists in its folder, and
partial files whose name says that a process of this host that has ended wrote them.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gradrank.base.files import host_name, is_running, partial_owner
from gradrank.base.stamps import DAMAGED, MISSING
from gradrank.bench.provenance.audit import (
    FETCHED,
    FOREIGN,
    Mismatch,
    advice,
    audit_raw,
    is_hidden,
    is_stamp,
    raw_names,
)
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.training.fold_folder import FOLD_FILES, MODEL

TIME_OF_FOLDER = ".snakemake_timestamp"  # Snakemake writes it into the folders that are outputs
TABLE_ENDINGS = (".csv", ".md", ".tex")
_FOLD = re.compile(r"(fold|seed)[0-9]+")  # the folder of a training job
_PART = re.compile(r"part[0-9]+\.parquet")


class Plan(NamedTuple):
    """The paths that a repair removes, and those that it leaves although something is wrong, each with the reason.

    kept: damage that a person must look at. waiting: partial files of processes that run, or may run on another host.
    """

    removed: dict[Path, str]
    kept: dict[Path, str]
    waiting: dict[Path, str]


def plan_repair(wrong: Iterable[Mismatch], results: Path, data: Path) -> Plan:
    """Return what a repair removes: every stamp with a mismatch, its damaged files, and abandoned partial files.

    The next run of Snakemake rebuilds these folders, because the targets request every stamp. A stamp that names a path
    which gradrank would not have written there is left with all its files. If a stored collection has a mismatch, its
    text must be parsed again. If the raw text is incomplete, its stamp is therefore removed as well, so that the text
    is fetched again.
    """
    plan = Plan({}, {}, {})
    by_stamp: dict[Path, list[Mismatch]] = {}
    for mismatch in wrong:
        by_stamp.setdefault(mismatch.stamp, []).append(mismatch)
    for stamp in [stamp for stamp in by_stamp if stamp.name == COLLECTION]:
        fetched = data / "raw" / stamp.parent.name / FETCHED
        if is_stamp(fetched) and (found := list(audit_raw(fetched))):
            by_stamp[fetched] = found
    for stamp, mismatches in by_stamp.items():
        _plan_stamp(plan, stamp, mismatches)
    for root in (results, data):
        partial = (path for path in root.rglob(".*.partial") if not is_hidden(path.parent.relative_to(root)))
        for path in sorted(partial):
            _plan_partial(plan, path)
    return plan


def _plan_stamp(plan: Plan, stamp: Path, mismatches: Iterable[Mismatch]) -> None:
    """Add a stamp and its damaged files to the plan."""
    kept = {mismatch.path: reason for mismatch in mismatches if (reason := _reason_to_keep(mismatch))}
    if kept:
        plan.kept.update({path: reason for path, reason in kept.items() if reason != FOREIGN})
        return
    damaged = [mismatch.path for mismatch in mismatches if mismatch.reason == DAMAGED]
    plan.removed.update(dict.fromkeys(damaged, DAMAGED))
    faults = {mismatch.path: mismatch.reason for mismatch in mismatches}
    first, reason = next(iter(faults.items()))
    plan.removed.setdefault(stamp, f"lists {first.relative_to(stamp.parent)}, which is {reason}")


def _reason_to_keep(mismatch: Mismatch) -> str | None:
    """Return why a stamp with this mismatch is not removed; None if it is removed."""
    _, path, reason = mismatch
    if reason not in (MISSING, DAMAGED):
        return reason if reason == FOREIGN else f"{reason}. Fix: {advice(mismatch)}"
    if reason == DAMAGED and path.is_dir() and (foreign := _first_foreign(path, _is_table)):
        return f"contains {foreign.name}, which gradrank did not write. Fix: move it, and run the repair again"
    return None


def _is_table(path: str) -> bool:
    return "/" not in path and path.endswith(TABLE_ENDINGS)


def _plan_partial(plan: Plan, path: Path) -> None:
    """Add a partial file or folder to the plan, if the functions of base/files.py named it."""
    owner = partial_owner(path)
    if owner is None or path.is_symlink():
        return
    if owner.host != host_name():
        advice = "Fix: delete it there, if that process has ended"
        plan.waiting[path] = f"process {owner.process} on {owner.host} wrote it. {advice}"
    elif is_running(owner.process):
        plan.waiting[path] = f"process {owner.process} is running"
    elif path.is_dir():
        if foreign := _first_foreign(path, _content_of(owner.name)):
            plan.kept[path] = f"contains {foreign.relative_to(path)}, which gradrank did not write. Fix: move it"
        else:
            plan.removed[path] = f"left by process {owner.process}, which has ended"
    elif path.is_file():
        plan.removed[path] = f"left by process {owner.process}, which has ended"


def _content_of(name: str) -> Callable[[str], bool]:
    """Return a function that returns True for the path of a file that the partial folder of `name` may contain.

    name: the name of the finished folder: a fold, or a data set in data/.
    """
    if _FOLD.fullmatch(name):
        return lambda path: path in FOLD_FILES or path.startswith(f"{MODEL}/")
    names = {*raw_names(), FETCHED, COLLECTION, PAIRS}
    return lambda path: path in names or _PART.fullmatch(path) is not None


def _first_foreign(folder: Path, is_ours: Callable[[str], bool]) -> Path | None:
    """Return the first file of a folder, at any depth, that gradrank did not write; None if it wrote all."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        is_named = is_ours(path.relative_to(folder).as_posix()) or partial_owner(path) is not None
        is_named |= path.name == TIME_OF_FOLDER
        if path.is_symlink() or not path.is_file() or not is_named:
            return path
    return None


def carry_out(plan: Plan) -> Iterator[Path]:
    """Remove the files and folders that a plan lists, and yield the path of each."""
    for path in plan.removed:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        yield path
