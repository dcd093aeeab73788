"""A git revision, or a DVC experiment, which is a commit too, as a Side.

Git holds summary.json, provenance.json and params.yaml; DVC the values a query and, in results/snapshot, timings.
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
    faults,
    measured,
    methods_of,
    of_provenance,
    params_of,
)
from gradrank.diff.side import Side
from gradrank.errors import GradrankError
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.primary import primary_convention
from gradrank.learning.model import models
from gradrank.pipeline.committed import Committed
from gradrank.pipeline.provenance import code_files
from gradrank.results import SUMMARY, TIMING, Fold, Results
from gradrank.validation import flat

_CODE = re.compile(r"src/.*\.py|workflow/rules/.*\.smk")
_RESULTS = Results()


def read_revision(name: str, kind: str, commit: str) -> Side:
    """Raises GradrankError where the revision holds no results."""
    import polars as pl

    committed = Committed(commit)
    summaries = {
        own.name: json.loads(text)
        for path, text in sorted(committed.files.items())
        if (own := _RESULTS.dataset(Path(path).parent.name)).summary_path == Path(path)
    }
    frame, cure = None, "run the workflow for it"
    try:
        frame = pl.read_parquet(io.BytesIO(committed.read(str(_RESULTS.per_query_path))))
    except GradrankError as error:
        cure = str(error)
    datasets = sorted({*summaries, *([] if frame is None else frame["dataset"].unique())})
    if not datasets:
        raise GradrankError(f"{name}: no results/<dataset>/{SUMMARY} there; run in the project's own folder")
    methods = {dataset: summaries.get(dataset, {}) for dataset in datasets}
    known, notices = _known(committed, methods)
    values = measured(frame, known["conventions"]) if frame is not None else {}
    return Side(
        name=name,
        kind=kind,
        revision=commit,
        methods=methods_of(summaries, values, _costs(committed)),
        notices=(*notices, *faults(summaries, values, cure)),
        **known,
    )


def _costs(committed: Committed) -> dict[tuple[str, str], Cost | None]:
    """By data set and method."""
    jobs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for path in committed.find(str(_RESULTS.snapshot.folder), TIMING):
        method = Fold(Path(path).parent).method
        jobs.setdefault((method.dataset, method.name), []).append(json.loads(committed.read(path)))
    return {key: Cost.of(own) for key, own in jobs.items()}


def _known(committed: Committed, methods: Mapping[str, Iterable[str]]) -> tuple[dict[str, Any], list[str]]:
    """How these methods' results were made: provenance.json, else what is committed beside them; and notices."""
    study = yaml.safe_load(committed.files.get("params.yaml", b"")) or {}
    variants, params, notices = _params(study, methods)
    known: dict[str, Any] = {
        "conventions": {dataset: primary_convention(study, dataset) for dataset in methods},
        "params": params,
        "data": {dataset: _data(committed, dataset) for dataset in methods},
        "code": {
            dataset: _code(committed, {variants.get(name, name) for name in names})
            for dataset, names in methods.items()
        },
        "versions": {},
    }
    for dataset in methods:
        for part, value in _provenance(committed, dataset).items():
            known[part][dataset] = value
    return known, notices


def _provenance(committed: Committed, dataset: str) -> dict[str, Any]:
    """Of git; of DVC's snapshot, where git did not track the file yet."""
    for root in (_RESULTS, _RESULTS.snapshot):
        try:
            record = committed.read(str(root.dataset(dataset).provenance_path))
        except GradrankError:
            continue
        return of_provenance(dataset, json.loads(record))
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
