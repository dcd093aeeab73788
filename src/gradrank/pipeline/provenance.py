"""What results were made of: results/provenance.json, which `gradrank verify` holds against a checkout.

`datasets.<name>` of the file describes results/<name>/ when the workflow last found it complete:

- params: what params.yaml said of it, resolved: `seed`, `dataset` (its settings), `models`, `evaluation`;
- data: `source_sha256` (of the text) and the SHA-256 of the Parquet files, by path;
- code: a digest a stage, and the SHA-256 of every file that one of them depends on;
- versions: of the packages that trained the models, from their spec.json;
- git_revision: of the checkout, `-dirty` where files differed from it; null outside a repository;
- results: the SHA-256 of every score file, model, specification, history, per_query.parquet and summary.

There are no times in it: two runs of one commit from scratch write the same bytes. timing.json and the report,
which hold times, are left out.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256, write_json
from gradrank.learning.model import models
from gradrank.pipeline.code_closure import stage_files

DATA_STAGES = ("fetch", "generate", "parse", "pairs")
SUMMARIES = ("summary.json", "summary.md", "tables/*")
STAGES = (*DATA_STAGES, "evaluate_folds", "summary")


def record(params: Mapping[str, Any], results: Path, data: Path, out: Path) -> None:
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
        new = _describe(dataset, values, results, data)
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


def result_files(folder: Path, names: Iterable[str]) -> list[Path]:
    """Every file of results/<dataset> that equal parameters, code and data make equal."""
    found = [path for pattern in SUMMARIES for path in folder.glob(pattern)]
    found += [path for name in names for path in (folder / name).rglob("*")]
    return sorted(
        path
        for path in found
        if path.is_file() and path.name != "timing.json" and not path.name.startswith(".")
    )


def git_revision(folder: Path) -> str | None:
    """The checkout's commit, with `-dirty` where tracked files differ from it; None outside a repository."""
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def _describe(dataset: str, values: dict[str, Any], results: Path, data: Path) -> dict[str, Any]:
    folder = results / dataset
    stages, files = code_digests(variant["model"] for variant in values["models"].values())
    hashes = {str(path): sha256(path) for path in data_files(dataset, data)}
    specs = [spec for name in values["models"] for spec in _specs(folder / name, values)]
    versions = {
        name: {spec["versions"].get(name) for spec in specs} for spec in specs for name in spec["versions"]
    }
    return {
        "params": values,
        "data": {"source_sha256": read_json(data / f"{dataset}.json")["source_sha256"], "files": hashes},
        "code": {"stages": stages, "files": files},
        "versions": {name: " and ".join(sorted(map(str, found))) for name, found in sorted(versions.items())},
        "git_revision": git_revision(folder),
        "results": {str(path): sha256(path) for path in result_files(folder, values["models"])},
    }


def _specs(folder: Path, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each fold's spec.json. Raises GradrankError for one that was trained with other parameters."""
    for path in sorted(folder.glob("fold*/spec.json")):
        spec, wanted = read_json(path), values["models"][folder.name] | {"seed": values["seed"]}
        if differing := [key for key in wanted if spec[key] != wanted[key]]:
            raise GradrankError(
                f"{path}: was trained with other values of {', '.join(differing)} than are in force; delete "
                f"{path.parent} and {folder / 'per_query.parquet'}, then the same command trains it again"
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
    results = entry["results"]
    parsing = [
        params["seed"],
        params["dataset"],
        data["source_sha256"],
        [stages[stage] for stage in DATA_STAGES],
    ]
    steps = {"parse": (parsing, data["files"])}

    def among(part: str) -> dict[str, str]:
        return {path: digest for path, digest in results.items() if part in path}

    trained = among("/fold")
    for name, variant in params["models"].items():
        own = among(f"/{name}/fold")
        specs = {path: digest for path, digest in own.items() if path.endswith("/spec.json")}
        causes = [params["seed"], variant, data, stages[f"train {variant['model']}"], specs]
        if any("/model/members/" in path for path in own):  # made of other models' scores
            causes.append({path: digest for path, digest in trained.items() if path not in own})
        steps[f"train {name}"] = causes, own
        measuring = [params["evaluation"], data, stages["evaluate_folds"], own]
        steps[f"evaluate {name}"] = measuring, among(f"/{name}/per_query.parquet")
    measured = trained | among("/per_query.parquet")
    summaries = {path: digest for path, digest in results.items() if path not in measured}
    steps["summary"] = [params, data, stages, measured], summaries
    return steps
