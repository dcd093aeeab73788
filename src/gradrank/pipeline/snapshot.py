"""results/snapshot: the finished study in one folder, for DVC to version.

DVC deletes the outputs of a stage before it runs the stage. Were results/ its output, every `dvc repro` would train
every model again; kept there (`persist`) without Snakemake's records, old metrics would pass for those of new
parameters. So results/ stays Snakemake's, and DVC's output is a copy: each file that the finished targets are made
of, at its place below results/, and in `.records/` what Snakemake knows of how it was made. Both go back together:
Snakemake then finds nothing to do, and still knows what a changed parameter concerns.
"""

import csv
import os
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from filecmp import cmp
from pathlib import Path

from gradrank.errors import GradrankError
from gradrank.files import atomic, read_json, sha256
from gradrank.results import Results

RESULTS, SNAPSHOT = Results().folder, Results().snapshot.folder
METADATA = Path(".snakemake/metadata")
RECORDS = SNAPSHOT / ".records"
PLOTTED = ("ndcg@1", "ndcg@10", "mean_ndcg", "map", "p@10")  # as far as summary.json has them


def keep() -> int:
    """Copy what the targets in results/ are made of, with Snakemake's records; returns how many outputs.

    Works in the current folder, like Snakemake. Raises GradrankError where nothing is finished.
    """
    found = _made_of(RESULTS.iterdir() if RESULTS.is_dir() else ())
    if not any(own.provenance_path in found for own in Results().datasets()):
        raise GradrankError("results: nothing finished here; run `snakemake --cores 2` first")
    partial = SNAPSHOT.with_name(".snapshot.partial")
    shutil.rmtree(partial, ignore_errors=True)
    for path in found:
        record = partial / ".records" / f"{path}.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_record(path), record)
        if RESULTS in path.parents:
            _copy(path, partial / path.relative_to(RESULTS))
    shutil.rmtree(SNAPSHOT, ignore_errors=True)
    partial.rename(SNAPSHOT)
    return len(found)


def restore() -> list[Path]:
    """Put back every output that is missing or differs, with its record; returns those.

    Of data/ only the records: DVC has the files at their place, and a record returns to the very file alone.
    tracked.json stays away where there is no MLflow store that it could speak of.
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
        if _equal(_record(path), kept) and _equal(path, copy):
            continue
        if RESULTS in path.parents:
            if path == Results().tracked_path and not _has_store():
                continue
            _delete(path)
        elif not path.is_file() or data.get(path) != sha256(path):
            continue
        partial = METADATA.with_name("record.partial")  # a record's name may be as long as names can be
        shutil.copyfile(kept, partial)
        _record(path).parent.mkdir(parents=True, exist_ok=True)
        partial.rename(_record(path))
        if RESULTS in path.parents:
            partial = path.with_name(f".{path.name}.partial")
            _delete(partial)  # left by a call that was killed
            _copy(copy, partial)
            partial.rename(path)
        restored.append(path)
    return restored


def restore_if_empty() -> list[Path]:
    """`restore` where results/ has no trained model but a snapshot, as after `dvc pull` in a fresh clone."""
    if RECORDS.is_dir() and not any(each.folds() for own in Results().datasets() for each in own.methods()):
        return restore()
    return []


def write_means(out: Path) -> None:
    """The kept data sets' summary.json as one table, which DVC can plot: a row a data set and method."""
    with atomic(out) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", *PLOTTED])
        for own in Results().snapshot.datasets():
            for method, means in own.summary().items() if own.summarised else ():
                writer.writerow([f"{own.name}: {method}", *(means.get(name) for name in PLOTTED)])


def _made_of(targets: Iterable[Path]) -> list[Path]:
    """Those targets that Snakemake made, and all that they are made of, as far as it made that and it is there."""
    waiting, found = list(targets), set()
    while waiting:
        path = waiting.pop()
        if path not in found and path.exists() and _record(path).is_file():
            found.add(path)
            waiting += map(Path, read_json(_record(path))["input"])
            if RESULTS in path.parent.parents:
                waiting += path.parent.iterdir()  # what the same job made besides
    return sorted(found)


def _record(path: Path) -> Path:
    """Snakemake's file of an output; a long name is cut into folders."""
    name, most = urlsafe_b64encode(str(path).encode()).decode(), 254
    pieces = [name[start : start + most] for start in range(0, len(name), most)]
    return METADATA.joinpath(*(f"@{piece}" for piece in pieces[:-1]), pieces[-1])


def _equal(path: Path, copy: Path) -> bool:
    """Whether two files, or all files of two folders, hold the same."""
    if path.is_dir() and copy.is_dir():
        names = {each.name for folder in (path, copy) for each in folder.iterdir()}
        return all(_equal(path / name, copy / name) for name in names)
    return path.is_file() and copy.is_file() and cmp(path, copy, shallow=False)


def _has_store() -> bool:
    return bool(os.environ.get("MLFLOW_TRACKING_URI")) or Path("mlflow.db").is_file()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
