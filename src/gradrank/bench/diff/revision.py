"""State of a git revision or a DVC experiment.

Git contains summary.json, provenance.json, params.yaml and the per-query values of two metrics. DVC stores the
per-query values of every metric. The cost of training is recorded only in results/.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.validation import flat
from gradrank.bench.config.studies import PATTERNS, study_of
from gradrank.bench.diff.committed import Committed
from gradrank.bench.diff.results import all_measured, methods_of, notices_of, of_provenance, params_of, tie_notices
from gradrank.bench.diff.state import State
from gradrank.bench.folds.primary import primary_convention
from gradrank.bench.provenance.settings import model_settings
from gradrank.bench.results import SUMMARY, Results
from gradrank.data.part_files import COLLECTION
from gradrank.training.registry import models

_RESULTS = Results()


def read_revision(name: str, committed: Committed) -> State:
    """Return the state of a commit.

    name: name of the commit as given by the user. Raises GradrankError if the commit has no results.
    """
    import polars as pl

    from gradrank.data.tables.parquet import results_table

    summaries = {
        dataset.name: json.loads(text)
        for path, text in sorted(committed.files.items())
        if (dataset := _RESULTS.dataset(Path(path).parent.name)).summary_path == Path(path)
    }
    fix = "Fix: run the workflow for these data sets"
    try:
        content = committed.read(str(_RESULTS.per_query_path))
    except GradrankError as error:
        content, fix = None, str(error)
    with results_table(f"{name}: {_RESULTS.per_query_path}"):
        frame = None if content is None else pl.read_parquet(io.BytesIO(content))
        measured: list[str] = [] if frame is None else frame["dataset"].unique().to_list()
    datasets = sorted({*summaries, *measured})
    if not datasets:
        raise GradrankError(
            f"{name}: the commit has no results/<dataset>/{SUMMARY}. Fix: run in the folder of the project"
        )
    fields, notices = _recorded_fields(committed, datasets)
    with results_table(name):
        frames = [
            pl.read_parquet(io.BytesIO(text))
            for path, text in sorted(committed.files.items())
            if _RESULTS.dataset(Path(path).parent.name).queries_path == Path(path)
        ]
        values = all_measured(frames, frame, fields["conventions"])
        ties = tie_notices(frames if frame is None else (*frames, frame), fields["conventions"])
    return State(
        name=name,
        kind=committed.kind,
        revision=committed.rev,
        methods=methods_of(summaries, values, {}),
        notices=(*notices, *notices_of(summaries, values, fix), *ties),
        **fields,
    )


def _recorded_fields(committed: Committed, datasets: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a State that describe how the results were made, and a list of notices.

    The fields are read from provenance.json, or from the other files of the commit if provenance.json is missing.
    """
    study = yaml.safe_load(committed.files.get("params.yaml", b"")) or {}
    study = {"studies": _study_settings(committed)} | study  # older commits have the studies in params.yaml
    params, notices = _params(study, datasets)
    fields: dict[str, Any] = {
        "conventions": {dataset: primary_convention(study, dataset) for dataset in datasets},
        "params": params,
        "data": {dataset: _data(committed, dataset) for dataset in datasets},
        "code": {},
        "versions": {},
    }
    for dataset in datasets:
        for field, value in _provenance(committed, dataset).items():
            fields[field][dataset] = value
    return fields, notices


def _study_settings(committed: Committed) -> dict[str, Any]:
    """Return the settings of each study, as `config.studies.read_settings` does for a project folder."""
    paths = {PurePosixPath("/", name): text for name, text in committed.files.items()}
    return {
        study_of(path): yaml.safe_load(text) or {}
        for path, text in sorted(paths.items())
        if any(path.match(f"/{pattern}") for pattern in PATTERNS)
    }


def _provenance(committed: Committed, dataset: str) -> dict[str, Any]:
    """Return the fields in the committed provenance.json, or an empty dict if the file is missing."""
    record = committed.files.get(str(_RESULTS.dataset(dataset).provenance_path))
    return of_provenance(dataset, json.loads(record)) if record else {}


def _params(study: Mapping[str, Any], datasets: Iterable[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the parameters of each data set, resolved as in provenance.json, and a list of notices.

    If the present code rejects the settings, the values in params.yaml are used without validation, and a notice
    reports this.
    """
    from gradrank.bench.config.params import check

    try:
        params = check(study)
    except GradrankError as error:
        *headings, reason = str(error).splitlines()
        file = next((line for line in reversed(headings) if not line.startswith(" ")), reason).partition(":")[0]
        notice = (
            f"the present code rejects {file} ({reason.strip()}); params.yaml is compared as written, over present "
            "defaults"
        )
        return {dataset: _unchecked(study, dataset) for dataset in datasets}, [notice]
    checked = params.model_dump(mode="json")
    settings = {dataset: model_settings(params, checked["models"], [dataset]) for dataset in datasets}
    for dataset, values in settings.items():
        own = checked["datasets"].get(dataset) or {}
        values["dataset"] = {key: value for key, value in own.items() if key != "seeds"}
    return {dataset: params_of(dataset, values) for dataset, values in settings.items()}, []


def _unchecked(study: Mapping[str, Any], dataset: str) -> dict[str, dict[str, Any]]:
    """Return the seeds of a data set and the models as written in params.yaml.

    If a model is still registered, its parameters that are not set get their defaults.
    """
    written = (study.get("run") or {}).get("seeds")
    seeds = written if isinstance(written, list) and written else [study.get("seed")]
    count = ((study.get("datasets") or {}).get(dataset) or {}).get("seeds")
    if isinstance(seeds[0], int) and isinstance(count, int) and 1 <= count <= 100:  # other counts are refused
        seeds = list(range(seeds[0], seeds[0] + count))
    sections: dict[str, dict[str, Any]] = {"": {"seed": seeds[0]} | ({"seeds": seeds} if len(seeds) > 1 else {})}
    for name, values in (study.get("models") or {}).items():
        defaults = models()[name].Params().model_dump(mode="json") if name in models() else {}
        sections[f"models.{name}"] = flat(defaults) | flat(values or {})
    return sections


def _data(committed: Committed, dataset: str) -> dict[str, str]:
    """Return a dict with the checksum of the source data under the key `source`.

    The dict is empty if collection.json is neither in git nor in DVC.
    """
    older = f"data/parquet/{dataset}.json"  # path of collection.json in older commits
    for path in (f"data/parquet/{dataset}/{COLLECTION}", older):
        with suppress(GradrankError):
            return {"source": json.loads(committed.read(path))["source_sha256"]}
    return {}
