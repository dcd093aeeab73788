"""`python tests/system/damage.py [NUMBER] [--seed S] [--run FOLDER]`: damage a random file of a finished run.

A file of data/ or results/ is cut at a random place, deleted, emptied or replaced by another file of its kind, or a bit
of it is flipped. Then `gradrank verify` must name the file or its folder, unless Snakemake would make the file again.
After `verify --repair --yes`, a run must restore the same bytes. A stamp that is damaged beyond recognition is first
deleted, as the repair advises.
"""

import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from campaign import Campaign

from project import Project, differing

KINDS = (
    "data/parquet/*/part*.parquet",
    "data/parquet/*/collection.json",
    "data/pairs/*/part*.parquet",
    "data/pairs/*/pairs.json",
    "results/*/methods/*/fold*/model/*.*",
    "results/*/methods/*/fold*/scores.parquet",
    "results/*/methods/*/fold*/history.parquet",
    "results/*/methods/*/fold*/spec.json",
    "results/*/methods/*/per_query.parquet",
    "results/*/methods/*/evaluation.json",
    "results/mine/tables/*.csv",
    "results/mine/summary.json",
    "results/mine/summary.md",
    "results/mine/queries.parquet",
    "results/mine/provenance.json",
    "results/per_query.parquet",
    "results/metrics.json",
    "results/methods.csv",
    "results/run.json",
)


def cut(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(max(1, path.stat().st_size)))


def flip(path: Path, draw: random.Random) -> None:
    """Flip a random bit; in a stamp, a bit of a checksum, because other values may remain valid."""
    content = bytearray(path.read_bytes())
    start = content.find(b'"files"') if path.suffix == ".json" else 0
    at = content.find(b'": "', start) + 4 if start > 0 else draw.randrange(len(content))
    content[at] ^= 1 << draw.randrange(4 if start > 0 else 8)
    path.write_bytes(content)


def delete(path: Path, draw: random.Random) -> None:
    path.unlink()


def empty(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"")


def replace(path: Path, draw: random.Random) -> None:
    """Replace a file by a different one of its kind, or else by its reversed bytes. The file gets an older time."""
    siblings = path.parents[2].glob(re.sub(r"\d", "*", str(Path(*path.parts[-3:]))))
    others = [sibling for sibling in siblings if sibling.is_file() and sibling.read_bytes() != path.read_bytes()]
    path.write_bytes(draw.choice(sorted(others)).read_bytes() if others else path.read_bytes()[::-1])
    os.utime(path, (1, 1))


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (cut, flip, delete, empty, replace)


def main() -> int:
    campaign = Campaign(__doc__, 100)
    finished = campaign.finished()
    before = finished.files()
    combinations = [(kind, damage) for kind in KINDS for damage in DAMAGES]
    campaign.draw.shuffle(combinations)
    for trial in range(campaign.number):
        kind, damage = combinations[trial % len(combinations)]
        copy = campaign.copy(finished)
        path = campaign.draw.choice(
            sorted(file for file in copy.root.glob(kind) if file.is_file() and file.name[0] != ".")
        )
        damage(path, campaign.draw)
        campaign.counts[damage.__name__] += 1
        judge(campaign, copy, path.relative_to(copy.root).as_posix(), damage.__name__, before)
    return campaign.end()


def judge(campaign: Campaign, copy: Project, place: str, name: str, before: dict[str, bytes]) -> None:
    """Record a fault unless verify names the damaged file and a run after the repair restores all bytes."""
    done = copy.run("gradrank", "verify")
    output = done.stdout + done.stderr
    named = done.returncode == 1 and (place in output or str(Path(place).parent) in output)
    remade = name == "delete" and place in copy.plan()
    if "Traceback" in output or not (named or remade):
        campaign.fault(f"{place}, {name}: verify does not name it (exit {done.returncode}): {output[-300:]!r}")
    done = copy.run("gradrank", "verify", "--repair", "--yes")
    if f"left     {place}: " in done.stdout:
        (copy.root / place).unlink()
        campaign.counts["not recognised"] += 1
    done = copy.run("snakemake", "--cores", "2")
    output = done.stdout + done.stderr
    if done.returncode != 0 or "Traceback" in output:
        campaign.fault(f"{place}, {name}: exit {done.returncode} after the repair: {output[-600:]!r}")
    elif unlike := differing(before, copy.files()):
        campaign.fault(f"{place}, {name}: different bytes: {', '.join(unlike)}")
    else:
        campaign.counts["same bytes"] += 1


if __name__ == "__main__":
    sys.exit(main())
