"""Comparison of every checksum file (stamp) in data/ and results/ with its files, and removal of damaged files.

`gradrank verify --repair` also removes the partial files of killed jobs.

Only files that gradrank wrote are removed: stamps with a marker, files that such a stamp lists in its folder, and
partial files whose name says that a process of this host that has ended wrote them.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import host_name, is_running, partial_owner, read_json
from gradrank.base.stamps import (
    CHECKSUM,
    DAMAGED,
    MISSING,
    check_names,
    differing,
    is_recognised,
    read_sealed,
    read_stamp,
    reason_of,
)
from gradrank.bench.parts import JOBS, KINDS, PACKED, PACKED_FILES, is_job, read_job
from gradrank.bench.results import EVALUATION, EXPLANATIONS, PAGE, PROVENANCE, RUN
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.sources.catalogue import catalogue
from gradrank.data.sources.fetch import names_below_root
from gradrank.data.sources.synthetic import PARTS
from gradrank.training.fold_folder import FOLD_FILES, MEMBERS, MODEL, SPEC

FETCHED = "fetched.json"
RESULT_STAMPS = (SPEC, EVALUATION, PROVENANCE, RUN)
DATA_STAMPS = (COLLECTION, PAIRS, FETCHED)
IN_GIT = ("summary.json", "summary.md", "queries.parquet", "numbers.json", "page.md", "choices.json", "metrics.json")
IN_GIT += PACKED_FILES
FOREIGN = "not written by gradrank"  # the reason of a mismatch if a file only has the name of a stamp
_PARTS = re.compile(r"part[0-9]+\.parquet")
# The paths that each stamp may list; those of fetched.json are `raw_names`. A stamp with another path is not ours, and
# its files are not opened or removed.
LISTED = {
    COLLECTION: _PARTS,
    PAIRS: _PARTS,
    SPEC: re.compile(r"scores\.parquet|history\.parquet|model/.+"),
    EVALUATION: re.compile(r"per_query\.parquet"),
    PROVENANCE: re.compile(
        r"summary\.json|summary\.md|queries\.parquet|numbers\.json|page\.md|choices\.json"
        r"|(trials|values|divisions|jobs)\.parquet|tables|tables/[^/]+\.(csv|md|tex)"
    ),
    RUN: re.compile(r"per_query\.parquet|metrics\.json|methods\.csv"),
}


class Mismatch(NamedTuple):
    """A file that is missing or damaged. stamp: the checksum file that lists it. reason: what is wrong."""

    stamp: Path
    path: Path
    reason: str


def stamps(results: Path, data: Path) -> list[Path]:
    """Return the paths of all files with the name of a stamp, sorted. They need not be stamps (see `is_stamp`).

    data: the folder with raw/, parquet/ and pairs/. Stamps in hidden folders are left out. So are those of the
    copied members of a model that combines other models, because the stamp of the model's fold covers these files.
    """
    paths = [(data, path) for name in DATA_STAMPS for path in data.glob(f"*/*/{name}")]
    paths += [(results, path) for name in RESULT_STAMPS for path in results.rglob(name)]
    self_stamped = [*results.glob("studies/**/jobs/*.json"), *results.glob(f"studies/**/{PAGE}")]
    self_stamped += results.glob(f"*/{EXPLANATIONS}")
    paths += [(results, path) for path in self_stamped]
    paths = [path for root, path in paths if not is_hidden(path.relative_to(root))]
    return sorted(path for path in paths if f"/{MODEL}/{MEMBERS}/" not in path.as_posix())


def is_hidden(path: Path) -> bool:
    """Return True if a part of a relative path begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def is_stamp(path: Path) -> bool:
    """Return True if gradrank wrote a file, which may be damaged. A link out of its folder is not a stamp."""
    if _leads_out(path):
        return False
    return is_job(path) if path.parent.name == JOBS.name else is_recognised(path)


def _is_foreign(path: Path) -> bool:
    """Return True for a file that was never a stamp: no regular file, or JSON without the keys of a stamp.

    If the folder has files that the stamp would list, the file is in the place of the stamp, and counts as damaged.
    """
    if _leads_out(path) or not path.is_file():
        return True
    content = _json(path)
    if content is None or path.parent.name == JOBS.name:
        return False
    if isinstance(content, dict) and (CHECKSUM in content or {"schema", "files"} <= content.keys()):
        return False
    kind = path.name if path.name in (*RESULT_STAMPS, *DATA_STAMPS) else PROVENANCE
    return not any(_may_list(kind, sibling.name) for sibling in path.parent.iterdir())


def _leads_out(path: Path) -> bool:
    try:
        return path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve())
    except (OSError, RuntimeError):
        return True


def _json(path: Path) -> Any:
    """Return the content of a file; None if it is not JSON or cannot be read."""
    try:
        return read_json(path)
    except (GradrankError, OSError):
        return None


def audit(stamp: Path) -> Iterator[Mismatch]:
    """Yield the mismatches of one stamp.

    In a fresh clone, all files that are not in git are missing. This does not count as a mismatch of a provenance.json
    or a run.json. Missing raw text is not a mismatch either, because no job reads it after parsing. The only mismatch
    of another program's file has the reason FOREIGN.
    """
    if not is_stamp(stamp):
        yield Mismatch(stamp, stamp, FOREIGN if _is_foreign(stamp) else reason_of(stamp))
        return
    try:
        files = _listed(stamp)
    except (GradrankError, OSError) as error:
        yield Mismatch(stamp, stamp, DAMAGED if stamp.parent.name == JOBS.name else reason_of(stamp, error))
        return
    wrong = [Mismatch(stamp, *entry) for entry in differing(stamp, files)]
    absent = [mismatch for mismatch in wrong if mismatch.reason == MISSING and mismatch.path.name not in IN_GIT]
    outside_git = sum(Path(name).name not in IN_GIT for name in files)
    if stamp.name == FETCHED or (stamp.name in (PROVENANCE, RUN) and len(absent) == outside_git):
        wrong = [mismatch for mismatch in wrong if mismatch not in absent]
    yield from wrong


def advice(mismatch: Mismatch) -> str:
    """Return how to fix a mismatch that a repair leaves, because nothing proves that gradrank wrote the file."""
    stamp, path, _ = mismatch
    git = f"restore {stamp} if it is in git; " if stamp.name == PROVENANCE else ""
    return f"{git}if {path} is yours, move it; else delete {stamp} and run Snakemake again"


def audit_raw(stamp: Path) -> Iterator[Mismatch]:
    """Yield the mismatches of a fetched.json, including missing text."""
    try:
        yield from (Mismatch(stamp, *entry) for entry in differing(stamp, _listed(stamp)))
    except (GradrankError, OSError) as error:
        yield Mismatch(stamp, stamp, reason_of(stamp, error))


def _listed(stamp: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a stamp lists, by path below its folder; empty if it covers only itself.

    Raises GradrankError if the stamp is damaged, or lists a path that no stamp of its name lists.
    """
    if stamp.parent.name == JOBS.name:
        read_job(stamp)
        return {}
    if stamp.name in (PAGE, EXPLANATIONS):
        read_sealed(stamp)
        return {}
    if stamp.name in DATA_STAMPS:
        content = read_sealed(stamp)
        entries = content.get("files" if stamp.name == FETCHED else "parts")
        form = "{}" if stamp.name == FETCHED else "part{}.parquet"
        if not isinstance(entries, dict) or not all(_is_entry(entry) for entry in entries.values()):
            raise GradrankError(f"{stamp}: lists no checksums of files. Fix: delete it, and run Snakemake again")
        files = {form.format(name): entry["sha256"] for name, entry in entries.items()}
        check_names(stamp, files)
    else:
        files = read_stamp(stamp)["files"]
    for name in files:
        if not _may_list(stamp.name, name):
            raise GradrankError(
                f"{stamp}: names {ascii(name)[:200]}, which no {stamp.name} of gradrank lists. Fix: delete {stamp}, "
                "and run Snakemake again"
            )
    return files


def raw_names() -> set[str]:
    """Return the paths of the files that `gradrank fetch` and `gradrank generate` write below data/raw/<dataset>/."""
    entries = [entry for entry in catalogue().values() if not entry.generator]
    return {"target.json", *(f"S{part}.txt" for part in range(1, PARTS + 1))}.union(
        *(names_below_root(entry).values() for entry in entries)
    )


def _may_list(stamp: str, name: str) -> bool:
    return name in raw_names() if stamp == FETCHED else LISTED[stamp].fullmatch(name) is not None


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str)


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
    if reason == DAMAGED and path.name in PACKED_FILES:
        return f"{reason}. Fix: run `git restore {path}`, or delete it to pack the parts again"
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

    name: the name of the finished folder: a fold, the parts of a study, or a data set in data/.
    """
    if _FOLD.fullmatch(name):
        return lambda path: path in FOLD_FILES or path.startswith(f"{MODEL}/")
    if name in KINDS:
        return lambda path: path == PACKED or KINDS[name].key(path) is not None
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
