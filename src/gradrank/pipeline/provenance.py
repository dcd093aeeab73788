"""What results were made of: results/<dataset>/provenance.json, in git; `gradrank verify` holds it against a checkout.

It describes results/<dataset>/ when the workflow last found it complete:

- params: what params.yaml said of it, resolved: `seed`, `seeds` where models are trained with others than this one,
  `dataset` (its settings), `pairs`, `models`, `evaluation`;
- data: `source_sha256` (of the text), `given_sha256` (of a user's own pairs, if any) and the SHA-256 of the Parquet
  files, by path;
- code: a digest a stage, and the SHA-256 of every file that one of them depends on;
- versions: of the packages that trained the models, from their spec.json;
- processors: the instruction sets that trained them, likewise;
- results: the SHA-256 of every score file, model, specification, history, per_query.parquet, table and summary, by
  path within the folder.

There are no times in it, no places and no revision, which cannot stand in the commit that it names: runs of equal code,
data and packages write the same bytes anywhere. So `git status` after a run says whether this machine made the bytes
that are committed, of the models and scores too, which are not in git. timing.json and the report, which hold times,
are left out.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradrank.errors import GradrankError
from gradrank.evaluation.elsewhere import IMPORTED
from gradrank.evaluation.seeds import SEED, measured_folds
from gradrank.files import sha256, write_json
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import WORKFLOW, named, stage_files
from gradrank.pipeline.data_record import data_record
from gradrank.pipeline.unexplained import DATA_STAGES, unexplained
from gradrank.processor import refusal
from gradrank.results import TIMING, DataSet, Fold, Method, Results

Hashes = dict[str, str]  # SHA-256 by path
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


def registered(params: Mapping[str, Any]) -> set[str]:
    """The registered models behind the variants of `in_force`."""
    return {variant["model"] for variant in params["models"].values()}


def code_files(names: Iterable[str]) -> dict[str, list[str]]:
    """The files that each stage of a data set depends on, with a stage `train <model>` for each of these models."""
    workflow = {"workflow": rule_files(*MEASURING, "train", "summary")}
    return measuring_files(names) | {"summary": stage_files("summary")} | workflow


def measuring_files(names: Iterable[str]) -> dict[str, list[str]]:
    """The same up to the measured values of these registered models."""
    stages = {stage: stage_files(stage) for stage in MEASURING}
    return stages | {f"train {name}": making_files(name) for name in sorted(set(names))}


def making_files(model: str) -> list[str]:
    """The files that the scores of a registered model depend on, or those that come from elsewhere."""
    if model == IMPORTED:
        return stage_files("import_scores")
    return stage_files("train", models()[model].__module__)


def makers() -> set[str]:
    """What may stand in spec.json as the model."""
    return {*models(), IMPORTED}


def rule_files(*stages: str) -> list[str]:
    """The files of the workflow that say how these stages run: an edit of its other rules makes no other results."""
    rules = {path: path.read_text(encoding="utf-8") for path in (WORKFLOW / "rules").glob("*.smk")}
    return sorted(
        str(path)
        for path, text in rules.items()
        if path.stem == "common" or any(f"\nrule {stage}:" in text for stage in stages)
    )


def code_digests(stages: Mapping[str, list[str]]) -> dict[str, Hashes]:
    """Of the files of each stage: `stages`, a digest each, and `files`, the SHA-256 of each by its name."""
    places = {named(path): path for paths in stages.values() for path in paths}
    files = {name: sha256(places[name]) for name in sorted(places)}
    digests = {
        stage: hashlib.sha256(
            json.dumps([(name, files[name]) for name in sorted(map(named, paths))]).encode()
        ).hexdigest()
        for stage, paths in stages.items()
    }
    return {"stages": digests, "files": files}


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
        "code": code_digests(code_files(registered(params))),
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
