"""Whether results/ belongs to this checkout: every provenance.json held against what lies there now.

A fresh clone has of each data set and study only what is in git: its record, summary or page. They are held against
this checkout's parameters and code; of trained models and scores a note says that they are not here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.data.stored import COLLECTION
from gradrank.errors import GradrankError
from gradrank.files import sha256
from gradrank.pipeline.code_closure import PACKAGE, named
from gradrank.pipeline.damage import besides_records
from gradrank.pipeline.data_record import sha256_of_text
from gradrank.pipeline.params import Params
from gradrank.pipeline.provenance import code_digests, code_files, in_force, known_variants
from gradrank.pipeline.study_provenance import study_code_files, study_in_force
from gradrank.processor import form, refusal
from gradrank.results import PER_QUERY, PROVENANCE, DataSet, Fold, Recorded, Results
from gradrank.validation import flat

Hashes = Mapping[Path, str]  # SHA-256 by path


class Check(NamedTuple):
    """One line. ok: whether it matches; None says what is worth knowing but proves nothing. todo: a remedy."""

    ok: bool | None
    text: str
    todo: str = ""


def verify(params: Params, results: Path, data: Path) -> Iterator[Check]:
    """Every recorded data set's and study's parameters, code, data and results; `data`: data/parquet.

    Raises GradrankError where there is no record, or the package that runs is not this checkout's.
    """
    if Path("src/gradrank").is_dir() and not PACKAGE.samefile("src/gradrank"):
        raise GradrankError(
            f"the gradrank that runs lies in {PACKAGE}, not in this checkout: run `.venv/bin/gradrank` of this one"
        )
    root = Results(results)
    datasets, studies = {own.name: own for own in root.datasets()}, root.studies()
    if not any(each.recorded for each in (*datasets.values(), *studies.values())):
        raise GradrankError(
            f"{results}/<dataset>/{PROVENANCE}: no such file; `snakemake --cores 2` writes it at its end"
        )
    for own in datasets.values():
        if own.recorded:
            yield from _dataset(params, own, data)
    for name, study in studies.items():
        if study.recorded:
            yield from _study(params, name, study, root)
    for path, todo in besides_records(root):
        if path.exists() or path.parent != root.folder:
            yield Check(False, f"{path}: edited or replaced since it was made", todo)
        else:  # the report and what it is made with: no number is only there
            yield Check(None, f"{path}: gone; the next run makes it again")
    yield from _unrecorded(
        params, {name for name, own in datasets.items() if own.recorded}, datasets | studies
    )


def _dataset(params: Params, own: DataSet, data: Path) -> Iterator[Check]:
    name, record, again = own.name, own.provenance(), f"snakemake --cores 2 {own.name}"
    yield from _parameters(name, record["params"], in_force(params, name, params.model_names()), again)
    yield from _code(name, record["code"], code_files(known_variants(record["params"]["models"])), again)
    yield from _data(params, name, record["data"], data)
    yield from _results(own, record["results"], f"{again} --forcerun provenance")
    yield from _processors(name, record["processors"], f"rm -rf {own.folder} && {again}")
    yield from _versions(name, record["versions"])


def _study(params: Params, name: str, study: Recorded, root: Results) -> Iterator[Check]:
    record, again = study.provenance(), f"snakemake --cores 2 {name if '/' not in name else ''}".rstrip()
    if name not in params.studies:
        yield Check(False, f"{name}: no longer in params.yaml", f"rm -r {study.folder}")
        return
    variants = known_variants(record["params"]["models"])
    yield from _parameters(name, record["params"], study_in_force(params, name), again)
    yield from _code(
        name, record["code"], study_code_files(name, variants, record["params"]["settings"]), again
    )
    yield from _read(name, record["read"], root, again)
    files = {study.folder / path: digest for path, digest in record["results"].items()}
    checks = list(_files(name, files, lambda path: f"rm -f {path} && {again}"))
    yield from checks or [Check(True, f"{name}: results: {len(files)} files")]
    yield from _processors(name, record["processors"], f"rm -rf {study.folder} && {again}")
    yield from _versions(name, record["versions"])


def _unrecorded(params: Params, recorded: set[str], found: Mapping[str, Recorded]) -> Iterator[Check]:
    for dataset in params.run.datasets:
        if dataset not in recorded:
            yield Check(False, f"{dataset}: in run.datasets, but never completed", "snakemake --cores 2")
    for name, own in found.items():
        if not own.recorded and name not in params.run.datasets:
            yield Check(None, f"{name}: has no record here")


def _parameters(label: str, then: dict[str, Any], now: dict[str, Any], again: str) -> Iterator[Check]:
    now = json.loads(json.dumps(now))
    trained, wanted = then["models"], now["models"]
    checks = [
        Check(
            False, f"{label}: models.{name}: {'not trained' if name in wanted else 'no longer there'}", again
        )
        for name in sorted(trained.keys() ^ wanted.keys())
    ]
    both = trained.keys() & wanted.keys()
    old, new = (
        flat(each | {"models": {name: each["models"][name] for name in both}}) for each in (then, now)
    )
    checks += [
        Check(
            False,
            f"{label}: {key.replace('.params.', '.')}: {old.get(key)} then, {new.get(key)} now",
            again,
        )
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    yield from checks or [Check(True, f"{label}: parameters: {len(new)} values")]


def _code(
    label: str, recorded: dict[str, Any], stages: Mapping[str, list[str]], again: str
) -> Iterator[Check]:
    found = code_digests(stages)
    then, now = recorded["files"], found["files"]
    for path in sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path)):
        what = "changed" if path in then and path in now else "new" if path in now else "no longer used"
        concerned = ", ".join(stage for stage, files in stages.items() if path in map(named, files))
        yield Check(False, f"{label}: {path}: {what}{f', concerns {concerned}' if concerned else ''}", again)
    if found["stages"] == recorded["stages"]:
        yield Check(True, f"{label}: code: {len(now)} files of {len(stages)} stages")


def _data(params: Params, dataset: str, recorded: dict[str, Any], data: Path) -> Iterator[Check]:
    own, parquet = getattr(params.datasets.get(dataset), "path", None), data / dataset / COLLECTION
    again = f"snakemake --cores 2 {parquet} && snakemake --cores 2 {dataset}"
    files = {Path(path): digest for path, digest in recorded["files"].items()}
    yield from _held(dataset, "data", [files], lambda path: f"rm -f {path} && {again}", "data are not in git")
    text = Path(own or data.parent / "raw" / dataset)
    if not text.exists():
        yield Check(None, f"{dataset}: {text}: not here; models read the Parquet files alone")
    elif sha256_of_text(text) == recorded["source_sha256"]:
        yield Check(True, f"{dataset}: text: {text}")
    else:
        todo = f"put {text} back, or train on it: {again}" if own else f"rm -r {text} {parquet} && {again}"
        yield Check(False, f"{dataset}: {text}: not the text that the Parquet file was made of", todo)
    given = getattr(params.datasets.get(dataset), "pairs", None)
    if given and sha256(given) != recorded.get("given_sha256"):
        yield Check(
            False, f"{dataset}: {given}: not the pairs that are stored", f"snakemake --cores 2 {dataset}"
        )


def _results(own: DataSet, recorded: dict[str, str], again: str) -> Iterator[Check]:
    """A method, or the tables, may be absent altogether; the summary is in git, as the record is."""
    paths = sorted(own.folder / path for path in recorded)
    files = {path: recorded[str(path.relative_to(own.folder))] for path in paths}
    committed = (own.summary_path, own.summary_page_path, own.queries_path)
    groups = [
        {path: files[path] for path in group}
        for _, group in groupby(paths, lambda path: path.relative_to(own.folder).parts[0])
    ]
    why = "trained models and scores are not in git"
    yield from _held(
        own.name, "results", groups, lambda path: f"rm -rf {_to_delete(path)} && {again}", why, committed
    )


def _to_delete(path: Path) -> str:
    """What must be missing for Snakemake to make a file of results/<dataset>/ again."""
    if fold := Fold.holding(path):
        return f"{fold.folder} {fold.method.per_query_path}"
    return str(path if path.name == PER_QUERY else DataSet(Path(*path.parts[:2])).summary_path)


def _held(
    label: str,
    what: str,
    groups: Iterable[Hashes],
    remedy: Callable[[Path], str],
    why: str,
    committed: Iterable[Path] = (),
) -> Iterator[Check]:
    """Files of groups each of which is here whole or not at all: then a note says `why`; those in git are here."""
    groups = list(groups)
    here = [group for group in groups if any(path in committed or path.is_file() for path in group)]
    checks = [check for group in here for check in _files(label, group, remedy)]
    held, absent = (sum(map(len, some)) for some in (here, [group for group in groups if group not in here]))
    if held and not checks:
        checks = [Check(True, f"{label}: {what}: {held} files")]
    yield from checks
    if absent:
        yield Check(None, f"{label}: {absent} files are not here: {why}")


def _files(label: str, recorded: Hashes, remedy: Callable[[Path], str]) -> Iterator[Check]:
    for path, digest in sorted(recorded.items()):
        if not path.is_file():
            yield Check(False, f"{label}: {path}: deleted", remedy(path))
        elif sha256(path) != digest:
            yield Check(False, f"{label}: {path}: edited or replaced", remedy(path))


def _read(label: str, recorded: dict[str, str], root: Results, again: str) -> Iterator[Check]:
    """The methods that a study is about: as its data sets' records name them, and as they lie here."""
    known = {
        f"{own.name}/{path}": digest
        for own in root.datasets()
        if own.recorded
        for path, digest in own.provenance()["results"].items()
    }
    wrong, held = [], 0
    for path, digest in recorded.items():
        lies = root.folder / path
        found = {known[path]} if path in known else set()
        found |= {sha256(lies)} if lies.is_file() else set()
        held += bool(found)
        if found - {digest}:
            wrong.append(Check(False, f"{label}: {lies}: not the values that the page was made of", again))
    if held and not wrong:
        yield Check(True, f"{label}: methods: {held} of {len(recorded)}")
    yield from wrong
    if absent := len(recorded) - held:
        yield Check(None, f"{label}: {absent} methods are not here: trained models and scores are not in git")


def _processors(label: str, recorded: list[str], again: str) -> Iterator[Check]:
    for made in recorded:
        if reason := refusal(made):
            yield Check(False, f"{label}: instruction set: {reason}", again)
        elif made != form():
            yield Check(None, f"{label}: trained with {made}, here is {form()}: last digits may differ")
        else:
            yield Check(True, f"{label}: instruction set: {made}")


def _versions(label: str, recorded: dict[str, str]) -> Iterator[Check]:
    for name, then in recorded.items():
        try:
            now = version(name).partition("+")[0]  # a build is not a version
        except PackageNotFoundError:
            continue
        if now != then:
            yield Check(None, f"{label}: trained with {name} {then}, here is {now}: last digits may differ")
