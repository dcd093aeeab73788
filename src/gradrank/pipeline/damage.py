"""What is here and is not what was made: stored data, and all that a run leaves beside its trained folds.

Of data a description names every file's hash: collection.json, pairs.json, fetched.json. The descriptions themselves,
summaries, tables, pages and the report are remembered at the end of a run, in REMEMBERED: size, time and hash of each.
At the start of the next one a file of another size or time is hashed, and one that has changed is made again before
anything is planned: what was made of it is then up to date, and no model is trained for it. (gaps.py is about folds.)
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from gradrank.data.stored import COLLECTION, PAIRS
from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256, write_json
from gradrank.pipeline.snapshot import record
from gradrank.results import PER_QUERY, PROVENANCE, SNAPSHOT, SPEC, STUDIES, TIMING, Fold, Results

REMEMBERED = Path(".snakemake/gradrank.made.json")
RESULTS, DATA = Path("results"), Path("data")
FETCHED = "fetched.json"
DESCRIPTIONS = {"raw": FETCHED, "parquet": COLLECTION, "pairs": PAIRS}

NEEDED = (
    COLLECTION,
    PAIRS,
)  # of which results are made: where one is gone, it is made again before anything else
ALONE = (SPEC, TIMING, PROVENANCE)  # which are not made again for themselves

Made = tuple[int, int, str]  # size, time of the last change in ns, SHA-256


def remember() -> None:
    """Note what lies here beside folds and data, as its job left it; what is as it was is not read again."""
    known = remembered()
    now = {str(path): made for path, made in known.items() if _wanting(path)}
    for path in _files():
        then, stat = known.get(path), path.stat()
        if then is None or (then[:2] != (stat.st_size, stat.st_mtime_ns) and _made_since(path)):
            then = (stat.st_size, stat.st_mtime_ns, sha256(path))
        now[str(path)] = then
    write_json(REMEMBERED, now)


def remembered() -> dict[Path, Made]:
    """What the last finished run left, as far as it is known."""
    try:
        return {Path(path): tuple(made) for path, made in read_json(REMEMBERED).items()}
    except (OSError, GradrankError, AttributeError, TypeError):  # none yet, or itself damaged
        return {}


def to_mend(names: Collection[str]) -> dict[Path, Path]:
    """Of data sets and studies of these names, and of the report: what is damaged, and what to make for it."""
    found = dict.fromkeys([*_damaged_data(), *changed()])
    targets = {path: _target(path) for path in found if _owner(path) in (None, *names)}
    return {path: target for path, target in targets.items() if target and path.name not in ALONE}


def besides_records(root: Results) -> Iterator[tuple[Path, str]]:
    """What holds something else than when it was made and is in no record of `root`, with its remedy; and what is in
    those of its snapshot. Every file is hashed, whatever its size and time.
    """
    recorded = [own for own in (*root.datasets(), *root.studies().values()) if own.recorded]
    named = {own.folder / path for own in recorded for path in own.provenance()["results"]}
    named |= {Path(path) for own in recorded for path in own.provenance().get("data", {}).get("files", ())}
    for path, (*_, digest) in remembered().items():
        if path not in named and (_wanting(path) or (path.exists() and _differs(path, digest))):
            yield path, "snakemake --cores 2"
    kept = root.snapshot
    for own in (*kept.datasets(), *kept.studies().values()):
        for name, digest in own.provenance()["results"].items() if own.recorded else ():
            if _differs(own.folder / name, digest):
                yield own.folder / name, f"rm -r {kept.folder} && snakemake --cores 2"


def put_aside() -> list[str]:
    """Remove what no job can make again as it stands, and of damaged text what would pass for whole; a line each."""
    lines = []
    for path in changed():
        if path.name == SPEC and path.is_file():
            path.unlink()
            lines.append(f"{path}: damaged or edited; the fold is trained again")
        elif path.name == TIMING:
            path.unlink()
            lines.append(f"{path}: damaged, and removed: nothing can measure it again")
        elif path.name == PROVENANCE and _readable(path):
            lines.append(
                f"{path}: not what the last run wrote; `gradrank verify` says whose results these are"
            )
        elif path.name == PROVENANCE:
            path.unlink()
            lines.append(f"{path}: damaged; it is written again")
    for path in _damaged_data():
        if path.parts[1] == "raw" and path.name != FETCHED and path.is_file():
            path.unlink()
    return lines


def _files() -> Iterator[Path]:
    for kind in DESCRIPTIONS:
        yield from (path for path in (DATA / kind).glob("*/*.json") if path.is_file())
    for folder, below, names in os.walk(RESULTS):
        at = Path(folder)
        below[:] = sorted(each for each in below if each[0] != "." and at / each != RESULTS / SNAPSHOT)
        own = (at / name for name in sorted(names) if name[0] != ".")
        yield from (path for path in own if path.name in ALONE or Fold.holding(path) is None)


def changed() -> Iterator[Path]:
    """What was remembered and holds something else now, unless a run that did not end has made it anew.

    Of what is gone only what Snakemake would not miss.
    """
    known = remembered()
    for path, (size, time, digest) in known.items():
        if not path.exists():
            if _wanting(path):
                yield path
            continue
        stat = path.stat()
        if (
            (stat.st_size, stat.st_mtime_ns) != (size, time)
            and not _made_since(path)
            and _differs(path, digest)
        ):
            yield path


def _damaged_data() -> Iterator[Path]:
    """The files that are not what their description names, and those of its parts that are gone."""
    for kind, name in DESCRIPTIONS.items():
        for description in sorted((DATA / kind).glob(f"*/{name}")):
            try:
                yield from _unlike(description, dict(_named(description)))
            except (GradrankError, OSError, AttributeError, KeyError, TypeError):
                yield description


def _named(description: Path) -> Iterator[tuple[Path, str]]:
    """Each file that a description names, and its hash."""
    said = read_json(description)
    if description.name == FETCHED:
        yield from ((description.parent / name, own["sha256"]) for name, own in said["files"].items())
    else:
        yield from (
            (description.parent / f"part{part}.parquet", own["sha256"]) for part, own in said["parts"].items()
        )


def _unlike(description: Path, named: dict[Path, str]) -> Iterator[Path]:
    written = description.stat().st_mtime_ns
    for path, digest in named.items():
        if not path.exists():
            if description.name != FETCHED:  # text that is not needed any more may be removed to save space
                yield path
        elif path.stat().st_mtime_ns > written and _differs(path, digest):
            yield path


def _differs(path: Path, digest: str) -> bool:
    try:
        return sha256(path) != digest
    except OSError:  # nobody may read it, or a folder lies there
        return True


def _readable(path: Path) -> bool:
    try:
        return bool(read_json(path))
    except (GradrankError, OSError):
        return False


def _target(path: Path) -> Path | None:
    """What Snakemake is to make so that a file is made again: its own output or the folder that is one."""
    if path.parts[0] == DATA.name:
        return path.parent / DESCRIPTIONS[path.parts[1]]
    return next((each for each in (path, *path.parents) if record(each).is_file()), None)


def _wanting(path: Path) -> bool:
    """Whether a remembered file is gone that Snakemake would not miss: it looks at what a target is made of, not at
    what else a job wrote, nor into a folder. Who deletes a whole folder, or a method, does not want that back.
    """
    if path.exists() or _made_since(path):
        return False
    alone = path.parent.is_dir() and path.name not in (PER_QUERY, *ALONE)
    return path.name in NEEDED or (alone and path.parent.name != "jobs" and _target(path) is not None)


def _made_since(path: Path) -> bool:
    """Whether Snakemake has made a file since the last finished run."""
    fold = Fold.holding(path)
    target = fold.spec_path if fold else _target(path)
    made = record(target) if target else None
    return made is not None and made.is_file() and made.stat().st_mtime_ns > REMEMBERED.stat().st_mtime_ns


def _owner(path: Path) -> str | None:
    """The data set or study that a file belongs to; None of the report and what else covers several."""
    if path.parts[0] == DATA.name:
        return path.parts[2]
    if path.parts[1] == STUDIES:
        return path.parts[2]
    return path.parts[1] if len(path.parts) > 2 and path.parts[1] != "report" else None
