"""A git revision, or a DVC experiment, which is a commit too, as a Side.

Git holds summary.json and params.yaml; DVC the values a query and, in results/snapshot, provenance and timings.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gradrank.diff.results import (
    costs_of,
    faults,
    measured,
    methods_of,
    of_provenance,
    params_of,
    primary_convention,
)
from gradrank.diff.side import Side
from gradrank.errors import GradrankError
from gradrank.learning.model import models
from gradrank.pipeline.committed import Committed, git
from gradrank.pipeline.provenance import code_files
from gradrank.validation import flat

_EXPERIMENT = re.compile(r"refs/exps/[0-9a-f]{2}/[0-9a-f]{38}/(?P<name>.+)")
_CODE = re.compile(r"src/.*\.py|workflow/rules/.*\.smk")
_SNAPSHOT = "results/snapshot"


def find_commit(name: str) -> tuple[str, str] | None:
    """The commit that a git revision or a DVC experiment is called by, and which of them it is."""
    if found := git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return found.decode().strip(), "git revision"
    listed = git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b""
    commits = {
        commit
        for commit, ref in (line.split(" ", 1) for line in listed.decode().splitlines())
        if (match := _EXPERIMENT.fullmatch(ref)) and match["name"] == name
    }
    if len(commits) > 1:
        raise GradrankError(
            f"{name}: {len(commits)} experiments have this name, on different revisions; give the commit of one "
            f"of them: {', '.join(sorted(commits))}"
        )
    return (commits.pop(), "DVC experiment") if commits else None


def read_revision(name: str, kind: str, commit: str) -> Side:
    """Raises GradrankError where the revision holds no results."""
    import polars as pl

    committed = Committed(commit)
    summaries = {
        path.split("/")[1]: json.loads(text)
        for path, text in sorted(committed.files.items())
        if re.fullmatch(r"results/[^/]+/summary\.json", path)
    }
    frame, cure = None, "run the workflow for it"
    try:
        frame = pl.read_parquet(io.BytesIO(committed.read("results/per_query.parquet")))
    except GradrankError as error:
        cure = str(error)
    datasets = sorted({*summaries, *([] if frame is None else frame["dataset"].unique())})
    if not datasets:
        raise GradrankError(
            f"{name}: no results/<dataset>/summary.json there; run in the project's own folder"
        )
    methods = {dataset: summaries.get(dataset, {}) for dataset in datasets}
    known, notices = _known(committed, methods)
    values = measured(frame, known["conventions"]) if frame is not None else {}
    timings = committed.find(_SNAPSHOT, "timing.json")
    return Side(
        name=name,
        kind=kind,
        revision=commit,
        methods=methods_of(summaries, values, costs_of({path: committed.read(path) for path in timings})),
        notices=(*notices, *faults(summaries, values, cure)),
        **known,
    )


def _known(committed: Committed, methods: Mapping[str, Iterable[str]]) -> tuple[dict[str, Any], list[str]]:
    """How these methods' results were made: provenance.json, else what is committed beside them; and notices."""
    study = yaml.safe_load(committed.files.get("params.yaml", b"")) or {}
    variants, params, notices = _params(study, methods)
    known: dict[str, Any] = {
        "conventions": dict.fromkeys(methods, primary_convention(study)),
        "params": params,
        "data": {dataset: _data(committed, dataset) for dataset in methods},
        "code": {
            dataset: _code(committed, {variants.get(name, name) for name in names})
            for dataset, names in methods.items()
        },
        "versions": {},
    }
    recorded = _provenance(committed)
    for part in known:
        known[part] |= {name: recorded[part][name] for name in methods if name in recorded.get(part, {})}
    return known, notices


def _provenance(committed: Committed) -> dict[str, Any]:
    for path in ("results/provenance.json", f"{_SNAPSHOT}/provenance.json"):
        try:
            return of_provenance(json.loads(committed.read(path)))
        except GradrankError:
            continue
    return {}


def _params(
    study: Mapping[str, Any], datasets: Iterable[str]
) -> tuple[dict[str, str], dict[str, dict[str, Any]], list[str]]:
    """The model behind each variant's name, and params.yaml by data set, resolved as results record it.

    Without the checks, and with a notice, where the present code refuses it.
    """
    from gradrank.pipeline.params import check

    try:
        checked = check(study).model_dump(mode="json")
    except GradrankError as error:
        fault = str(error).splitlines()[-1].strip()
        notice = (
            f"the present code refuses its params.yaml ({fault}): compared as written, with present defaults"
        )
        return {}, dict.fromkeys(datasets, _unchecked(study)), [notice]
    variants = {name: variant["model"] for name, variant in checked["models"].items()}
    own = {key: checked[key] for key in ("seed", "models", "evaluation")}
    settings = {dataset: checked["datasets"].get(dataset) or {} for dataset in datasets}
    return (
        variants,
        {name: params_of(name, own | {"dataset": values}) for name, values in settings.items()},
        [],
    )


def _unchecked(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Seed and models as written, over the defaults of the models that are still registered."""
    found: dict[str, dict[str, Any]] = {"": {"seed": study.get("seed")}}
    for name, values in (study.get("models") or {}).items():
        defaults = models()[name].Params().model_dump(mode="json") if name in models() else {}
        found[f"models.{name}"] = flat(defaults) | flat(values or {})
    return found


def _data(committed: Committed, dataset: str) -> dict[str, str]:
    """The hash of the text that the collection was parsed from, if DVC has its description."""
    try:
        return {"source": json.loads(committed.read(f"data/parquet/{dataset}.json"))["source_sha256"]}
    except GradrankError:
        return {}


def _code(committed: Committed, names: set[str]) -> dict[str, str]:
    """SHA-256 of the files that these models' results depend on today, and of those that are gone since."""
    stages = code_files(names & models().keys())
    today = {path for paths in stages.values() for path in paths}
    return {
        path: hashlib.sha256(text).hexdigest()
        for path, text in committed.files.items()
        if path in today or (_CODE.fullmatch(path) and not Path(path).exists())
    }
