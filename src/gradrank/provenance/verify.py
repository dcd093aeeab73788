"""Whether results/ belongs to this checkout: every stamp and every record compared with what lies here now.

A fresh clone has of each data set and study only what is in git: its record, and its summary or page. They are compared
with the checkout's parameters and code; a note says that trained models and scores are not here.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import form, refusal
from gradrank.base.results import DatasetFolder, Recorded, Results
from gradrank.base.stamps import OTHER_VERSION, SCHEMA, read_sealed
from gradrank.base.validation import flat
from gradrank.config.code_digest import PACKAGE, code_digest
from gradrank.config.params import RunSettings
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.provenance.audit import FETCHED, audit, stamps
from gradrank.provenance.code import training_code
from gradrank.provenance.records import STAGES, results_digest, values_digest
from gradrank.provenance.settings import DIGITS, dataset_settings, study_settings
from gradrank.provenance.study_records import NO_JOBS, TUNED, jobs_digest, study_code
from gradrank.provenance.text_digest import sha256_of_text
from gradrank.tuning.folders import Contest

RERUN = "run `snakemake --cores 2 {}` again"
REPAIR = "run `gradrank verify --repair`, then Snakemake again"


class Check(NamedTuple):
    """One line. ok: whether it matches; None says what is worth knowing but proves nothing. fix: how to repair it."""

    ok: bool | None
    text: str
    fix: str = ""


def verify(params: RunSettings, results: Path, data: Path) -> Iterator[Check]:
    """Yield a check per part of every stamp and record. data: the folder that holds raw/, parquet/ and pairs/.

    Raises GradrankError if there is nothing to check, or if the package that runs is not this checkout's.
    """
    if Path("src/gradrank").is_dir() and not PACKAGE.samefile("src/gradrank"):
        raise GradrankError(
            f"{PACKAGE}: this gradrank is not the one of this checkout. Fix: run `.venv/bin/gradrank verify` here"
        )
    root, found = Results(results), stamps(results, data)
    if not found:
        raise GradrankError(f"{results}: no results to verify. Fix: run `snakemake --cores 2` first")
    yield from _files(found)
    yield from _user_data(params, data)
    for own in root.datasets():
        if own.recorded:
            yield from _record(params, own.name, own, root, data)
    for name, study in root.studies().items():
        if study.recorded:
            yield from _record(params, name, study, root, data)
    for name in params.run.datasets:
        if not root.dataset(name).recorded:
            yield Check(False, f"{name}: in run.datasets, but without results", RERUN.format(name))


def _files(found: list[Path]) -> Iterator[Check]:
    wrong = [mismatch for stamp in found for mismatch in audit(stamp)]
    for each in wrong:
        restore = f"restore {each.path} with git, or delete it and run Snakemake again"
        yield Check(False, f"{each.path}: {each.reason}", restore if each.reason == OTHER_VERSION else REPAIR)
    if not wrong:
        yield Check(True, f"files: as {len(found)} stamps name them")


def _user_data(params: RunSettings, data: Path) -> Iterator[Check]:
    """Compare the text and the pairs of each stored data set with what was parsed."""
    for folder in sorted((data / "parquet").glob("*/")):
        name, stamp = folder.name, folder / COLLECTION
        said, own, again = _read(stamp), params.datasets.get(name), RERUN.format(name)
        raw = data / "raw" / name
        text = Path(getattr(own, "path", None) or raw)
        whole = text.exists() if text != raw else (raw / FETCHED).is_file()
        if said and whole and sha256_of_text(text) != said.get("source_sha256"):
            yield Check(
                False, f"{name}: {text} is not the text that {stamp} was made of", f"delete {stamp}, then {again}"
            )
        pairs, given = data / "pairs" / name / PAIRS, getattr(own, "pairs", None)
        if given and pairs.is_file() and (_read(pairs) or {}).get("given_sha256") != sha256(given):
            yield Check(
                False, f"{name}: {given} is not the file that {pairs} was made of", f"delete {pairs}, then {again}"
            )


def _read(stamp: Path) -> dict[str, Any] | None:
    try:
        return read_sealed(stamp)
    except (GradrankError, OSError):
        return None


def _record(params: RunSettings, name: str, own: Recorded, root: Results, data: Path) -> Iterator[Check]:
    record, again = (_read(own.provenance_path), RERUN.format(name if "/" not in name else ""))
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        return  # as a stamp it was named above
    is_study = not isinstance(own, DatasetFolder)
    if is_study and name not in params.studies:
        yield Check(False, f"{name}: no longer in params.yaml", f"delete {own.folder}")
        return
    if not is_study and name not in params.dataset_names():
        yield Check(None, f"{name}: not in params.yaml")
        return
    settings = study_settings(params, name) if is_study else dataset_settings(params, name)
    methods = record["models" if is_study else "methods"]
    yield from _settings(name, record["params"], methods, settings, again)
    code = study_code(params, name) if is_study else {stage: code_digest(stage) for stage in STAGES}
    yield from _code(name, record["code"] | _method_code(methods), code | _code_now(params, methods), again)
    if is_study:
        yield from _read_results(name, record["read"], root, again)
        if (found := jobs_digest(own)) not in (NO_JOBS, record["jobs"]):
            yield Check(False, f"{name}: jobs: {found}, not what the page was made of", again)
    else:
        yield from _methods(own, record, data, again)
    for made in record["processors"]:
        if reason := refusal(made):
            yield Check(False, f"{name}: instruction set: {reason}", f"delete {own.folder}, then {again}")
        elif made != form():
            yield Check(None, f"{name}: made with {made}, here is {form()}: last digits may differ")
    yield from _versions(name, record["versions"])


def _settings(
    name: str, then: Mapping[str, Any], methods: Mapping[str, Any], now: Mapping[str, Any], again: str
) -> Iterator[Check]:
    wanted, wrong = now["models"], []
    for model in sorted(methods.keys() ^ wanted.keys()):
        wrong.append(f"models.{model}: {'not trained' if model in wanted else 'no longer asked for'}")
    for model in sorted(methods.keys() & wanted.keys()):
        if methods[model]["digest"] != wanted[model]["digest"] or methods[model]["model"] != wanted[model]["model"]:
            old, new = flat(methods[model].get("params", {})), flat(wanted[model]["params"])
            changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
            wrong += [
                f"models.{model}.{key}: {old.get(key, 'default')} then, {new.get(key, 'default')} now"
                for key in changed
            ] or [f"models.{model}: another default"]
    old, new = flat(then), flat({key: value for key, value in now.items() if key != "models"})
    wrong += [
        f"{key}: {old.get(key)} then, {new.get(key)} now"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    yield from (Check(False, f"{name}: {each}", again) for each in wrong)
    if not wrong:
        yield Check(True, f"{name}: parameters")


def _method_code(methods: Mapping[str, Any]) -> dict[str, str]:
    return {f"train {name}": each["train"] for name, each in methods.items() if "train" in each}


def _code_now(params: RunSettings, methods: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of today's code for the methods of a record that params.yaml still has."""
    known = {name: params.models[name] for name, each in methods.items() if name in params.models and "train" in each}
    return {f"train {name}": training_code(own.model, own.params) for name, own in known.items()}


def _code(name: str, then: Mapping[str, str], now: Mapping[str, str], again: str) -> Iterator[Check]:
    changed = sorted(stage for stage in then.keys() | now.keys() if then.get(stage) != now.get(stage))
    for stage in changed:
        what = "changed" if stage in then and stage in now else "new" if stage in now else "no longer there"
        yield Check(False, f"{name}: code of `{stage}`: {what}", again)
    if not changed:
        yield Check(True, f"{name}: code: {len(now)} stages")


def _methods(own: DatasetFolder, record: Mapping[str, Any], data: Path, again: str) -> Iterator[Check]:
    """Compare a data set's stored data and its methods with the record."""
    stored = {COLLECTION: data / "parquet" / own.name / COLLECTION, PAIRS: data / "pairs" / own.name / PAIRS}
    for kind, path in stored.items():
        if path.is_file() and kind in record["data"] and sha256(path) != record["data"][kind]:
            yield Check(False, f"{own.name}: {path}: not the data of the recorded results", again)
    absent = []
    for name, entry in record["methods"].items():
        method = own.method(name)
        if not method.begun:
            absent.append(name)
            continue
        try:
            same = (results_digest(method), values_digest(method)) == (entry["results"], entry["values"])
        except (GradrankError, KeyError):
            same = False
        if not same:
            yield Check(False, f"{own.name}: {method.folder}: not the recorded results", again)
    if absent:
        yield Check(None, f"{own.name}: {len(absent)} methods are not here: models and scores are not in git")


def _read_results(name: str, recorded: Mapping[str, str], root: Results, again: str) -> Iterator[Check]:
    """Compare what a study's page was made of with its data sets' records and with the methods that lie here."""
    absent = 0
    for key, digest in recorded.items():
        found = _digests_here(name, key, root)
        absent += not found
        if found - {digest}:
            yield Check(False, f"{name}: {key}: not the results that the page was made of", again)
    if absent:
        yield Check(None, f"{name}: {absent} methods are not here: models and scores are not in git")


def _digests_here(study: str, key: str, root: Results) -> set[str]:
    """Return the digests of a method that a study's page is about: by its data set's record, and by its files here."""
    if key.startswith(f"{TUNED}/"):
        path = Contest(root.study(study).folder).tuned(*key.split("/")[1:]).per_query_path
        return {sha256(path)[:DIGITS]} if path.is_file() else set()
    dataset, _, model = key.partition("/")
    own, found = root.dataset(dataset), set()
    entry = (_read(own.provenance_path) or {}).get("methods", {}).get(model)
    if entry:
        found.add(entry["values"])
    try:
        return found | ({values_digest(own.method(model))} if own.method(model).evaluated else set())
    except (GradrankError, KeyError):
        return {"damaged"}


def _versions(name: str, recorded: Mapping[str, str]) -> Iterator[Check]:
    for package, then in recorded.items():
        try:
            now = version(package).partition("+")[0]  # a build is not a version
        except PackageNotFoundError:
            continue
        if now != then:
            yield Check(None, f"{name}: made with {package} {then}, here is {now}: last digits may differ")
