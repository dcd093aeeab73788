"""results/snapshot: the finished run in one folder, for DVC to version: the same bytes wherever it is made.

DVC deletes the outputs of a stage before it runs the stage. Were results/ its output, every `dvc repro` would train
every model again; kept there (`persist`) without Snakemake's records, old metrics would pass for those of new
parameters. So results/ stays Snakemake's, and DVC's output is a copy: each file that the finished targets are made
of, at its place below results/, and in `.records/` what Snakemake knows of how it was made. Both go back together:
Snakemake then finds nothing to train, and still knows what a changed parameter concerns. What differs from machine to
machine and from day to day stays where it was made: timings, the report, and of Snakemake's records when a job ran.
"""

import csv
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from filecmp import cmp
from pathlib import Path
from typing import Any

from gradrank.errors import GradrankError
from gradrank.files import atomic, read_json, sha256, write_json
from gradrank.results import Results

RESULTS, SNAPSHOT = Results().folder, Results().snapshot.folder
METADATA = Path(".snakemake/metadata")
RECORDS = SNAPSHOT / ".records"
WHEN = {"starttime", "endtime", "job_hash"}  # of a record: what another run of the same job does not repeat
PLOTTED = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10")  # as far as summary.json has them


def snapshot(records: Iterable[Path], means: Path) -> int:
    """Copy what these provenance.json are about, with Snakemake's records; returns how many outputs.

    means: receives every data set's summary.json as one table, which DVC can plot. Works in the current folder, like
    Snakemake. Raises GradrankError for a provenance.json that Snakemake did not make here.
    """
    for path in records:
        if not record(path).is_file():
            raise GradrankError(f"{path}: nothing finished here; run `snakemake --cores 2` first")
    found = _made_of(records)
    partial = SNAPSHOT.with_name(".snapshot.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for path in found:
            write_json(partial / ".records" / f"{path}.json", _read_record(path))
            if RESULTS in path.parents:
                _copy(path, partial / path.relative_to(RESULTS))
        shutil.rmtree(SNAPSHOT, ignore_errors=True)
        partial.rename(SNAPSHOT)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    _write_means(means)
    return len(found)


def restore() -> list[Path]:
    """Put back every output that is missing or differs, with its record; returns those.

    Of data/ only the records: DVC has the files at their place, and a record returns to the very file alone.
    Killed at any moment, no file is left that its record does not describe; the same call completes.
    """
    if not RECORDS.is_dir():
        raise GradrankError(f"{SNAPSHOT}: no snapshot here; `dvc pull` brings it")
    # Without this folder Snakemake takes the records for those of an older version.
    METADATA.with_name("incomplete").mkdir(parents=True, exist_ok=True)
    recorded = [own.provenance()["data"]["files"] for own in Results().snapshot.datasets() if own.recorded]
    data = {Path(path): digest for files in recorded for path, digest in files.items()}
    restored = []
    for kept in sorted(RECORDS.rglob("*.json")):
        path = kept.relative_to(RECORDS).with_suffix("")
        copy = SNAPSHOT / path.relative_to(RESULTS) if RESULTS in path.parents else path
        if record(path).is_file() and _read_record(path) == read_json(kept) and _equal(path, copy):
            continue
        if RESULTS in path.parents:
            _delete(path)
        elif not path.is_file() or data.get(path) != sha256(path):
            continue
        partial = METADATA.with_name("record.partial")  # a record's name may be as long as names can be
        shutil.copyfile(kept, partial)
        record(path).parent.mkdir(parents=True, exist_ok=True)
        partial.rename(record(path))
        if RESULTS in path.parents:
            _put(copy, path)
        restored.append(path)
    return restored


def restore_if_empty() -> list[Path]:
    """`restore` where results/ has no trained model but a snapshot, as after `dvc pull` in a fresh clone."""
    if RECORDS.is_dir() and not any(each.folds() for own in Results().datasets() for each in own.methods()):
        return restore()
    return []


def _write_means(out: Path) -> None:
    """A row a data set and method of what is kept."""
    with atomic(out) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", *PLOTTED])
        for own in Results().snapshot.datasets():
            for method, means in own.summary().items() if own.summarised else ():
                writer.writerow([f"{own.name}: {method}", *(means.get(name) for name in PLOTTED)])


def _made_of(targets: Iterable[Path]) -> list[Path]:
    """These targets and all that they are made of, as far as Snakemake made that and it is there."""
    waiting, found = list(targets), set()
    while waiting:
        path = waiting.pop()
        if path not in found and path.exists() and record(path).is_file():
            found.add(path)
            waiting += map(Path, read_json(record(path))["input"])
            if RESULTS in path.parent.parents:
                waiting += path.parent.iterdir()  # what the same job made besides
    return sorted(found)


def record(path: Path) -> Path:
    """Snakemake's file of an output; a long name is cut into folders."""
    name, most = urlsafe_b64encode(str(path).encode()).decode(), 254
    pieces = [name[start : start + most] for start in range(0, len(name), most)]
    return METADATA.joinpath(*(f"@{piece}" for piece in pieces[:-1]), pieces[-1])


def _read_record(path: Path) -> dict[str, Any]:
    """An output's record without WHEN."""
    return {key: value for key, value in read_json(record(path)).items() if key not in WHEN}


def _equal(path: Path, copy: Path) -> bool:
    """Whether two files, or all files of two folders, hold the same."""
    if path.is_dir() and copy.is_dir():
        names = {each.name for folder in (path, copy) for each in folder.iterdir()}
        return all(_equal(path / name, copy / name) for name in names)
    return path.is_file() and copy.is_file() and cmp(path, copy, shallow=False)


def _put(copy: Path, path: Path) -> None:
    """A file or folder of the snapshot at its place, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    _delete(partial)  # left by a call that was killed
    try:
        _copy(copy, partial)
        partial.rename(path)
    finally:
        _delete(partial)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
