"""One training job: a model on one fold of a data set, written as a folder that is whole or absent."""

import os
import re
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path
from typing import Any

from gradrank import __version__
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256, write_json
from gradrank.base.processor import form
from gradrank.base.results import FOLD_FILES, MEMBERS, SPEC, FoldFolder
from gradrank.base.stamps import mismatches, write_stamp
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.training.members import keep_members, trained_members, with_member_scores
from gradrank.training.model import Model, ModelParams
from gradrank.training.registry import get_model, missing_packages, models
from gradrank.training.score_checks import WrongScores, checked
from gradrank.training.seeds import job_seed
from gradrank.training.test_part_guard import guard_test_part


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
) -> None:
    """Fit `model` on fold `fold` of the stored collection `data` and write `out`.

    members: results/<dataset>, where the models lie whose scores this one is made of. code: the digest of the code that
    trains this model, for spec.json.
    `out` receives model/, scores.parquet (train, vali, test), history.parquet, timing.json and, last,
    spec.json. Raises GradrankError for a fold that does not exist, parameters out of range, data that
    cannot be trained on or members that are not trained.
    """
    started = time.perf_counter()
    cls, resolved = _resolved(model, params)
    stored = StoredCollection.open(data)
    splits = stored.fold(fold)
    spec = _specification(model, stored.description, fold, resolved, seed)
    stored_pairs = stored.pairs(pairs) if pairs is not None and cls.needs_pairs else None
    if stored_pairs is not None:
        spec |= stored_pairs.specification
    names = cls.members(resolved)
    if not (names or cls.takes_missing):
        _check_none_missing(data, stored.description, model)
    found = trained_members(names, members, spec, data) if names else {}
    with _begun(out) as made:

        def read(split: str) -> Collection:
            collection = stored.read(splits[split], stored_pairs if split == "train" else None)
            if found:
                return with_member_scores(collection, split, found)
            collection.check(f"{data}, fold {fold}, {split} part", missing=cls.takes_missing)
            return collection

        tested = _test_files(splits["test"], data, pairs)
        history = History(f"{stored.name}/{model}/fold{fold}")
        with guard_test_part(tested, model):
            parts = {split: read(split) for split in ("train", "vali")}
            fit_started = time.perf_counter()
            fitted = _fitted(cls, parts, resolved, spec["job_seed"], history)
            fit_seconds = time.perf_counter() - fit_started
            fitted.save(made.model_path)
        keep_members(found, made)
        parts["test"] = read("test")
        with guard_test_part(tested, model):
            scoring = _write_scores(fitted, parts, made.scores_path)
        history.write(made.history_path)
        _write_timing(made, started, fit_seconds, scoring)
        inputs = _inputs(data, pairs if cls.needs_pairs else None, found)
        made_by = {"inputs": inputs, "code": code, "versions": _versions(cls), "processor": form()}
        write_stamp(made.spec_path, spec | made_by, reproducible_files(made))
        _publish(made, FoldFolder(out))


def _resolved(model: str, params: dict) -> tuple[type[Model], ModelParams]:
    """The registered model and its checked parameters, the defaults filled in."""
    cls = get_model(model)
    if missing := missing_packages(cls):
        raise GradrankError(f"{model} needs {', '.join(missing)}: pip install 'gradrank[{cls.extra}]'")
    faults: list[str] = []
    resolved = validate(cls.Params, params, "params.", faults)
    if resolved is None:
        raise GradrankError(f"{model}: {'; '.join(faults)}")
    return cls, resolved


def _check_none_missing(data: Path, meta: Mapping[str, Any], model: str) -> None:
    """Raise GradrankError where a feature has no value in some rows, for a model that needs all."""
    for feature, rows in meta.get("missing_values", {}).items():
        name = f" ({meta['names'][int(feature[1:]) - 1]!r})" if "names" in meta else ""
        able = ", ".join(name for name, cls in models().items() if cls.takes_missing)
        raise GradrankError(
            f"{data}: {feature}{name} has no value in {rows:,} of {meta['rows']:,} rows, and {model} takes no missing "
            f"values: say what they become (`missing: zero`, `mean` or `least` for {meta['dataset']} in params.yaml), "
            f"or train models that take them: {able}"
        )


def _test_files(parts: Sequence[int], data: Path, pairs: Path | None) -> list[Path]:
    """The files of these parts that are here: their rows and, if a model is given pairs, those."""
    folders = [data] if pairs is None else [data, pairs]
    found = [folder / f"part{part}.parquet" for folder in folders for part in parts]
    return [path for path in found if path.is_file()]


def _specification(model: str, meta: Mapping[str, Any], fold: int, params: ModelParams, seed: int) -> dict[str, Any]:
    """What a job is: the part of spec.json that is known before it is done."""
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
    return spec | {key: meta[key] for key in ("missing", "names", "columns", "sparse") if key in meta}


def _fitted(
    cls: type[Model], parts: Mapping[str, Collection], params: ModelParams, seed: int, history: "History"
) -> Model:
    try:
        return cls.fit(parts["train"], parts["vali"], params, seed, history)
    except WrongScores as error:
        raise GradrankError(f"{cls.name}: while it was fitted: {error}") from None


@contextmanager
def _begun(out: Path) -> Iterator[FoldFolder]:
    """Yield a new folder next to `out` for this process alone, and remove it at the end.

    A folder that a killed job left stays: its process may be alive. `gradrank verify --repair` removes it.
    """
    made = FoldFolder(out.with_name(f".{out.name}.{os.getpid()}.partial"))
    made.model_path.mkdir(parents=True)
    try:
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


class History:
    """The callback of a training job: keeps a row a step and shows the latest in the log."""

    def __init__(self, job: str, every_seconds: float = 5.0) -> None:
        self.job, self.every = job, every_seconds
        self.rows: list[dict[str, float]] = []
        self.shown = time.monotonic()

    def __call__(self, step: int, **values: float) -> None:
        self.rows.append({"step": int(step), **{key: float(value) for key, value in values.items()}})
        if time.monotonic() - self.shown >= self.every:
            self.shown = time.monotonic()
            shown = "  ".join(f"{key} {value:.4f}" for key, value in values.items())
            print(f"{self.job}: step {step}  {shown}", file=sys.stderr, flush=True)

    def write(self, path: Path) -> None:
        """(steps, columns) as Parquet; a value that a step did not report is null."""
        import polars as pl

        names = list(dict.fromkeys(key for row in self.rows for key in row if key != "step"))
        schema = {"step": pl.Int64} | dict.fromkeys(names, pl.Float64)
        pl.DataFrame(self.rows, schema=schema).write_parquet(path)


def _write_scores(fitted: Model, collections: Mapping[str, Collection], path: Path) -> dict[str, float]:
    """Returns what the last part took: by then all is loaded and compiled that a first call needs."""
    import polars as pl

    frames = []
    for split, collection in collections.items():
        started = time.perf_counter()
        given = fitted.score(collection.features, collection.offsets)
        seconds = time.perf_counter() - started
        scores = checked(given, collection.rows, f"{fitted.name}: scores of the {split} part")
        frames.append(pl.DataFrame({"split": [split] * len(scores), "score": scores}))
    pl.concat(frames).write_parquet(path)
    return {"score_seconds": round(seconds, 6), "scored_documents": collection.rows}


def _publish(made: FoldFolder, out: FoldFolder) -> None:
    """Move a finished folder's contents into `out`, which may exist from before; its specification last.

    Nothing is moved where the same result lies there already: a job of a killed run may end after its successor.
    """
    same = out.finished and out.spec_path.read_bytes() == made.spec_path.read_bytes()
    if same and not any(mismatches(out.spec_path)):
        return
    out.folder.mkdir(parents=True, exist_ok=True)
    out.spec_path.unlink(missing_ok=True)
    shutil.rmtree(out.model_path, ignore_errors=True)
    for name in FOLD_FILES:
        (made.folder / name).replace(out.folder / name)


def _peak_memory_mb() -> int:
    """Peak resident memory of this process; ru_maxrss is in KiB on Linux and in bytes on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def _write_timing(made: FoldFolder, started: float, fit_seconds: float, scoring: dict[str, float]) -> None:
    """What the job took; and the model's size, without those that it is made of, as its scoring is without theirs."""
    seconds = {"seconds": time.perf_counter() - started, "fit_seconds": fit_seconds}
    rounded = {name: round(value, 3) for name, value in seconds.items()}
    own = (path for path in made.model_path.rglob("*") if made.model_path / MEMBERS not in path.parents)
    size = {"model_bytes": sum(path.stat().st_size for path in own if path.is_file())}
    write_json(made.timing_path, rounded | {"peak_memory_mb": _peak_memory_mb()} | scoring | size)


def reproducible_files(made: FoldFolder) -> list[Path]:
    """Return the files of a fold that equal jobs write with equal bytes: all but the timings."""
    return [path for path in made.folder.rglob("*") if path.is_file() and path != made.timing_path]


def _inputs(data: Path, pairs: Path | None, members: Mapping[str, FoldFolder]) -> dict[str, str]:
    """Return the SHA-256 of the stamps of what a job read: the collection, the pairs, each member's fold."""
    stamps = {COLLECTION: data / COLLECTION}
    stamps |= {PAIRS: pairs / PAIRS} if pairs else {}
    stamps |= {f"{name}/{SPEC}": fold.spec_path for name, fold in members.items()}
    return {name: sha256(path) for name, path in stamps.items()}


def _versions(cls: type[Model]) -> dict[str, str]:
    """Of Python and of the packages that this job has used: those of gradrank's own that it has imported.

    Without a build's name ("+cpu", "+cu130"): one version's builds compute alike on a processor.
    """
    declared = (re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requires("gradrank") or ())
    used = sorted(name for name in {*declared, *cls.requires} if hasattr(sys.modules.get(name), "__version__"))
    found = {"gradrank": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    return found | {name: str(sys.modules[name].__version__).partition("+")[0] for name in used}
