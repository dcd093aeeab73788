"""The record of a data set's results: results/<dataset>/provenance.json, a checksum file that is in git.

Its keys:

- params: the settings of params.yaml with defaults filled in: `seed`, `seeds`, `pairs`, `evaluation` and `dataset`;
- data: `source_sha256`, which is the SHA-256 of the text, and the SHA-256 of collection.json and pairs.json; these two
  files have the checksums of the Parquet files; with a user's file of pairs also its SHA-256, `given_sha256`;
- code: one digest per stage;
- methods: for each method, its registered `model`, its `params` that are not defaults, a `digest` of these two,
  and digests of its training code (`train`), of its models, scores and histories (`results`) and of its values per
  query (`values`); `folds` has, for each seed, one digest of the scores per fold, in the order of the folds, and a
  hyphen for a fold without one; for imported scores there is also a digest of the score files (`scores`);
- members: the same for the methods that are trained only because a method combines their scores; missing if there are
  none;
- versions, processors: the package versions and the instruction sets that the methods were computed with;
- rechecked: only after `gradrank verify --recheck`: the code digests that were replaced, with the sample that was
  computed again (`gradrank.bench.provenance.record_code`);
- files: the SHA-256 of the summary, of the values per query and of the tables.

A record has no times or machine paths, and a git revision only in `rechecked`, so equal code, data and packages give
equal bytes.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gradrank.base.conventions import selection_convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import refusal
from gradrank.base.stamps import read_sealed, read_stamp, write_stamp
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.folds.score_file_pattern import IMPORTED
from gradrank.bench.folds.seeds import SEED, measured_folds
from gradrank.bench.provenance.settings import DIGITS, changed_params, short_digest
from gradrank.bench.results import PER_QUERY, DatasetFolder, MethodFolder, NumberedFold
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.training.fold_folder import SPEC

GIVEN_SHA256 = "given_sha256"  # key of pairs.json: the SHA-256 of a user's file of pairs
AND = " and "  # between the versions of a package, if methods were computed with different versions
# The stage `train` is missing here, because it has one digest per method.
STAGES = ("fetch", "generate", "parse", "pairs", "evaluate_folds", "summary")


def write_record(dataset: DatasetFolder, settings: Mapping[str, Any], data: Path) -> None:
    """Write provenance.json of a data set, after its summary and tables.

    settings: the result of `dataset_settings`. data: the folder of the stored collections. Raises GradrankError if a
    checksum file is missing, or if a method was trained with settings that differ from `settings`.
    """
    members = settings.get("members", {})
    variants = {**settings["models"], **members}
    stamps = [stamp for name in variants for stamp in method_stamps(dataset.method(name))]
    convention = settings["evaluation"]["convention"]
    digests = {
        name: omit_empty(variant) | method_digests(dataset.method(name), settings, variant, convention)
        for name, variant in variants.items()
    }
    values = {
        "params": {key: value for key, value in settings.items() if key not in ("models", "members")},
        "data": data_digests(dataset.name, data),
        "code": {stage: code_digest(stage) for stage in STAGES},
        "methods": {name: digests[name] for name in settings["models"]},
        **({"members": {name: digests[name] for name in members}} if members else {}),
        **versions_and_processors(stamps),
    }
    files = [dataset.summary_path, dataset.summary_page_path, dataset.queries_path, dataset.tables_path]
    write_stamp(dataset.provenance_path, values, files)


def omit_empty(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a variant without keys whose value is an empty dict."""
    return {key: value for key, value in variant.items() if value != {}}


def data_digests(dataset: str, data: Path) -> dict[str, str]:
    """Return the SHA-256 of a data set's text, of its collection.json and, if there are pairs, of its pairs.json.

    The SHA-256 of a user's file of pairs has the key `given_sha256`.
    """
    folder, pairs = data / dataset, data.parent / "pairs" / dataset / PAIRS
    digests = {"source_sha256": StoredCollection.open(folder).source_sha256, COLLECTION: sha256(folder / COLLECTION)}
    if not pairs.is_file():
        return digests
    given = read_sealed(pairs).get(GIVEN_SHA256)
    return digests | {PAIRS: sha256(pairs)} | ({GIVEN_SHA256: given} if given else {})


def method_stamps(method: MethodFolder) -> list[dict[str, Any]]:
    """Return the contents of a method's checksum files: evaluation.json, then spec.json of each evaluated fold."""
    return [read_stamp(method.evaluation_path), *(read_stamp(fold.spec_path) for fold in measured_folds(method))]


def method_digests(
    method: MethodFolder, settings: Mapping[str, Any], variant: Mapping[str, Any], convention: str | None = None
) -> dict[str, Any]:
    """Return the digests of a method.

    `train` is the digest of its training code, `results` of its models, scores and histories, and `values` of its
    values per query. `folds` is the result of `folds_digests`. For imported scores, `scores` is the digest of the score
    files. settings, variant: the current settings, as returned by `model_settings` and `variant_settings`. convention:
    the primary convention of the data set; if None, it is not compared.

    Raises GradrankError if the method has no trained fold; if the model, parameters or seed of a fold differ from the
    current settings; if two folds were trained with different code; or if `refusal` rejects an instruction set.
    """
    folds = measured_folds(method)
    if not folds:
        raise GradrankError(f"{method.folder}: no trained fold. Fix: run `snakemake --cores 2 {method.dataset}`")
    specs = [read_stamp(fold.spec_path) for fold in folds]
    first_seed = settings.get("seeds", [settings[SEED]])[0]
    for fold, spec in zip(folds, specs, strict=True):
        seed = first_seed if fold.seed is None else fold.seed
        expected = {SEED: seed, "model": variant["model"], "code": specs[0]["code"]}
        differing = [key for key, value in expected.items() if spec[key] != value]
        differing += ["params"] if changed_params(spec["model"], spec["params"])["digest"] != variant["digest"] else []
        if variant["model"] != IMPORTED and convention not in (None, selection_convention(spec)):
            differing += ["convention"]
        if differing:
            raise GradrankError(
                f"{fold.spec_path}: trained with another {', '.join(differing)} than the settings or fold 1 require. "
                f"Fix: delete {fold.folder}, then run the same command again"
            )
        if reason := refusal(spec.get("processor")):
            raise GradrankError(
                f"{fold.spec_path}: {reason}. Fix: delete {fold.folder} and run the same command again, or set "
                "GRADRANK_CPU=native to keep results that no other processor can reproduce"
            )
    digests = {"train": specs[0]["code"], "results": results_digest(method), "values": values_digest(method)}
    digests["folds"] = folds_digests(folds, first_seed)
    if variant["model"] == IMPORTED:
        digests["scores"] = short_digest([spec["scores_sha256"] for spec in specs])
    return digests


def folds_digests(folds: Iterable[NumberedFold], first_seed: int) -> dict[str, str]:
    """Return a dict from each seed to the digests of the scores of its folds, separated by spaces.

    first_seed: the seed of the folds fold<k>/.
    """
    digests: dict[str, list[str]] = {}
    for fold in folds:
        digests.setdefault(str(first_seed if fold.seed is None else fold.seed), []).append(scores_digest(fold))
    return {seed: " ".join(of_seed) for seed, of_seed in digests.items()}


def scores_digest(fold: NumberedFold) -> str:
    """Return a digest of the scores of all parts of a fold, which does not depend on the form of their file."""
    import polars as pl

    scores = pl.read_parquet(fold.scores_path, columns=["score"])["score"]
    return hashlib.sha256(scores.to_numpy().astype("<f8").tobytes()).hexdigest()[:DIGITS]


def values_digest(method: MethodFolder) -> str:
    """Return a digest of a method's values per query, from its evaluation.json."""
    return read_stamp(method.evaluation_path)["files"][PER_QUERY][:DIGITS]


def results_digest(method: MethodFolder) -> str:
    """Return a digest of a method's models, scores and histories, from the spec.json of each fold."""
    digests = {}
    for fold in measured_folds(method):
        folder = fold.folder.relative_to(method.folder).as_posix()
        files = read_stamp(fold.spec_path)["files"]
        digests |= {f"{folder}/{name}": digest for name, digest in files.items() if Path(name).name != SPEC}
    return short_digest(digests)


def versions_and_processors(stamps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a dict with `versions` and `processors`: all package versions and instruction sets in the checksum files.

    stamps: the contents of the checksum files.
    """
    versions: dict[str, set[str]] = {}
    processors = set()
    for stamp in stamps:
        processors.add(stamp.get("processor", "not recorded"))
        for name, version in stamp["versions"].items():
            versions.setdefault(name, set()).add(version)
    return {
        "versions": {name: AND.join(sorted(values)) for name, values in sorted(versions.items())},
        "processors": sorted(processors),
    }
