"""The stamp of results/<dataset>/, in git: provenance.json, what a data set's results were made of.

- params: what params.yaml said, resolved: `seed`, `seeds`, `pairs`, `evaluation` and `dataset` (its settings);
- data: `source_sha256` of the text, and the SHA-256 of collection.json and pairs.json, which name their files;
- code: a digest per stage;
- methods: per method its registered `model`, its `params` that are not the defaults, if it has any, a `digest` of all
  parameters, and digests of the code that trains it (`train`), of its models, scores and histories (`results`) and of
  its values per query (`values`);
- versions, processors: the packages and the instruction sets that made the methods;
- files: the SHA-256 of the summary, the values per query and the tables.

There are no times in it, no paths of a machine and no revision: equal code, data and packages give equal bytes.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import refusal
from gradrank.base.results import PER_QUERY, SPEC, DatasetFolder, MethodFolder
from gradrank.base.stamps import read_stamp, write_stamp
from gradrank.config.code_digest import code_digest
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.seeds import SEED, measured_folds
from gradrank.provenance.settings import DIGITS, short_digest

STAGES = ("fetch", "generate", "parse", "pairs", "evaluate_folds", "summary")  # training has a digest per method


def write_record(own: DatasetFolder, settings: Mapping[str, Any], data: Path) -> None:
    """Write provenance.json of a data set whose summary and tables are written.

    settings: as `dataset_settings` returns them. data: the folder of the Parquet collections. Raises GradrankError
    where a method was not trained or measured as `settings` say.
    """
    stamps = [method_stamps(own.method(name)) for name in settings["models"]]
    entries = {
        name: brief(variant) | method_digests(own.method(name), settings, variant)
        for name, variant in settings["models"].items()
    }
    values = {
        "params": {key: value for key, value in settings.items() if key != "models"},
        "data": data_record(own.name, data),
        "code": {stage: code_digest(stage) for stage in STAGES},
        "methods": entries,
        **made_with(stamp for each in stamps for stamp in each),
    }
    files = [own.summary_path, own.summary_page_path, own.queries_path, own.tables_path]
    write_stamp(own.provenance_path, values, files)


def brief(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variant's settings as a record has them: without `params` if all are defaults."""
    return {key: value for key, value in variant.items() if value != {}}


def data_record(dataset: str, data: Path) -> dict[str, str]:
    """Return the SHA-256 of a data set's text, of its collection.json and, where there are pairs, of its pairs.json."""
    own, pairs = data / dataset, data.parent / "pairs" / dataset / PAIRS
    found = {"source_sha256": StoredCollection.open(own).source_sha256, COLLECTION: sha256(own / COLLECTION)}
    return found | ({PAIRS: sha256(pairs)} if pairs.is_file() else {})


def method_stamps(method: MethodFolder) -> list[dict[str, Any]]:
    """Return the stamps of a measured method: evaluation.json, then spec.json of each fold."""
    return [read_stamp(method.evaluation_path), *(read_stamp(fold.spec_path) for fold in measured_folds(method))]


def method_digests(method: MethodFolder, settings: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the code that trained a method (`train`), of its `results` and of its `values` per query.

    Raises GradrankError where a fold was trained with other parameters, another seed, other code or another instruction
    set than the others and `settings` name.
    """
    folds = measured_folds(method)
    if not folds:
        raise GradrankError(f"{method.folder}: no trained fold. Fix: run `snakemake --cores 2 {method.dataset}`")
    specs = [read_stamp(fold.spec_path) for fold in folds]
    first = settings.get("seeds", [settings[SEED]])[0]
    for fold, spec in zip(folds, specs, strict=True):
        wanted = {SEED: first if fold.seed is None else fold.seed, "model": variant["model"], "code": specs[0]["code"]}
        differing = [key for key, value in wanted.items() if spec[key] != value]
        differing += ["params"] if short_digest(spec["params"]) != variant["digest"] else []
        if differing:
            raise GradrankError(
                f"{fold.spec_path}: trained with another {', '.join(differing)} than is in force. "
                f"Fix: delete {fold.folder}, then run the same command again"
            )
        if reason := refusal(spec.get("processor")):
            raise GradrankError(
                f"{fold.spec_path}: {reason}. Fix: delete {fold.folder} and run the same command again, or set "
                "GRADRANK_CPU=native to keep results that no other processor can reproduce"
            )
    return {"train": specs[0]["code"], "results": results_digest(method), "values": values_digest(method)}


def values_digest(method: MethodFolder) -> str:
    """Return a digest of a method's values per query, as its stamp names it."""
    return read_stamp(method.evaluation_path)["files"][PER_QUERY][:DIGITS]


def results_digest(method: MethodFolder) -> str:
    """Return a digest of a method's models, scores and histories, as its stamps name them."""
    found = {}
    for fold in measured_folds(method):
        place = fold.folder.relative_to(method.folder).as_posix()
        files = read_stamp(fold.spec_path)["files"]
        found |= {f"{place}/{name}": digest for name, digest in files.items() if Path(name).name != SPEC}
    return short_digest(found)


def made_with(stamps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `versions`, of packages, and `processors`, instruction sets, that stamps name."""
    versions: dict[str, set[str]] = {}
    processors = set()
    for stamp in stamps:
        processors.add(stamp.get("processor", "not recorded"))
        for name, version in stamp["versions"].items():
            versions.setdefault(name, set()).add(version)
    return {
        "versions": {name: " and ".join(sorted(found)) for name, found in sorted(versions.items())},
        "processors": sorted(processors),
    }
