"""Files of results that differ from their record though nothing that they are made of does."""

from pathlib import Path
from typing import Any

from gradrank.evaluation.elsewhere import ORIGIN
from gradrank.results import MEMBERS, MODEL, PER_QUERY, Fold

Hashes = dict[str, str]  # SHA-256 by path
DATA_STAGES = ("fetch", "generate", "parse", "pairs")


def unexplained(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Of two records of a data set, as of `gradrank.pipeline.provenance`: the files, by path."""
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
        causes = [
            params["seed"],
            params.get("seeds"),
            variant,
            data,
            stages.get(f"train {name}"),
            made_with,
        ]
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
