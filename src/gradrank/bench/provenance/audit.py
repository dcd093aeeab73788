"""Comparison of every checksum file (stamp) in data/ and results/ with its files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
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
from gradrank.bench.results import EVALUATION, EXPLANATIONS, JOBS, PAGE, PROVENANCE, RUN, is_job, read_job
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.sources.catalogue import catalogue
from gradrank.data.sources.locate import names_below_root
from gradrank.data.sources.synthetic import PARTS
from gradrank.training.fold_folder import MEMBERS, MODEL, SPEC

FETCHED = "fetched.json"
RESULT_STAMPS = (SPEC, EVALUATION, PROVENANCE, RUN)
DATA_STAMPS = (COLLECTION, PAIRS, FETCHED)
IN_GIT = ("summary.json", "summary.md", "queries.parquet", "numbers.json", "page.md", "choices.json", "metrics.json")
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
        r"|tables|tables/[^/]+\.(csv|md|tex)"
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
    return is_job(path) if path.parent.name == JOBS else is_recognised(path)


def _is_foreign(path: Path) -> bool:
    """Return True for a file that was never a stamp: no regular file, or JSON without the keys of a stamp.

    If the folder has files that the stamp would list, the file is in the place of the stamp, and counts as damaged.
    """
    if _leads_out(path) or not path.is_file():
        return True
    content = _json(path)
    if content is None or path.parent.name == JOBS:
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
        yield Mismatch(stamp, stamp, DAMAGED if stamp.parent.name == JOBS else reason_of(stamp, error))
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
    if stamp.parent.name == JOBS:
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
