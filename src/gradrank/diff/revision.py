"""A git revision, or a DVC experiment, which is a commit too, as a Side.

Git holds summary.json, provenance.json, params.yaml and two metrics' values a query; DVC every
metric's. What a training took is known where it was measured alone, in results/ and MLflow.
"""

import io
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.results import SUMMARY, Results
from gradrank.base.validation import flat
from gradrank.data.part_files import COLLECTION
from gradrank.diff.committed import Committed
from gradrank.diff.results import all_measured, faults, methods_of, of_provenance, params_of
from gradrank.diff.state import State
from gradrank.evaluation.primary import primary_convention
from gradrank.provenance.settings import model_settings
from gradrank.training.registry import models

_RESULTS = Results()


def read_revision(name: str, committed: Committed) -> State:
    """Raises GradrankError where the revision holds no results."""
    import polars as pl

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
    frames = [
        pl.read_parquet(io.BytesIO(text))
        for path, text in sorted(committed.files.items())
        if _RESULTS.dataset(Path(path).parent.name).queries_path == Path(path)
    ]
    values = all_measured(frames, frame, known["conventions"])
    return State(
        name=name,
        kind=committed.kind,
        revision=committed.rev,
        methods=methods_of(summaries, values, {}),
        notices=(*notices, *faults(summaries, values, cure)),
        **known,
    )


def _known(committed: Committed, methods: Mapping[str, Iterable[str]]) -> tuple[dict[str, Any], list[str]]:
    """How these methods' results were made: provenance.json, else what is committed beside them; and notices."""
    study = yaml.safe_load(committed.files.get("params.yaml", b"")) or {}
    params, notices = _params(study, methods)
    known: dict[str, Any] = {
        "conventions": {dataset: primary_convention(study, dataset) for dataset in methods},
        "params": params,
        "data": {dataset: _data(committed, dataset) for dataset in methods},
        "code": {},
        "versions": {},
    }
    for dataset in methods:
        for part, value in _provenance(committed, dataset).items():
            known[part][dataset] = value
    return known, notices


def _provenance(committed: Committed, dataset: str) -> dict[str, Any]:
    """Return what the committed record says; empty without one."""
    record = committed.files.get(str(_RESULTS.dataset(dataset).provenance_path))
    return of_provenance(dataset, json.loads(record)) if record else {}


def _params(study: Mapping[str, Any], datasets: Iterable[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return params.yaml by data set, resolved as results record it.

    Where the present code refuses it, it is not checked, and a notice says so.
    """
    from gradrank.config.params import check

    try:
        params = check(study)
    except GradrankError as error:
        fault = str(error).splitlines()[-1].strip()
        notice = f"the present code refuses its params.yaml ({fault}): compared as written, with present defaults"
        return dict.fromkeys(datasets, _unchecked(study)), [notice]
    checked = params.model_dump(mode="json")
    own = model_settings(params, checked["models"])
    settings = {dataset: checked["datasets"].get(dataset) or {} for dataset in datasets}
    return {name: params_of(name, own | {"dataset": values}) for name, values in settings.items()}, []


def _unchecked(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Seed and models as written, over the defaults of the models that are still registered."""
    found: dict[str, dict[str, Any]] = {"": {"seed": study.get("seed")}}
    for name, values in (study.get("models") or {}).items():
        defaults = models()[name].Params().model_dump(mode="json") if name in models() else {}
        found[f"models.{name}"] = flat(defaults) | flat(values or {})
    return found


def _data(committed: Committed, dataset: str) -> dict[str, str]:
    """The hash of the text that the collection was parsed from, if DVC has its description."""
    for path in (f"data/parquet/{dataset}/{COLLECTION}", f"data/parquet/{dataset}.json"):  # older: one file in all
        with suppress(GradrankError):
            return {"source": json.loads(committed.read(path))["source_sha256"]}
    return {}
