"""What results were made of: results/<dataset>/provenance.json, in git; `gradrank verify` holds it against a checkout.

It describes results/<dataset>/ when the workflow last found it complete:

- params: what params.yaml said of it, resolved: `seed`, `seeds` where models are trained with others than this one,
  `dataset` (its settings), `pairs`, `models`, `evaluation`;
- data: `source_sha256` (of the text), `given_sha256` (of a user's own pairs, if any) and the SHA-256 of the Parquet
  files, by path;
- code: a digest a stage, and one of every file that one of them depends on: of what it means, without comments,
  docstrings and formatting (`source_digest`);
- versions: of the packages that trained the models, from their spec.json;
- processors: the instruction sets that trained them, likewise;
- results: the SHA-256 of every score file, model, specification, history, per_query.parquet, table and summary, by
  path within the folder.

There are no times in it, no places and no revision, which cannot stand in the commit that it names: runs of equal code,
data and packages write the same bytes anywhere. So `git status` after a run says whether this machine made the bytes
that are committed, of the models and scores too, which are not in git. timing.json and the report, which hold times,
are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gradrank.errors import GradrankError
from gradrank.evaluation.elsewhere import IMPORTED
from gradrank.evaluation.seeds import SEED, measured_folds
from gradrank.files import sha256, write_json
from gradrank.learning.model import models, training_modules
from gradrank.pipeline.code_closure import digest, named, stage_files
from gradrank.pipeline.data_record import data_record
from gradrank.pipeline.source_digest import read_source
from gradrank.pipeline.unexplained import DATA_STAGES, unexplained
from gradrank.processor import refusal
from gradrank.results import TIMING, DataSet, Fold, Method, Results

Hashes = dict[str, str]  # SHA-256 by path
Variants = Mapping[str, Mapping[str, Any]]  # by method: `model`, the registered one, and `params`
MEASURING = (*DATA_STAGES, "evaluate_folds")
NAMED = 10  # files that a refusal names; of a model there may be hundreds


def provenance(dataset: str, params: Mapping[str, Any], results: Path, data: Path) -> None:
    """Write results/<dataset>/provenance.json, over the one that lies there: an older run's, or the committed one.

    params: `in_force` of params.yaml. data: the folder of the Parquet collections. Raises GradrankError where a
    file is missing, and where one differs from the record that lies there though nothing that it is made of does.
    """
    own = Results(results).dataset(dataset)
    new = _describe(own, params, data)
    if own.recorded:
        changed = unexplained(own.provenance(), new)
        refuse(
            [str(own.folder / path) if path in new["results"] else path for path in changed],
            own.provenance_path,
        )
    write_json(own.provenance_path, new)


def refuse(changed: list[str], record: Path) -> None:
    """Raise GradrankError where files `changed` that nothing explains."""
    if not changed:
        return
    named = ", ".join(changed[:NAMED]) + (f" and {len(changed) - NAMED} more" if changed[NAMED:] else "")
    raise GradrankError(
        f"{named}: not the bytes that {record} names, though no parameter, code, data or package that they are made of "
        "is another. Were they edited? `gradrank verify` says what to delete, then the same command makes them again. "
        "Does this machine compute other bytes than the one whose record is in git? To keep its own (of a GPU, say), "
        f"delete {record}: the same command writes it anew, and `git diff` shows every file that differs"
    )


def in_force(params: Any, dataset: str, names: Iterable[str]) -> dict[str, Any]:
    """What a `gradrank.pipeline.params.Params` says of a data set and these models, as plain data."""
    settings = params.datasets.get(dataset)
    found = models_in_force(params, names)
    found["evaluation"]["convention"] = params.convention(dataset)
    own = settings.model_dump(mode="json", exclude={"convention"}, exclude_none=True) if settings else {}
    return found | {"dataset": own}


def models_in_force(params: Any, names: Iterable[str]) -> dict[str, Any]:
    """The same of what is trained and measured on any data set: `seed`, `seeds`, `pairs`, `models`, `evaluation`."""
    names = list(names)
    others = {params.seeds_of(name) for name in names} - {(params.seed,)}
    return {
        "seed": params.seed,
        **({"seeds": list(params.seeds)} if others else {}),
        "pairs": params.pairs.model_dump(mode="json"),
        "models": {name: params.models[name].model_dump(include={"model", "params"}) for name in names},
        "evaluation": params.evaluation.model_dump(mode="json"),
    }


def code_files(variants: Variants) -> dict[str, list[str]]:
    """Return the files that each stage of a data set depends on, with a stage `train <method>` per method."""
    return measuring_files(variants) | {"summary": stage_files("summary")}


def measuring_files(variants: Variants) -> dict[str, list[str]]:
    """Return the same for the stages up to the measured values."""
    stages = {stage: stage_files(stage) for stage in MEASURING}
    made = {f"train {name}": making_files(own["model"], own["params"]) for name, own in variants.items()}
    return stages | dict(sorted(made.items()))


def making_files(model: str, params: Mapping[str, Any]) -> list[str]:
    """Return the files that a method's scores depend on. model: registered, or `IMPORTED`."""
    if model == IMPORTED:
        return stage_files("import_scores")
    return stage_files("train", *trained_modules({"model": model, "params": params}))


def trained_modules(told: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules of the model that a variant, or a study's job, trains; none if it trains none.

    Parameters that the model does not accept, such as those of an older record, name no further modules.
    """
    if told.get("model", IMPORTED) == IMPORTED:
        return ()
    cls = models()[told["model"]]
    try:
        return training_modules(cls, cls.Params(**told.get("params", {})))
    except ValidationError:
        return (cls.__module__,)


def known_variants(variants: Variants) -> dict[str, Mapping[str, Any]]:
    """Return the variants whose model is registered here."""
    return {name: own for name, own in variants.items() if own["model"] in {*models(), IMPORTED}}


def code_digests(stages: Mapping[str, list[str]]) -> dict[str, Hashes]:
    """Return `stages`, a digest for each stage, and `files`, one for each file by its name."""
    places = {named(path): path for paths in stages.values() for path in paths}
    return {
        "stages": {stage: digest(paths) for stage, paths in stages.items()},
        "files": {name: read_source(places[name]).digest for name in sorted(places)},
    }


def result_files(own: DataSet, names: Iterable[str]) -> list[Path]:
    """Every file of a data set's results that equal parameters, code and data make equal."""
    found = [own.summary_path, own.summary_page_path, own.queries_path, *own.tables_path.glob("*")]
    for method in map(own.method, names):
        measured = {fold.folder for fold in measured_folds(method)}
        inside = ((path, Fold.holding(path)) for path in method.folder.rglob("*"))
        found += [path for path, fold in inside if fold is None or fold.folder in measured]
    return sorted(
        path for path in found if path.is_file() and path.name != TIMING and not path.name.startswith(".")
    )


def read_specs(methods: Iterable[Method]) -> Iterator[tuple[Fold, dict[str, Any]]]:
    """Every fold that these methods were measured with, and its spec.json.

    Raises GradrankError for one of another instruction set.
    """
    for fold in (fold for method in methods for fold in measured_folds(method)):
        spec = fold.spec()
        if reason := refusal(spec.get("processor")):
            raise GradrankError(
                f"{fold.spec_path}: {reason}; delete {fold.folder} and {fold.method.per_query_path}, then the same "
                "command trains it again; or set GRADRANK_CPU=native to keep what no other processor can make again"
            )
        yield fold, spec


def trained_with(specs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`versions`, of packages, and `processors`, instruction sets, of specifications."""
    versions: dict[str, set[str]] = {}
    processors = set()
    for spec in specs:
        processors.add(spec.get("processor", "not recorded"))
        for name, version in spec["versions"].items():
            versions.setdefault(name, set()).add(version)
    return {
        "versions": {name: " and ".join(sorted(found)) for name, found in sorted(versions.items())},
        "processors": sorted(processors),
    }


def _describe(own: DataSet, params: Mapping[str, Any], data: Path) -> dict[str, Any]:
    specs = []
    for fold, spec in read_specs(map(own.method, params["models"])):
        _check_trained_with(params, fold, spec)
        specs.append(spec)
    files = result_files(own, params["models"])
    return {
        "params": params,
        "data": data_record(own.name, data),
        "code": code_digests(code_files(params["models"])),
        **trained_with(specs),
        "results": {str(path.relative_to(own.folder)): sha256(path) for path in files},
    }


def _check_trained_with(params: Mapping[str, Any], fold: Fold, spec: dict[str, Any]) -> None:
    first = params.get("seeds", [params[SEED]])[0]
    wanted = params["models"][fold.method.name] | {SEED: first if fold.seed is None else fold.seed}
    if differing := [key for key in wanted if spec[key] != wanted[key]]:
        raise GradrankError(
            f"{fold.spec_path}: was trained with other values of {', '.join(differing)} than are in force; "
            f"delete {fold.folder} and {fold.method.per_query_path}, then the same command trains it again"
        )
