"""Training jobs. A job trains one model on one fold of a data set and writes its folder atomically.

If a model combines the scores of other models, its job reads their trained folds.
"""

import re
import shutil
import sys
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank import __version__
from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.errors import GradrankError
from gradrank.base.extensions import extension_of
from gradrank.base.files import sha256, write_json
from gradrank.base.processor import form
from gradrank.base.stamps import write_stamp
from gradrank.bench.folds.test_part_guard import guard_test_part
from gradrank.bench.results import DatasetFolder, MethodFolder, NumberedFold
from gradrank.data.collection import Collection
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.training.best_of import History
from gradrank.training.fit import check_missing_values, degenerate_model_note, fit, job_seed, resolve, taken_as_is
from gradrank.training.fold_folder import MEMBERS, SPEC, FoldFolder, partial_folder, publish
from gradrank.training.label_gains import Gain, with_gains
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import models, training_modules
from gradrank.training.score_checks import check_scores
from gradrank.training.selection import selection_note
from gradrank.training.trained_fold import member_features
from gradrank.training.training_queries import check_weights

if TYPE_CHECKING:
    import polars


def trained_members(
    members: Sequence[str], folder: Path | None, spec: dict[str, Any], data: Path
) -> dict[str, NumberedFold]:
    """Return a dict from the name of each member to its trained fold, folder/<member>/fold<k>.

    If a member was trained with several seeds, its fold with the seed of the job is returned. folder:
    results/<dataset>. spec: specification of the job that combines the members. data: folder of the job's stored
    collection. Raises GradrankError without a `folder`, if a member is not trained, or if a member was trained on a
    different fold or on different data.
    """
    if folder is None:
        raise GradrankError(
            f"{spec['model']}: combines the scores of {', '.join(members)}, but --members is missing. "
            f"Fix: add --members results/{spec['dataset']}"
        )
    folds = {member: _seed_fold(DatasetFolder(folder).method(member), spec["fold"], spec["seed"]) for member in members}
    for member, fold in folds.items():
        model = member.partition("-")[0]  # a variant of a parameter sweep is named <entry>-<values>
        job = f"--model {model} --data {data} --fold {spec['fold']} --seed {spec['seed']}"
        command = f"gradrank train {job} --out {fold.folder}"
        if not fold.finished:
            raise GradrankError(f"{fold.folder}: a member of {spec['model']} that is not trained. Fix: {command}")
        member_spec = fold.spec()
        expected = {key: spec[key] for key in ("fold", "data_sha256")}
        if model in models():  # else the member is a variant whose name does not begin with a model
            expected["model"] = model
        for key, value in expected.items():
            if member_spec[key] != value:
                raise GradrankError(
                    f"{fold.folder}: its {key} is {member_spec[key]!r}, expected {value!r}. Fix: {command}"
                )
    return folds


def _seed_fold(method: MethodFolder, number: int, seed: int) -> NumberedFold:
    """Return fold<k>/seed<s>/ if it differs from the training of fold<k>/ only in the seed, else fold<k>/.

    The model, the parameters and the data of both must be equal.
    """
    first, further = method.fold(number), method.fold(number, seed)
    if not (first.finished and further.finished) or first.spec()["seed"] == seed:
        return first
    same = all(first.spec()[key] == further.spec()[key] for key in ("model", "params", "data_sha256"))
    return further if same else first


def with_member_scores(collection: Collection, split: str, members: dict[str, NumberedFold]) -> Collection:
    """Return `collection`, a part of the data, with the scores of the m members as (n, m) float32 features.

    split: name of this part. The columns have the order of `members`.

    Raises GradrankError if the number of scores differs from the number of documents.
    """
    scores = []
    for fold in members.values():
        member_scores = fold.scores(split)
        if len(member_scores) != collection.rows:
            raise GradrankError(
                f"{fold.folder}: {len(member_scores)} scores of the {split} part, which has {collection.rows} "
                "documents. Fix: remove this folder and train the member again"
            )
        scores.append(member_scores)
    return replace(collection, features=member_features(scores), names=tuple(members))


def copy_members(members: dict[str, NumberedFold], fold: FoldFolder) -> None:
    """Copy the trained members into `fold`, so that the model that combines them can rank new data."""
    for number, member in enumerate(members.values(), start=1):
        copy = fold.member(number)
        shutil.copytree(member.model_path, copy.model_path)
        shutil.copy(member.spec_path, copy.spec_path)


def train(
    model: str,
    data: Path,
    fold: int,
    params: dict,
    seed: int,
    out: Path,
    pairs: Path | None = None,
    members: Path | None = None,
    code: str = "",
    convention: Convention = LETOR4,
    without: Container[int] = (),
    gain: Gain | None = None,
) -> None:
    """Train `model` on one fold of the stored collection `data` and write the folder `out`.

    fold: number of the fold, from 1. params: parameters of the model. Missing parameters have their defaults.
    seed: seed of the study. pairs: folder of the stored pairs. members: the folder results/<dataset> with the trained
    members, for a model that combines the scores of other models. code: digest of the training code, which is stored in
    spec.json. convention: primary convention of the data set, under which the model is selected. without: the columns,
    from 0, of the features that are left out. gain: gain of each grade in training and selection; None for 2^grade - 1
    in training and the gain of the convention in the selection.

    The job writes model/, scores.parquet (splits train, vali and test), history.parquet, timing.json and, last,
    spec.json. Raises GradrankError if the fold does not exist, a parameter is invalid, the model cannot be trained on
    the data, a member is not trained, or the model returns invalid scores.
    """
    started = time.perf_counter()
    cls, resolved = resolve(model, params)
    stored = StoredCollection.open(data).without_features(without)
    splits = stored.fold(fold)
    for warning in stored.description.get("warnings", []):
        print(f"{data}: WARNING: {warning}", file=sys.stderr, flush=True)
    spec = _specification(model, stored.description, fold, resolved, seed) | {"convention": convention.name}
    if gain is not None:
        spec["gain"], convention = gain, replace(convention, gain=gain)
    stored_pairs = stored.pairs(pairs) if pairs is not None and cls.needs_pairs else None
    if stored_pairs is not None:
        spec |= stored_pairs.specification
    member_names = cls.members(resolved)
    if not (member_names or cls.takes_missing):
        check_missing_values(data, stored.description, [model])
    if "weight" in stored.description.get("columns", {}):
        check_weights(cls, stored.description.get("uneven_weights"), where=f"{data}: ")
    preparation = None if member_names else stored.preparation(fold, taken_as_is(cls))
    spec |= {} if preparation is None else preparation.entries()
    member_folds = trained_members(member_names, members, spec, data) if member_names else {}

    def read(split: str) -> Collection:
        collection = stored.read(
            splits[split], stored_pairs if split == "train" else None, preparation, split == "train"
        )
        (collection,) = with_gains([replace(collection, convention=convention)], gain)
        if member_folds:
            return with_member_scores(collection, split, member_folds)
        collection.check(f"{data}, fold {fold}, {split} part", missing=cls.takes_missing)
        return collection

    inputs = filter(None, (data, pairs, *(fold.folder for fold in member_folds.values())))
    with partial_folder(out, inputs) as partial:
        partial.model_path.mkdir()
        test_files = _test_files(splits["test"], data, pairs)
        fit_seconds, scoring = _fit_and_score(cls, resolved, spec, read, test_files, partial)
        copy_members(member_folds, partial)
        _write_timing(partial, started, fit_seconds, scoring)
        inputs = _inputs(data, pairs if cls.needs_pairs else None, member_folds)
        made_by = {"inputs": inputs, "code": code, "versions": _versions(cls, resolved), "processor": form()}
        write_stamp(partial.spec_path, spec | made_by, reproducible_files(partial))
        publish(partial, FoldFolder(out))


def _test_files(parts: Sequence[int], data: Path, pairs: Path | None) -> list[Path]:
    """Return the existing files of the test part: the rows and, if pairs are stored, also the pairs."""
    folders = [data] if pairs is None else [data, pairs]
    paths = [folder / f"part{part}.parquet" for folder in folders for part in parts]
    return [path for path in paths if path.is_file()]


def _specification(model: str, meta: Mapping[str, Any], fold: int, params: ModelParams, seed: int) -> dict[str, Any]:
    """Return the entries of spec.json that identify the job."""
    spec = {
        "model": model,
        "dataset": meta["dataset"],
        "fold": fold,
        "params": params.model_dump(mode="json"),
        "features": meta["features"],
        "seed": seed,
        "job_seed": job_seed(seed, meta["dataset"], model, fold),
        "data_sha256": meta["source_sha256"],
    }
    spec |= {key: meta[key] for key in ("missing", "names", "columns", "sparse", "levels") if key in meta}
    return spec | ({"missing": "keep"} if "fill" in meta else {})  # the preparation replaces missing values


def _fit_and_score(
    cls: type[Model],
    params: ModelParams,
    spec: Mapping[str, Any],
    read: Callable[[str], Collection],
    test_files: Sequence[Path],
    folder: FoldFolder,
) -> tuple[float, dict[str, float]]:
    """Fit the model, and write the model, its scores for every split, and its training history into `folder`.

    read: function from the name of a split to its collection. Returns the fitting time in seconds, and the entries of
    timing.json about the scoring of the test part. The other parts are scored before, because scoring the first part
    also loads and compiles code.
    """
    import polars as pl

    history = History(f"{spec['dataset']}/{spec['model']}/fold{spec['fold']}")
    with guard_test_part(test_files, spec["model"]):
        parts = {split: read(split) for split in ("train", "vali")}
        note = selection_note(getattr(params, "select_by", None), parts["vali"])
        print(f"{history.job}: {note}", file=sys.stderr, flush=True)
        started = time.perf_counter()
        fitted = fit(cls, parts["train"], parts["vali"], params, spec["job_seed"], history)
        seconds = time.perf_counter() - started
        fitted.save(folder.model_path)
        if note := degenerate_model_note(fitted, params, parts["train"]):
            print(f"{history.job}: warning: {note}", file=sys.stderr, flush=True)
        # Each part leaves memory after it has been scored, so the three parts are never in memory together.
        scores = [_scores(fitted, parts.pop(split), split)[0] for split in ("train", "vali")]
    parts["test"] = read("test")
    with guard_test_part(test_files, spec["model"]):
        test_scores, scoring = _scores(fitted, parts["test"], "test")
    pl.concat([*scores, test_scores]).write_parquet(folder.scores_path)
    history.write(folder.history_path)
    return seconds, scoring


def _scores(fitted: Model, collection: Collection, split: str) -> tuple["polars.DataFrame", dict[str, float]]:
    """Return the scores of a part, and the entries of timing.json about the scoring time."""
    import polars as pl

    started = time.perf_counter()
    returned = fitted.score(collection.features, collection.offsets)
    timing = {"score_seconds": round(time.perf_counter() - started, 6), "scored_documents": collection.rows}
    scores = check_scores(returned, collection.rows, f"{fitted.name}: scores of the {split} part")
    return pl.DataFrame({"split": [split] * len(scores), "score": scores}), timing


def _peak_memory_mb() -> int:
    """Return the peak resident memory of this process in MiB. ru_maxrss is in KiB on Linux, but in bytes on macOS."""
    import resource  # Windows does not have it

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def _write_timing(folder: FoldFolder, started: float, fit_seconds: float, scoring: dict[str, float]) -> None:
    """Write timing.json: the times in seconds, the peak memory, and the size of the model in bytes.

    The size excludes the copied members, because the scoring time does not include the scoring of the members.
    """
    seconds = {"seconds": time.perf_counter() - started, "fit_seconds": fit_seconds}
    rounded = {name: round(value, 3) for name, value in seconds.items()}
    paths = (path for path in folder.model_path.rglob("*") if folder.model_path / MEMBERS not in path.parents)
    size = {"model_bytes": sum(path.stat().st_size for path in paths if path.is_file())}
    write_json(folder.timing_path, rounded | {"peak_memory_mb": _peak_memory_mb()} | scoring | size)


def reproducible_files(fold: FoldFolder) -> list[Path]:
    """Return all files in the folder of a fold except timing.json. Equal jobs write equal files."""
    return [path for path in fold.folder.rglob("*") if path.is_file() and path != fold.timing_path]


def _inputs(data: Path, pairs: Path | None, members: Mapping[str, FoldFolder]) -> dict[str, str]:
    """Return a dict from file name to SHA-256 digest of the files that describe the inputs.

    These files are the JSON files of the collection, the pairs and the members.
    """
    stamps = {COLLECTION: data / COLLECTION}
    stamps |= {PAIRS: pairs / PAIRS} if pairs else {}
    stamps |= {f"{name}/{SPEC}": fold.spec_path for name, fold in members.items()}
    return {name: sha256(path) for name, path in stamps.items()}


def _versions(cls: type[Model], params: ModelParams) -> dict[str, str]:
    """Return a dict from name to version for Python, gradrank, and all imported dependencies of gradrank.

    If the model or the loss belongs to another distribution, the version of that distribution is included.

    Build tags ("+cpu", "+cu130") are removed, because all builds of a version compute the same numbers on the same
    processor.
    """
    requirements = (re.match(r"[\w-]+", requirement) for requirement in requires("gradrank") or ())
    declared = (name[0].replace("-", "_") for name in requirements if name is not None)
    used = sorted(name for name in {*declared, *cls.requires} if hasattr(sys.modules.get(name), "__version__"))
    versions = {"gradrank": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    used_extensions = filter(None, map(extension_of, training_modules(cls, params)))
    versions |= {extension.distribution: extension.version for extension in used_extensions}
    return versions | {name: str(sys.modules[name].__version__).partition("+")[0] for name in used}
