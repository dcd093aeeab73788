"""Comparison of every checksum file (stamp) in data/ and results/ with its files, and removal of damaged files."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256
from gradrank.base.results import EVALUATION, EXPLANATIONS, JOBS, MEMBERS, MODEL, PAGE, PROVENANCE, RUN, SPEC, read_job
from gradrank.base.stamps import OTHER_VERSION, mismatches, read_sealed
from gradrank.data.part_files import COLLECTION, PAIRS

FETCHED = "fetched.json"
RESULT_STAMPS = (SPEC, EVALUATION, PROVENANCE, RUN)
DATA_STAMPS = (COLLECTION, PAIRS, FETCHED)
IN_GIT = ("summary.json", "summary.md", "queries.parquet", "numbers.json", "page.md", "choices.json", "metrics.json")


class Mismatch(NamedTuple):
    """A file that is missing or damaged. stamp: the checksum file that lists it. reason: what is wrong."""

    stamp: Path
    path: Path
    reason: str


def stamps(results: Path, data: Path) -> list[Path]:
    """Return the paths of all stamps, sorted.

    data: the folder with raw/, parquet/ and pairs/. Stamps in hidden folders are left out. So are those of the
    copied members of a model that combines other models, because the stamp of the model's fold covers these files.
    """
    paths = [(data, path) for name in DATA_STAMPS for path in data.glob(f"*/*/{name}")]
    paths += [(results, path) for name in RESULT_STAMPS for path in results.rglob(name)]
    self_stamped = [*results.glob("studies/**/jobs/*.json"), *results.glob(f"studies/**/{PAGE}")]
    self_stamped += results.glob(f"*/{EXPLANATIONS}")
    paths += [(results, path) for path in self_stamped]
    paths = [path for root, path in paths if not _is_hidden(path.relative_to(root))]
    return sorted(path for path in paths if f"/{MODEL}/{MEMBERS}/" not in path.as_posix())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def audit(stamp: Path) -> Iterator[Mismatch]:
    """Yield the mismatches of one stamp.

    In a fresh clone, all files that are not in git are missing. This does not count as a mismatch of a provenance.json
    or a run.json. Missing raw text is not a mismatch either, because no job reads it after parsing.
    """
    if stamp.name in DATA_STAMPS:
        wrong = [Mismatch(stamp, *entry) for entry in _data_mismatches(stamp)]
        yield from (mismatch for mismatch in wrong if stamp.name != FETCHED or mismatch.reason != "missing")
        return
    if stamp.parent.name == JOBS or stamp.name in (PAGE, EXPLANATIONS):
        try:
            read_job(stamp) if stamp.parent.name == JOBS else read_sealed(stamp)
        except GradrankError:
            yield Mismatch(stamp, stamp, "damaged or edited")
        return
    wrong = [Mismatch(stamp, *entry) for entry in mismatches(stamp)]
    missing = [mismatch for mismatch in wrong if mismatch.reason == "missing" and mismatch.path.name not in IN_GIT]
    if stamp.name in (PROVENANCE, RUN) and len(missing) == _count_outside_git(stamp):
        wrong = [mismatch for mismatch in wrong if mismatch not in missing]
    yield from wrong


def repair(wrong: Iterable[Mismatch], results: Path, data: Path) -> Iterator[Path]:
    """Remove every stamp with a mismatch, its damaged files and the partial files of killed jobs.

    Yield each removed path. The next run of Snakemake rebuilds these folders, because the targets request every stamp.
    A provenance.json that another version of gradrank wrote is not removed, because it is not damaged. If a stored
    collection has a mismatch, its text must be parsed again. If the raw text is incomplete, its stamp is therefore
    removed as well, so that the text is fetched again.
    """
    wrong = [mismatch for mismatch in wrong if (mismatch.stamp.name, mismatch.reason) != (PROVENANCE, OTHER_VERSION)]
    collections = [mismatch.stamp.parent.name for mismatch in wrong if mismatch.stamp.name == COLLECTION]
    fetched = [data / "raw" / name / FETCHED for name in collections]
    wrong += [Mismatch(stamp, *entry) for stamp in fetched if stamp.is_file() for entry in _data_mismatches(stamp)]
    damaged = [mismatch.path for mismatch in wrong if mismatch.reason != "missing"]
    paths = dict.fromkeys([*damaged, *(mismatch.stamp for mismatch in wrong)])
    partial = (path for root in (results, data) for path in root.rglob(".*.partial"))
    for path in [*paths, *partial]:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        else:
            continue
        yield path


def _count_outside_git(stamp: Path) -> int:
    """Return the number of a stamp's files that are not in git; -1 if all are in git or the stamp cannot be read."""
    try:
        return sum(Path(name).name not in IN_GIT for name in read_json(stamp)["files"]) or -1
    except (GradrankError, KeyError, TypeError, AttributeError):
        return -1


def _data_mismatches(stamp: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path, reason) for each file of a stamp in data/ that is missing or has a different checksum.

    If the stamp itself cannot be read, only the stamp is yielded.
    """
    try:
        expected = dict(_data_checksums(stamp, read_sealed(stamp)))
    except (GradrankError, OSError, AttributeError, KeyError, TypeError):
        yield stamp, "damaged"
        return
    for path, digest in expected.items():
        if not path.is_file():
            yield path, "missing"
        elif sha256(path) != digest:
            yield path, "damaged or edited"


def _data_checksums(stamp: Path, content: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield (path, SHA-256) of each file in the content of a stamp in data/."""
    if stamp.name == FETCHED:
        yield from ((stamp.parent / name, entry["sha256"]) for name, entry in content["files"].items())
    else:
        yield from ((stamp.parent / f"part{part}.parquet", entry["sha256"]) for part, entry in content["parts"].items())
