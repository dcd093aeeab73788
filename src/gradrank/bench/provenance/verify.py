"""Comparison of results/ with a checkout.

All files are compared with their checksum files (stamps). All records (provenance.json) are compared with params.yaml
and the code. A fresh clone has only the files that are in git: the record of each data set and study, and the summary
or page. For methods without files, only the record is compared, and a note gives the number of these methods.
"""

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import form, refusal
from gradrank.base.stamps import DAMAGED, MISSING, SCHEMA, fault_of_name, read_sealed
from gradrank.base.validation import flat
from gradrank.bench.config.code_digest import PACKAGE
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import settings_path
from gradrank.bench.provenance.audit import FETCHED, FOREIGN, advice, audit, is_stamp, stamps
from gradrank.bench.provenance.record_checks import SHOWING, Record, fault_of_record
from gradrank.bench.provenance.records import (
    GIVEN_SHA256,
    dataset_settings,
    results_digest,
    study_settings,
    values_digest,
)
from gradrank.bench.provenance.study_records import NO_JOBS, VALUES, contest_digest, jobs_digest
from gradrank.bench.results import DatasetFolder, Results, StudyFolder
from gradrank.bench.tuning.folders import Contest
from gradrank.data.file_forms import blocks
from gradrank.data.layout import find_layout
from gradrank.data.part_files import COLLECTION, PAIRS


def sha256_of_text(path: Path, files: list[str] | None = None) -> str | None:
    """Return the SHA-256 of the concatenated files of a collection; None if `path` is not a collection.

    files: the key `files` of collection.json, if it has one. None is also returned if a name in it is not a path below
    `path`.
    """
    if files is not None:
        if not isinstance(files, list) or any(map(fault_of_name, files)):
            return None
        sources = [path / file for file in files]
    elif path.is_file():
        sources = [path]
    else:
        try:
            layout = find_layout(path)
        except GradrankError:
            return None
        sources = layout.files if layout.rotation is None else [*layout.rotation.sources.values()]
    if not all(source.is_file() for source in sources):
        return None
    digest = hashlib.sha256()
    for block in chain.from_iterable(map(blocks, sources)):
        digest.update(block)
    return digest.hexdigest()


RERUN = "run `snakemake --cores 2 {}` again"
RECHECK = "run `gradrank verify --recheck 1`, which computes a sample again, or run Snakemake again"
REPAIR = "run `gradrank verify --repair`, then Snakemake again"


class Check(NamedTuple):
    """The outcome of one comparison. ok: True if equal, False if different, None for a note. fix: how to repair it."""

    ok: bool | None
    text: str
    fix: str = ""


def verify(settings: RunSettings, results: Path, data: Path) -> Iterator[Check]:
    """Yield the outcomes for every stamp and every record. data: the folder with raw/, parquet/ and pairs/.

    Raises GradrankError if there are no results, or if the imported package is not the one in this checkout.
    """
    if Path("src/gradrank").is_dir() and not PACKAGE.samefile("src/gradrank"):
        raise GradrankError(
            f"{PACKAGE}: the imported gradrank is not the one in this checkout. Fix: run "
            "`.venv/bin/gradrank verify` here"
        )
    root, paths = Results(results), stamps(results, data)
    if not paths:
        raise GradrankError(f"{results}: no results to verify. Fix: run `snakemake --cores 2` first")
    yield from _check_files(paths)
    yield from _check_sources(settings, data)
    changes = CodeChanges()
    for dataset in root.datasets():
        if dataset.recorded:
            yield from _check_record(settings, dataset.name, dataset, root, data, changes)
    for name, study in root.studies().items():
        if study.recorded:
            yield from _check_record(settings, name, study, root, data, changes)
    yield from changes.checks()
    for name in settings.run.datasets:
        if not is_stamp(root.dataset(name).provenance_path):
            yield Check(False, f"{name}: in run.datasets, but without results", RERUN.format(name))


def _check_files(paths: list[Path]) -> Iterator[Check]:
    """Compare all files with their stamps."""
    found = [mismatch for stamp in paths for mismatch in audit(stamp)]
    foreign = [mismatch.path for mismatch in found if mismatch.reason == FOREIGN]
    yield from (Check(None, f"{path}: not a file of gradrank, so it is not checked") for path in foreign)
    wrong = [mismatch for mismatch in found if mismatch.reason != FOREIGN]
    for mismatch in wrong:
        fix = REPAIR if mismatch.reason in (MISSING, DAMAGED) else advice(mismatch)
        yield Check(False, f"{mismatch.path}: {mismatch.reason}", fix)
    if not wrong:
        yield Check(True, f"files: all match their stamps ({len(paths) - len(foreign)} stamps)")


def _check_sources(settings: RunSettings, data: Path) -> Iterator[Check]:
    """Compare the text of each stored data set, and a user's own pairs, with the stored checksums."""
    for folder in sorted((data / "parquet").glob("*/")):
        name, stamp = folder.name, folder / COLLECTION
        content, own, rerun = _read(stamp), settings.datasets.get(name), RERUN.format(name)
        raw = data / "raw" / name
        text = Path(getattr(own, "path", None) or raw)
        is_complete = text.exists() if text != raw else (raw / FETCHED).is_file()
        if content and is_complete and sha256_of_text(text, content.get("files")) != content.get("source_sha256"):
            fix = f"delete {stamp}, then {rerun}"
            yield Check(False, f"{name}: {text} differs from the text that {stamp} was parsed from", fix)
        pairs, given = data / "pairs" / name / PAIRS, getattr(own, "pairs", None)
        if given and pairs.is_file() and (_read(pairs) or {}).get(GIVEN_SHA256) != sha256(given):
            fix = f"delete {pairs}, then {rerun}"
            yield Check(False, f"{name}: {given} differs from the file that {pairs} was made from", fix)


def _read(stamp: Path) -> dict[str, Any] | None:
    try:
        return read_sealed(stamp) if is_stamp(stamp) else None
    except (GradrankError, OSError):
        return None


def _check_record(
    settings: RunSettings,
    name: str,
    folder: DatasetFolder | StudyFolder,
    root: Results,
    data: Path,
    changes: "CodeChanges",
) -> Iterator[Check]:
    """Compare the record of a data set or study with params.yaml, the code, the results and this environment.

    Differences in code are added to `changes`.
    """
    content, rerun = _read(folder.provenance_path), RERUN.format(name if "/" not in name else "")
    if content is None or content.get("schema") != SCHEMA:
        return  # _check_files has reported it
    is_study = isinstance(folder, StudyFolder)
    described = str(settings_path(name)) if is_study else "params.yaml"
    if fault := fault_of_record(content, is_study):
        fix = f"delete {folder.provenance_path}, then {rerun}"
        yield Check(False, f"{name}: {folder.provenance_path}: {fault}, so gradrank did not write this record", fix)
        return
    if is_study and name not in settings.studies:
        yield Check(False, f"{name}: {described} does not exist any more", f"delete {folder.folder}")
        return
    if not is_study and name not in settings.dataset_names():
        yield Check(None, f"{name}: not in params.yaml")
        return
    record = Record(name, folder.provenance_path, content, is_study)
    current = study_settings(settings, name) if is_study else dataset_settings(settings, name)
    is_named = settings.names_models(name)
    yield from _check_settings(name, content["params"], record.methods, current, rerun, is_named, described)
    code = record.current_code(settings)
    if not changes.add(name, record.code(), code):
        yield Check(True, f"{name}: code: {len(code)} stages")
    if is_study:
        yield from _check_page(name, content["read"], root, rerun)
        if jobs_digest(folder) not in (NO_JOBS, content["jobs"]):
            yield Check(False, f"{name}: jobs: the results differ from those on the page", rerun)
    else:
        yield from _check_methods(folder, content, data, rerun)
    for processor in content["processors"]:
        if reason := refusal(processor):
            yield Check(False, f"{name}: instruction set: {reason}", f"delete {folder.folder}, then {rerun}")
        elif processor != form():
            text = f"{name}: computed with {processor}, but this process uses {form()}: last digits may differ"
            yield Check(None, text)
    yield from _check_versions(name, content["versions"])


class CodeChanges:
    """The differences in code of all records, with one line per method and kind of change."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, bool], dict[str, set[str]]] = {}

    def add(self, name: str, recorded: Mapping[str, str], current: Mapping[str, str]) -> bool:
        """Add the differences of a record, and return whether any of them is more than a note."""
        wrong = False
        for key in sorted(key for key in recorded.keys() | current.keys() if recorded.get(key) != current.get(key)):
            stage, _, method = key.partition(" ")
            change = "removed" if key not in current else "changed" if key in recorded else "added"
            is_note = stage in SHOWING and change == "changed"
            wrong = wrong or not is_note
            of_method = self.found.setdefault((method or f"`{stage}`", change, is_note), {})
            of_method.setdefault(stage if method else "", set()).add(name)
        return wrong

    def checks(self) -> Iterator[Check]:
        """Yield one check per method and change, or per stage without methods and change."""
        for (subject, change, is_note), by_stage in sorted(self.found.items()):
            names = ", ".join(sorted({name for of_stage in by_stage.values() for name in of_stage}))
            stages = ", ".join(f"`{stage}`" for stage in sorted(by_stage) if stage)
            text = f"code of {subject}{f' ({stages})' if stages else ''}: {change}: {names}"
            if is_note:
                note = "the tables and pages are those of the former code; the values of the methods are not affected"
                yield Check(None, f"{text}; {note}")
            else:
                yield Check(False, text, RECHECK if change == "changed" else RERUN.format("TARGET"))


def _check_settings(
    name: str,
    recorded: Mapping[str, Any],
    methods: Mapping[str, Any],
    current: Mapping[str, Any],
    rerun: str,
    is_named: bool,
    described: str,
) -> Iterator[Check]:
    """Compare the settings in a record with the current settings.

    recorded: the key `params` of the record. methods: dict from method to its entry in the record. is_named: whether
    each method is named. A method that was added to gradrank since, and that only the word `all` requests, is a note.
    described: the file with the current settings.
    """
    models, wrong = current["models"] | current.get("members", {}), []
    for model in sorted(methods.keys() - models.keys()):
        wrong.append(f"models.{model}: no longer in {described}")
    for model in sorted(models.keys() - methods.keys()):
        if is_named:
            wrong.append(f"models.{model}: not trained")
        else:
            yield Check(None, f"{name}: models.{model}: not trained yet")
    for model in sorted(methods.keys() & models.keys()):
        if methods[model]["digest"] != models[model]["digest"] or methods[model]["model"] != models[model]["model"]:
            old, new = flat(methods[model].get("params", {})), flat(models[model]["params"])
            changed = [f"models.{model}.{change}" for change in _changes(old, new, "default")]
            wrong += changed or [f"models.{model}: the parameters differ"]
    old, new = flat(recorded), flat({key: value for key, value in current.items() if key not in ("models", "members")})
    wrong += _changes(old, new, None)
    yield from (Check(False, f"{name}: {fault}", rerun) for fault in wrong)
    if not wrong:
        yield Check(True, f"{name}: parameters")


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], default: str | None) -> list[str]:
    """Return one line per key whose values differ. default: the value that is shown for a missing key."""
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [f"{key}: was {old.get(key, default)}, is now {new.get(key, default)}" for key in changed]


def _check_methods(dataset: DatasetFolder, record: Mapping[str, Any], data: Path, rerun: str) -> Iterator[Check]:
    """Compare the stored data and the methods' results of a data set with its record."""
    name = dataset.name
    stored = {COLLECTION: data / "parquet" / name / COLLECTION, PAIRS: data / "pairs" / name / PAIRS}
    for kind, path in stored.items():
        if path.is_file() and kind in record["data"] and sha256(path) != record["data"][kind]:
            yield Check(False, f"{name}: {path}: differs from the data that the results were computed from", rerun)
    absent = []
    for model, entry in record["methods"].items():
        method = dataset.method(model)
        if not method.begun:
            absent.append(model)
            continue
        try:
            is_equal = (results_digest(method), values_digest(method)) == (entry["results"], entry["values"])
        except (GradrankError, KeyError):
            is_equal = False
        if not is_equal:
            yield Check(False, f"{name}: {method.folder}: differs from the recorded results", rerun)
    if absent:
        yield Check(None, _absent(name, len(absent)))


def _check_page(name: str, recorded: Mapping[str, str], root: Results, rerun: str) -> Iterator[Check]:
    """Compare the values per query on a study's page with the records of the data sets and the files of the methods.

    recorded: dict from data set and method to the digest of its values per query.
    """
    absent = 0
    for key, digest in recorded.items():
        digests = _values_digests(name, key, root)
        absent += not digests
        if digests - {digest}:
            yield Check(False, f"{name}: {key}: differs from the results that the page was made from", rerun)
    if absent:
        yield Check(None, _absent(name, absent))


def _absent(name: str, count: int) -> str:
    return f"{name}: {count} methods have no files here, because models and scores are not in git"


def _values_digests(study: str, key: str, root: Results) -> set[str]:
    """Return the digests of the current values per query of a method on a study's page.

    One digest is in the record of the data set, and one belongs to the file of the method. If both are equal, the set
    has one element. If neither exists, the set is empty. key: `<dataset>/<method>` or `values/<dataset>/<method>`.
    """
    if key.startswith(f"{VALUES}/"):
        return {digest} if (digest := contest_digest(Contest(root.study(study).folder), *key.split("/")[1:])) else set()
    name, _, model = key.partition("/")
    dataset, digests = root.dataset(name), set()
    record = _read(dataset.provenance_path)
    entry = {} if record is None or fault_of_record(record, False) else record["methods"].get(model)
    if entry:
        digests.add(entry["values"])
    method = dataset.method(model)
    try:
        return digests | ({values_digest(method)} if method.evaluated else set())
    except (GradrankError, KeyError):
        return {"damaged"}


def _check_versions(name: str, recorded: Mapping[str, str]) -> Iterator[Check]:
    """Yield a note for each package whose installed version differs from the recorded one."""
    for package, old in recorded.items():
        try:
            new = version(package).partition("+")[0]  # without a suffix such as +cpu
        except PackageNotFoundError:
            continue
        if new != old:
            text = f"{name}: computed with {package} {old}, but {new} is installed: last digits may differ"
            yield Check(None, text)
