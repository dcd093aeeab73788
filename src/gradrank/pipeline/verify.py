"""Whether results/ belongs to this checkout: results/provenance.json held against what lies there now."""

import hashlib
import json
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.data.layout import find_layout
from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import PACKAGE
from gradrank.pipeline.params import Params
from gradrank.pipeline.provenance import code_digests, code_files, in_force
from gradrank.processor import form, refusal
from gradrank.results import PER_QUERY, DataSet, Fold, Results
from gradrank.validation import flat


class Check(NamedTuple):
    """One line. ok: whether it matches; None says what is worth knowing but proves nothing. todo: a remedy."""

    ok: bool | None
    text: str
    todo: str = ""


def verify(params: Params, results: Path, data: Path) -> Iterator[Check]:
    """Every recorded data set's parameters, code, data and results; `data`: data/parquet.

    Raises GradrankError where there is no record, or the package that runs is not this checkout's.
    """
    if Path("src/gradrank").is_dir() and not PACKAGE.samefile("src/gradrank"):
        raise GradrankError(
            f"the gradrank that runs lies in {PACKAGE}, not in this checkout: run `.venv/bin/gradrank` of this one"
        )
    path = Results(results).provenance_path
    if not path.is_file():
        raise GradrankError(f"{path}: no such file; `snakemake --cores 2` writes it at its end")
    recorded = read_json(path)["datasets"]
    for dataset, entry in recorded.items():
        yield from _parameters(params, dataset, entry["params"])
        yield from _code(dataset, entry)
        yield from _data(params, dataset, entry["data"], data)
        yield from _results(dataset, entry["results"])
        yield from _processors(dataset, entry.get("processors", ["not recorded"]))
        yield from _versions(dataset, entry)
    for dataset in params.run.datasets:
        if dataset not in recorded:
            yield Check(False, f"{dataset}: in run.datasets, but never completed", "snakemake --cores 2")
    for own in Results(results).datasets():
        if own.summarised and own.name not in {*recorded, *params.run.datasets}:
            yield Check(None, f"{own.name}: has no record here", f"snakemake --cores 2 {own.name}")


def _parameters(params: Params, dataset: str, recorded: dict[str, Any]) -> Iterator[Check]:
    now = in_force(params, [dataset], params.model_names())
    now["dataset"] = now.pop("datasets")[dataset]
    now, again = json.loads(json.dumps(now)), f"snakemake --cores 2 {dataset}"
    trained, wanted = recorded["models"], now["models"]
    checks = [
        Check(
            False,
            f"{dataset}: models.{name}: {'not trained' if name in wanted else 'no longer there'}",
            again,
        )
        for name in sorted(trained.keys() ^ wanted.keys())
    ]
    then, values = (
        flat(each | {"models": {name: each["models"][name] for name in trained.keys() & wanted.keys()}})
        for each in (recorded, now)
    )
    checks += [
        Check(
            False,
            f"{dataset}: {key.replace('.params.', '.')}: {then.get(key)} then, {values.get(key)} now",
            again,
        )
        for key in sorted(then.keys() | values.keys())
        if then.get(key) != values.get(key)
    ]
    yield from checks or [Check(True, f"{dataset}: parameters: {len(values)} values")]


def _code(dataset: str, entry: dict[str, Any]) -> Iterator[Check]:
    names = {variant["model"] for variant in entry["params"]["models"].values()} & models().keys()
    stages, then = code_files(names), entry["code"]["files"]
    digests, now = code_digests(names)
    for path in sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path)):
        what = "changed" if path in then and path in now else "new" if path in now else "no longer used"
        concerned = ", ".join(stage for stage, files in stages.items() if path in files)
        yield Check(
            False, f"{dataset}: {path}: {what}{f', concerns {concerned}' if concerned else ''}",
            f"snakemake --cores 2 {dataset}",
        )  # fmt: skip
    if digests == entry["code"]["stages"]:
        yield Check(True, f"{dataset}: code: {len(now)} files of {len(stages)} stages")


def _data(params: Params, dataset: str, recorded: dict[str, Any], data: Path) -> Iterator[Check]:
    own, parquet = getattr(params.datasets.get(dataset), "path", None), data / f"{dataset}.parquet"
    again = f"snakemake --cores 2 {parquet} && snakemake --cores 2 {dataset}"
    checks = list(_files(dataset, recorded["files"], lambda path: f"rm -f {path} && {again}"))
    yield from checks or [Check(True, f"{dataset}: data: {len(recorded['files'])} files")]
    text = Path(own or data.parent / "raw" / dataset)
    if not text.exists():
        yield Check(None, f"{dataset}: {text}: not here; models read the Parquet files alone")
    elif _sha256_of_text(text) == recorded["source_sha256"]:
        yield Check(True, f"{dataset}: text: {text}")
    else:
        todo = f"put {text} back, or train on it: {again}" if own else f"rm -r {text} {parquet} && {again}"
        yield Check(False, f"{dataset}: {text}: not the text that the Parquet file was made of", todo)


def _sha256_of_text(path: Path) -> str | None:
    """As parsing computes it, of the parts' files one after the other; None where they are no collection."""
    try:
        layout, digest = find_layout(path), hashlib.sha256()
    except GradrankError:
        return None
    for file in dict.fromkeys(layout.sources.values()):
        with file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


def _results(dataset: str, recorded: dict[str, str]) -> Iterator[Check]:
    again = f"snakemake --cores 2 {dataset} --forcerun provenance"
    checks = list(_files(dataset, recorded, lambda path: f"rm -rf {_to_delete(path)} && {again}"))
    yield from checks or [Check(True, f"{dataset}: results: {len(recorded)} files")]


def _to_delete(path: Path) -> str:
    """What must be missing for Snakemake to make a file of results/<dataset>/ again."""
    if fold := Fold.holding(path):
        return f"{fold.folder} {fold.method.per_query_path}"
    return str(path if path.name == PER_QUERY else DataSet(Path(*path.parts[:2])).summary_path)


def _files(dataset: str, recorded: dict[str, str], remedy: Callable[[Path], str]) -> Iterator[Check]:
    for path, digest in sorted(recorded.items()):
        if not Path(path).is_file():
            yield Check(False, f"{dataset}: {path}: deleted", remedy(Path(path)))
        elif sha256(path) != digest:
            yield Check(False, f"{dataset}: {path}: edited or replaced", remedy(Path(path)))


def _processors(dataset: str, recorded: list[str]) -> Iterator[Check]:
    for made in recorded:
        if reason := refusal(made):
            again = f"rm -rf results/{dataset} && snakemake --cores 2 {dataset}"
            yield Check(False, f"{dataset}: instruction set: {reason}", again)
        elif made != form():
            yield Check(None, f"{dataset}: trained with {made}, here is {form()}: last digits may differ")
        else:
            yield Check(True, f"{dataset}: instruction set: {made}")


def _versions(dataset: str, entry: dict[str, Any]) -> Iterator[Check]:
    for name, then in entry["versions"].items():
        try:
            now = version(name)
        except PackageNotFoundError:
            continue
        if now != then:
            yield Check(None, f"{dataset}: trained with {name} {then}, here is {now}: last digits may differ")
