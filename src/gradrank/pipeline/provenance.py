"""What results were made of: results/provenance.json, which `gradrank verify` holds against a checkout.

`datasets.<name>` of the file describes results/<name>/ when the workflow last found it complete:

- params: what params.yaml said of it, resolved: `seed`, `dataset` (its settings), `models`, `evaluation`;
- data: `source_sha256` (of the text) and the SHA-256 of the Parquet files, by path;
- code: a digest a stage, and the SHA-256 of every file that one of them depends on;
- versions: of the packages that trained the models, from their spec.json;
- processors: the instruction sets that trained them, likewise;
- git_revision: of the checkout, `-dirty` where code or parameters differed from it; null outside a repository;
- results: the SHA-256 of every score file, model, specification, history, per_query.parquet and summary.

There are no times in it: two runs of one commit from scratch write the same bytes. timing.json and the report,
which hold times, are left out.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256, write_json
from gradrank.git import revision
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import stage_files
from gradrank.processor import refusal
from gradrank.results import MEMBERS, MODEL, PER_QUERY, SPEC, TIMING, DataSet, Fold, Method, Results

Hashes = dict[str, str]  # SHA-256 by path
DATA_STAGES = ("fetch", "generate", "parse", "pairs")
STAGES = (*DATA_STAGES, "evaluate_folds", "summary")


def provenance(params: Mapping[str, Any], results: Path, data: Path, out: Path) -> None:
    """Write the entries of `params["datasets"]` to `out`; those of other data sets stay as they are.

    params: `in_force` of params.yaml. data: the folder of the Parquet collections. Raises GradrankError where a
    file is missing, and where one changed since the last record though nothing that it is made of did.
    """
    try:
        described = read_json(out)["datasets"]
    except FileNotFoundError:
        described = {}
    for dataset in params["datasets"]:
        values = {key: params[key] for key in ("seed", "models", "evaluation")}
        values["dataset"] = params["datasets"][dataset]
        new = _describe(dataset, values, Results(results), data)
        if changed := _unexplained(described.get(dataset), new):
            raise GradrankError(
                f"{', '.join(changed)}: changed since {out} was written, though no parameter, code or data that "
                "it is made of did. Was it edited? Delete it, then the same command makes it again; to keep it "
                f"(trained again on another machine, or on a GPU), delete {out}"
            )
        described[dataset] = new
    write_json(out, {"datasets": dict(sorted(described.items()))})


def in_force(params: Any, datasets: Iterable[str], names: Iterable[str]) -> dict[str, Any]:
    """What a `gradrank.pipeline.params.Params` says of these data sets and models, as plain data."""
    settings = {dataset: params.datasets.get(dataset) for dataset in datasets}
    return {
        "seed": params.seed,
        "datasets": {name: own.model_dump(mode="json") if own else {} for name, own in settings.items()},
        "models": {name: params.models[name].model_dump(include={"model", "params"}) for name in names},
        "evaluation": params.evaluation.model_dump(mode="json"),
    }


def code_files(names: Iterable[str]) -> dict[str, list[str]]:
    """The files that each stage depends on, with a stage `train <model>` for each of these registered models."""
    stages = {stage: stage_files(stage) for stage in STAGES}
    for name in sorted(set(names)):
        stages[f"train {name}"] = stage_files("train", models()[name].__module__)
    stages["workflow"] = ["workflow/Snakefile", *sorted(map(str, Path("workflow/rules").glob("*.smk")))]
    return stages


def code_digests(names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """A digest a stage, and the SHA-256 of each of their files."""
    stages = code_files(names)
    files = {path: sha256(path) for path in sorted({path for paths in stages.values() for path in paths})}
    digests = {
        stage: hashlib.sha256(json.dumps([(path, files[path]) for path in paths]).encode()).hexdigest()
        for stage, paths in stages.items()
    }
    return digests, files


def data_files(dataset: str, data: Path) -> list[Path]:
    """The Parquet files of a data set, with the description beside; `data` is the collections' folder."""
    pairs = data.parent / "pairs" / f"{dataset}.parquet"
    return [data / f"{dataset}.parquet", data / f"{dataset}.json", *([pairs] if pairs.is_file() else [])]


def result_files(own: DataSet, names: Iterable[str]) -> list[Path]:
    """Every file of a data set's results that equal parameters, code and data make equal."""
    found = [own.summary_path, own.summary_page_path, *own.tables_path.glob("*")]
    found += [path for name in names for path in own.method(name).folder.rglob("*")]
    return sorted(
        path for path in found if path.is_file() and path.name != TIMING and not path.name.startswith(".")
    )


def _describe(dataset: str, values: dict[str, Any], results: Results, data: Path) -> dict[str, Any]:
    own = results.dataset(dataset)
    stages, files = code_digests(variant["model"] for variant in values["models"].values())
    hashes = {str(path): sha256(path) for path in data_files(dataset, data)}
    specs = [spec for name in values["models"] for spec in _specs(own.method(name), values)]
    versions = {
        name: {spec["versions"].get(name) for spec in specs} for spec in specs for name in spec["versions"]
    }
    return {
        "params": values,
        "data": {"source_sha256": read_json(data / f"{dataset}.json")["source_sha256"], "files": hashes},
        "code": {"stages": stages, "files": files},
        "versions": {name: " and ".join(sorted(map(str, found))) for name, found in sorted(versions.items())},
        "processors": sorted({spec.get("processor", "not recorded") for spec in specs}),
        "git_revision": revision(results.project),
        "results": {str(path): sha256(path) for path in result_files(own, values["models"])},
    }


def _specs(method: Method, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of each fold. Raises GradrankError for one of other parameters or of another instruction set."""
    for fold in method.folds():
        spec, wanted = fold.spec(), values["models"][method.name] | {"seed": values["seed"]}
        if differing := [key for key in wanted if spec[key] != wanted[key]]:
            raise GradrankError(
                f"{fold.spec_path}: was trained with other values of {', '.join(differing)} than are in force; "
                f"delete {fold.folder} and {method.per_query_path}, then the same command trains it again"
            )
        if reason := refusal(spec.get("processor")):
            raise GradrankError(
                f"{fold.spec_path}: {reason}; delete {fold.folder} and {method.per_query_path}, then the same command "
                "trains it again; or set GRADRANK_CPU=native to keep what no other processor can make again"
            )
        yield spec


def _unexplained(old: dict[str, Any] | None, new: dict[str, Any]) -> list[str]:
    """Files that differ from the last record though all that they are made of is as it was."""
    if old is None:
        return []
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
        [stages[stage] for stage in DATA_STAGES],
    ]
    steps = {"parse": (parsing, data["files"])}
    trained, measured, summaries = _by_step(entry["results"])
    for name, variant in params["models"].items():
        own = trained.get(name, {})
        specs = {path: digest for path, digest in own.items() if Path(path).name == SPEC}
        causes = [params["seed"], variant, data, stages[f"train {variant['model']}"], specs]
        if any(f"/{MODEL}/{MEMBERS}/" in path for path in own):  # made of other models' scores
            causes.append({other: files for other, files in trained.items() if other != name})
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
