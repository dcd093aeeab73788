"""The stamps below data/ and results/ compared with the files that they name; what does not match is removed."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256
from gradrank.base.results import EVALUATION, JOBS, PAGE, PROVENANCE, RUN, SPEC, read_job
from gradrank.base.stamps import OTHER_VERSION, mismatches, read_sealed
from gradrank.data.part_files import COLLECTION, PAIRS

FETCHED = "fetched.json"
RESULT_STAMPS = (SPEC, EVALUATION, PROVENANCE, RUN)
DATA_STAMPS = (COLLECTION, PAIRS, FETCHED)
IN_GIT = ("summary.json", "summary.md", "queries.parquet", "numbers.json", "page.md", "choices.json", "metrics.json")


class Mismatch(NamedTuple):
    """A file that is not what the stamp of its folder says."""

    stamp: Path
    path: Path
    reason: str


def stamps(results: Path, data: Path) -> list[Path]:
    """Return every stamp. data: the folder that holds raw/, parquet/ and pairs/."""
    found = [(data, path) for name in DATA_STAMPS for path in data.glob(f"*/*/{name}")]
    found += [(results, path) for name in RESULT_STAMPS for path in results.rglob(name)]
    alone = [*results.glob("studies/**/jobs/*.json"), *results.glob(f"studies/**/{PAGE}")]  # each its own stamp
    found += [(results, path) for path in alone]
    return sorted(path for root, path in found if not _is_hidden(path.relative_to(root)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def audit(stamp: Path) -> Iterator[Mismatch]:
    """Yield the mismatches of one stamp.

    Files that are not in git may be missing all together, as in a fresh clone; so may raw text, which nothing needs
    once it is parsed.
    """
    if stamp.name in DATA_STAMPS:
        found = [Mismatch(stamp, *each) for each in _data_mismatches(stamp)]
        yield from (each for each in found if stamp.name != FETCHED or each.reason != "missing")
        return
    if stamp.parent.name == JOBS or stamp.name == PAGE:
        try:
            read_job(stamp) if stamp.parent.name == JOBS else read_sealed(stamp)
        except GradrankError:
            yield Mismatch(stamp, stamp, "damaged or edited")
        return
    found = [Mismatch(stamp, *each) for each in mismatches(stamp)]
    absent = [each for each in found if each.reason == "missing" and each.path.name not in IN_GIT]
    if stamp.name in (PROVENANCE, RUN) and len(absent) == _others(stamp):
        found = [each for each in found if each not in absent]
    yield from found


def repair(found: list[Mismatch], results: Path, data: Path) -> Iterator[Path]:
    """Remove every stamp with a mismatch, the damaged files, and what killed jobs left; yield what was removed.

    Snakemake then makes these folders again, because its targets ask for every stamp. A record of another version
    stays, since nothing is damaged. With stored data, an incomplete raw text goes too: it must be parsed again.
    """
    found = [each for each in found if (each.stamp.name, each.reason) != (PROVENANCE, OTHER_VERSION)]
    parsed = [data / "raw" / each.stamp.parent.name / FETCHED for each in found if each.stamp.name == COLLECTION]
    found += [Mismatch(stamp, *each) for stamp in parsed if stamp.is_file() for each in _data_mismatches(stamp)]
    damaged = [each.path for each in found if each.reason != "missing"]
    named = dict.fromkeys([*damaged, *(each.stamp for each in found)])
    partial = (path for root in (results, data) for path in root.rglob(".*.partial"))
    for path in [*named, *partial]:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        else:
            continue
        yield path


def _others(stamp: Path) -> int:
    """Return how many files a stamp names that are not in git; -1 if it names none."""
    try:
        return sum(Path(name).name not in IN_GIT for name in read_json(stamp)["files"]) or -1
    except (GradrankError, KeyError, TypeError, AttributeError):
        return -1


def _data_mismatches(stamp: Path) -> Iterator[tuple[Path, str]]:
    try:
        named = dict(_named(stamp, read_sealed(stamp)))
    except (GradrankError, OSError, AttributeError, KeyError, TypeError):
        yield stamp, "damaged"
        return
    for path, digest in named.items():
        if not path.is_file():
            yield path, "missing"
        elif sha256(path) != digest:
            yield path, "damaged or edited"


def _named(stamp: Path, said: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    if stamp.name == FETCHED:
        yield from ((stamp.parent / name, own["sha256"]) for name, own in said["files"].items())
    else:
        yield from ((stamp.parent / f"part{part}.parquet", own["sha256"]) for part, own in said["parts"].items())
