"""`python tests/campaigns/damage.py [NUMBER] [--seed S] [--run FOLDER]`: damage files of a finished run, one at a time.

Every kind of file in data/ and results/ is cut at a random place, has a bit flipped, is deleted, emptied, replaced by
another of its kind, or made unreadable: for root by `setpriv --bounding-set=-dac_override,-dac_read_search python ..`.
Then `gradrank verify` must name it, and the same command must end in the same bytes, or in one message that names the
file; no fold that was whole is trained again.
"""

import os
import random
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from small import Campaign, Project, command, state, unlike

KINDS = (
    "data/raw/*/S*.txt",
    "data/raw/*/fetched.json",
    "data/raw/*/target.json",
    "data/parquet/*/part*.parquet",
    "data/parquet/*/collection.json",
    "data/pairs/*/part*.parquet",
    "data/pairs/*/pairs.json",
    "results/*/*/fold*/model/*",
    "results/*/*/fold*/scores.parquet",
    "results/*/*/fold*/history.parquet",
    "results/*/*/fold*/timing.json",
    "results/*/*/fold*/spec.json",
    "results/*/*/per_query.parquet",
    "results/synthetic_net/tables/*.csv",
    "results/synthetic_net/tables/*.md",
    "results/synthetic_net/summary.json",
    "results/synthetic_net/summary.md",
    "results/synthetic_net/queries.parquet",
    "results/synthetic_net/provenance.json",
    "results/report.html",
    "results/report/*",
    "results/per_query.parquet",
    "results/metrics.json",
    "results/methods.csv",
    "results/tracked.json",
    "results/snapshot/synthetic_net/*/fold*/scores.parquet",
    "results/snapshot/synthetic_net/summary.json",
)
FREELY_DELETED = ("data/raw/", "timing.json")  # what nothing needs any more, or nothing can make again
OWN = ("results/snapshot/",)  # DVC's: a run neither reads nor mends them


def cut(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(max(1, path.stat().st_size)))


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def delete(path: Path, draw: random.Random) -> None:
    path.unlink()


def empty(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"")


def lock(path: Path, draw: random.Random) -> None:
    path.chmod(0)


def replace(path: Path, draw: random.Random) -> None:
    """By another fold's or part's where there is one that differs."""
    others = [each for each in siblings(path) if each.read_bytes() != path.read_bytes()]
    path.write_bytes(draw.choice(others).read_bytes() if others else path.read_bytes()[::-1])


def siblings(path: Path) -> list[Path]:
    """Files of the same name in the other folds, or of the other parts."""
    if fold := next((each for each in path.parents if each.name.startswith("fold")), None):
        return [each for each in fold.parent.glob(f"fold*/{path.relative_to(fold)}") if each != path]
    return [each for each in path.parent.glob(re.sub(r"\d", "*", path.name)) if each != path]


def reads_anything() -> bool:
    """Whether a file's mode keeps nobody from it: so it is for root."""
    with tempfile.NamedTemporaryFile() as file:
        lock(Path(file.name), random.Random())
        return os.access(file.name, os.R_OK)


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "cut": cut,
    "flipped": flip,
    "deleted": delete,
    "emptied": empty,
    "replaced": replace,
} | ({} if reads_anything() else {"unreadable": lock})


def main() -> int:
    campaign = Campaign(__doc__, 100)
    finished = campaign.finished()
    before = state(finished)
    combinations = [(kind, name) for kind in KINDS for name in DAMAGES]
    campaign.draw.shuffle(combinations)
    for trial in range(campaign.number):
        kind, name = combinations[trial % len(combinations)]
        copy = campaign.copy(finished)
        paths = sorted(path for path in copy.root.glob(kind) if path.is_file() and path.name[0] != ".")
        path = campaign.draw.choice(paths)
        DAMAGES[name](path, campaign.draw)
        campaign.counts[name] += 1
        judge(campaign, copy, path.relative_to(copy.root).as_posix(), name, before)
    return campaign.end()


def judge(campaign: Campaign, copy: Project, place: str, name: str, before: dict[str, bytes]) -> None:
    code, told = command(copy, "verify")
    harmless = name == "deleted" and any(part in place for part in (*FREELY_DELETED, "results/"))
    named = code == 1 and (place in told or str(Path(place).parent) in told)
    if "Traceback" in told or not (named or harmless):
        campaign.fault(f"{place} {name}: verify does not name it ({code}): {told[-300:]!r}")
    trained = {path: spec.stat().st_mtime_ns for path, spec in specs(copy).items()}
    code, told = command(copy, "snakemake", "--cores", "2")
    if "Traceback" in told:
        campaign.fault(f"{place} {name}: a traceback: {told[-600:]!r}")
    if name == "unreadable" and (copy.root / place).exists():
        (copy.root / place).chmod(0o644)
    again = {path for path, spec in specs(copy).items() if spec.stat().st_mtime_ns != trained.get(path)}
    if wrongly := sorted(path for path in again if not place.startswith(path)):
        campaign.fault(f"{place} {name}: trained again: {', '.join(wrongly)}")
    expected_missing = harmless and any(part in place for part in FREELY_DELETED)
    differing = [path for path in unlike(before, state(copy)) if not (expected_missing and path == place)]
    if again:  # the report shows how long training took
        differing = [path for path in differing if not path.startswith("results/report")]
    if place.startswith(OWN):
        differing = [path for path in differing if path != place]
    if code == 0 and differing and place not in told:
        campaign.fault(f"{place} {name}: exit 0, and other bytes: {', '.join(differing)}: {told[-300:]!r}")
    if code != 0 and place not in told:
        campaign.fault(f"{place} {name}: exit {code} without naming it: {told[-600:]!r}")
    campaign.counts["same bytes" if not differing else "a message"] += 1


def specs(project: Project) -> dict[str, Path]:
    return {
        path.parent.relative_to(project.root).as_posix(): path
        for path in project.root.glob("results/*/*/fold*/spec.json")
        if "snapshot" not in path.parts
    }


if __name__ == "__main__":
    sys.exit(main())
