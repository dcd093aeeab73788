"""One logged model per fold, which `mlflow.pyfunc.load_model("models:/<id>")` loads."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.files import sha256
from gradrank.bench.folds.seeds import SEED
from gradrank.bench.results import NumberedFold
from gradrank.bench.tracking.content import Result, digest, texts
from gradrank.data.reader import TrainingSchema

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.models import Model

DATA = "fold"  # folder in MLflow's data/ with spec.json and the model


class ModelLog:
    """Log the models of folds.

    `mlflow.pyfunc.save_model` checks the example and the installed packages, which takes most of the time of a fold.
    Folds with the same inputs and packages therefore share one folder. save_model writes it for the first of these
    folds. For the others, only the trained model and the file MLmodel are replaced.

    folder: an empty folder for temporary files.
    """

    def __init__(self, client: "MlflowClient", folder: Path) -> None:
        self.client, self.folder = client, folder
        self.saved: dict[str, Model] = {}  # by digest of the inputs and packages

    def log(self, run: "Run", result: Result, fold: NumberedFold) -> str:
        """Log the model of a fold and return its id."""
        spec, method = fold.spec(), result.method
        name = f"{method.name}-fold{fold.number}{result.suffix(spec)}".replace(".", "_")  # MLflow forbids dots
        identity = {"dataset": method.dataset, "model": method.name, "fold": fold.number, SEED: spec[SEED]}
        tags = texts(identity | {"data_sha256": spec["data_sha256"], "spec_sha256": sha256(fold.spec_path)})
        run_id = run.info.run_id
        model = self.client.create_logged_model(run.info.experiment_id, name, run_id, tags, result.parameters())
        ids = {"artifact_path": model.artifact_location, "run_id": run_id, "model_id": model.model_id}
        self.client.log_model_artifacts(model.model_id, str(self._write(fold, spec, ids)))
        self.client.finalize_logged_model(model.model_id, "READY")
        return model.model_id

    def _write(self, fold: NumberedFold, spec: Mapping[str, Any], ids: Mapping[str, Any]) -> Path:
        """Write the folder of a logged model and return it. The next fold with the same inputs overwrites the folder.

        ids: the entries of MLmodel that belong to one logged model.
        """
        from mlflow.models import Model

        trained = TrainingSchema.of(spec)
        query, names = trained.columns.query or "qid", trained.feature_names
        key = digest([query, names, spec["versions"]])
        data, folder = self.folder / DATA, self.folder / key
        if key not in self.saved:
            _copy(fold, data)
            self.saved[key] = Model(**ids)
            _save(folder, data, self.saved[key], query, names, spec["versions"])
            return folder
        saved, data = self.saved[key], folder / "data" / DATA
        others = (saved.model_size_bytes or 0) - _size(data)
        _copy(fold, data)
        self.saved[key] = Model(
            **ids,
            flavors=saved.flavors,
            signature=saved.signature,
            saved_input_example_info=saved.saved_input_example_info,
            model_size_bytes=others + _size(data),
        )
        self.saved[key].save(folder / "MLmodel")
        return folder


def _copy(fold: NumberedFold, folder: Path) -> None:
    """Replace a folder by the trained model and the specification of a fold."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(fold.model_path, folder / fold.model_path.name)
    shutil.copy(fold.spec_path, folder)


def _size(folder: Path) -> int:
    """Return the number of bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _save(folder: Path, data: Path, model: "Model", query: str, names: list[str], versions: Mapping[str, str]) -> None:
    """Write the folder of a logged model by `save_model`.

    data: folder with the fold. query: name of the column with query ids. names: names of the features.
    versions: dict from package to version.
    """
    import mlflow.pyfunc
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType

    columns: list[ColSpec | TensorSpec] = [ColSpec(AnyType(), query, required=False)]
    columns += [ColSpec(AnyType(), name) for name in names]
    public = {package: version.partition("+")[0] for package, version in versions.items()}
    mlflow.pyfunc.save_model(
        folder,
        mlflow_model=model,
        loader_module="gradrank.ranker.predict",
        data_path=data,
        # The inputs have AnyType, because MLflow does not accept integers for a double. The example is artificial,
        # because rows of a licensed collection must not be copied.
        signature=ModelSignature(Schema(columns), Schema([ColSpec("double", "score")])),
        input_example=pd.DataFrame(np.eye(2, len(names)), columns=names),
        pip_requirements=[f"{package}=={version}" for package, version in public.items() if package != "python"],
    )
