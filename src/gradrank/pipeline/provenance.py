"""What results were made of: results/<dataset>/provenance.json, in git; `gradrank verify` holds it against a checkout.

It describes results/<dataset>/ when the workflow last found it complete:

- params: what params.yaml said of it, resolved: `seed`, `dataset` (its settings), `pairs`, `models`, `evaluation`;
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
from gradrank.evaluation.elsewhere import IMPORTED, ORIGIN
from gradrank.files import sha256, write_json
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import WORKFLOW, named, stage_files
from gradrank.pipeline.data_record import data_record
from gradrank.processor import refusal
from gradrank.results import MEMBERS, MODEL, PER_QUERY, TIMING, DataSet, Fold, Method, Results

Hashes = dict[str, str]  # SHA-256 by path
DATA_STAGES = ("fetch", "generate", "parse", "pairs")
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
        changed = _unexplained(own.provenance(), new)
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
    """The same of what is trained and measured on any data set: `seed`, `pairs`, `models` and `evaluation`."""
    return {
        "seed": params.seed,
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
    found += [path for name in names for path in own.method(name).folder.rglob("*")]
    return sorted(
        path for path in found if path.is_file() and path.name != TIMING and not path.name.startswith(".")
    )


def read_specs(methods: Iterable[Method]) -> Iterator[tuple[Fold, dict[str, Any]]]:
    """Every fold of these methods and its spec.json. Raises GradrankError for one of another instruction set."""
    for fold in (fold for method in methods for fold in method.folds()):
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
    wanted = params["models"][fold.method.name] | {"seed": params["seed"]}
    if differing := [key for key in wanted if spec[key] != wanted[key]]:
        raise GradrankError(
            f"{fold.spec_path}: was trained with other values of {', '.join(differing)} than are in force; "
            f"delete {fold.folder} and {fold.method.per_query_path}, then the same command trains it again"
        )


def _unexplained(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Files that differ from the last record though all that they are made of is as it was."""
    then, now = _made_of(old), _made_of(new)
    return [
        path
        for step in sorted(now.keys() & then.keys())
        if then[step][0] == now[step][0]
        for path, digest in now[step][1].items()
        if then[step][1].get(path, digest) != digest
    ]


def _made_of(entry: dict[str, Any]) -> dict[str, tuple[list[Any], dict[str, str]]]:
    """What decides the files that each step wrote, and these files: parsing, each model's training and measuring."""
    params, data, stages = entry["params"], entry["data"], entry["code"]["stages"]
    parsing = [
        params["seed"],
        params["dataset"],
        data["source_sha256"],
        [params.get("pairs"), data.get("given_sha256")],
        [stages[stage] for stage in DATA_STAGES],
        entry["versions"].get("polars"),  # which writes the files; what trains is named in its spec.json
    ]
    steps = {"parse": (parsing, data["files"])}
    trained, measured, summaries = _by_step(entry["results"])
    for name, variant in params["models"].items():
        own = trained.get(name, {})
        made_with = [entry.get("processors"), entry["versions"]]
        causes = [params["seed"], variant, data, stages[f"train {variant['model']}"], made_with]
        if any(f"/{MODEL}/{MEMBERS}/" in path for path in own):  # made of other models' scores
            causes.append({other: files for other, files in trained.items() if other != name})
        # Scores from elsewhere are their owner's to change.
        causes.append([digest for path, digest in own.items() if path.endswith(f"/{MODEL}/{ORIGIN}")])
        steps[f"train {name}"] = causes, own
        measuring = [params["evaluation"], data, stages["evaluate_folds"], own]
        steps[f"evaluate {name}"] = measuring, measured.get(name, {})
    steps["summary"] = [params, data, stages, trained, measured], summaries
    return steps


def _by_step(results: dict[str, str]) -> tuple[dict[str, Hashes], dict[str, Hashes], Hashes]:
    """Files of a data set's results that training wrote, by method; measuring, by method; and the summary."""
    trained: dict[str, Hashes] = {}
    measured: dict[str, Hashes] = {}
    summaries: Hashes = {}
    for path, digest in results.items():
        if fold := Fold.holding(path):
            trained.setdefault(fold.method.name, {})[path] = digest
        elif Path(path).name == PER_QUERY:
            measured[Path(path).parent.name] = {path: digest}
        else:
            summaries[path] = digest
    return trained, measured, summaries
