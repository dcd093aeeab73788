"""The runs of MLflow that others lie below: a data set's, a study's, and that of a sweep's variants.

Each is found again by its content (tag `key`) and written once; its figures and tables are those of the last import.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.data.catalogue import catalogue
from gradrank.data.reader import Trained
from gradrank.files import sha256
from gradrank.pipeline.mlflow_content import log_numbers, texts
from gradrank.results import Results
from gradrank.validation import flat

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

PARENT = "mlflow.parentRunId"
_DIGEST = 36  # MLflow's limit


def find_or_create(client: "MlflowClient", experiment: str, name: str, tags: Mapping[str, str]) -> "Run":
    """The run of this content, made where there is none: tag `key` is what it holds, by which it is called equal."""
    same = client.search_runs([experiment], f"tags.key = '{tags['key']}'")
    return same[0] if same else client.create_run(experiment, tags=dict(tags), run_name=name)


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def dataset_run(client: "MlflowClient", experiment: str, dataset: str, source_sha256: str) -> "Run":
    """A data set's run."""
    tags = {"kind": "dataset", "dataset": dataset, "data_sha256": source_sha256}
    return find_or_create(client, experiment, dataset, tags | {"key": digest([dataset, source_sha256])})


def study_run(
    client: "MlflowClient", experiment: str, root: Results, study: str, settings: Mapping[str, Any]
) -> "Run":
    """A study's run: its settings as parameters, its page, numbers and tables as artefacts."""
    own = root.study(study)
    key = digest([study, settings, sha256(own.numbers_path)])
    run = find_or_create(client, experiment, study, {"kind": "study", "study": study, "key": key})
    log_numbers(client, run, texts(flat(settings)), ())
    for path in (own.markdown_path, own.numbers_path):
        client.log_artifact(run.info.run_id, str(path))
    log_pictures(client, run, own.tables_path, figures_of(root, f"studies/{study}"))
    return run


def sweep_run(client: "MlflowClient", experiment: str, above: "Run", dataset: str, entry: str) -> "Run":
    """The run above the variants of an entry of params.yaml, one a combination of swept values."""
    key = digest(["sweep", above.data.tags["key"], dataset, entry])
    tags = {"kind": "sweep", "dataset": dataset, "entry": entry, "key": key, PARENT: above.info.run_id}
    return find_or_create(client, experiment, entry, tags)


def log_pictures(client: "MlflowClient", run: "Run", tables: Path, figures: Path) -> None:
    """Tables and figures, as far as they are there, as artefacts in folders of these names."""
    for name, folder in (("tables", tables), ("figures", figures)):
        for path in sorted(folder.glob("[!.]*")):  # Snakemake leaves a hidden file in folders
            if path.is_file() and (name == "tables" or path.suffix == ".svg"):
                client.log_artifact(run.info.run_id, str(path), name)


def figures_of(root: Results, page: str) -> Path:
    """Where the report keeps the figures of one of its pages."""
    return root.report_path.with_suffix("") / page


def dataset_input(dataset: str, spec: Mapping[str, Any], settings: Mapping[str, Any]) -> "DatasetInput":
    """A data set as MLflow lists what a run was given: name, digest, schema, source; its rows stay where they are.

    spec: of a job that was trained on it. settings: `datasets.<dataset>` of params.yaml.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    columns = [("long", "qid"), ("long", "label"), ("string", "docid")]
    columns += [("float", name) for name in Trained.of(spec).feature_names]
    schema = {"mlflow_colspec": [{"type": kind, "name": name, "required": True} for kind, name in columns]}
    kind, source = _source(dataset, settings)
    entity = Dataset(
        name=dataset,
        digest=spec["data_sha256"][:_DIGEST],
        source_type=kind,
        source=json.dumps(source),
        schema=json.dumps(schema),
        profile=json.dumps({"features": spec["features"]}),
    )
    return DatasetInput(entity, [InputTag("mlflow.data.context", "train, vali, test")])


def _source(dataset: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """MLflow's name of a kind of source, and what it keeps of one."""
    entry = catalogue().get(dataset)
    if "path" in settings or entry is None:
        return "local", {"uri": str(settings.get("path", dataset))}
    if entry.generator:
        return "code", {"tags": {"generator": f"gradrank generate {entry.generator}", **settings}}
    addresses = [url for archive in entry.archives for url in archive.urls]
    return "http", {"url": addresses[0] if addresses else entry.homepage or dataset}
