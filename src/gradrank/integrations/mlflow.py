"""A fitted Ranker in MLflow: its parameters and the values of its training steps, and its model in the registry."""

from pathlib import Path

from gradrank import __version__
from gradrank.ranker.model_card import CARD
from gradrank.ranker.ranker import Ranker
from gradrank.training.trained_fold import TrainedFold


def log_ranker(ranker: Ranker) -> None:
    """Log the parameters of a fitted ranker, and its training curve with one metric per reported value.

    The metrics have the names of the columns of `history_`, with `_at_` in place of `@`, which MLflow does not accept.
    """
    import mlflow

    mlflow.log_params({name: value for name, value in ranker.get_params().items() if value is not None})
    for row in ranker.history_.to_dicts():
        step = row.pop("step")
        values = {name.replace("@", "_at_"): value for name, value in row.items() if value is not None}
        mlflow.log_metrics(values, step=step)


def register_model(folder: Path | str, name: str) -> str:
    """Register the trained model in a folder as a new version of an MLflow model, and return its address.

    folder: a folder that `Ranker.save` or `gradrank refit` wrote. name: the name of the registered model. The model has
    a signature with the names of its features, an artificial input example, and its model card as the description.
    `mlflow models serve --model-uri ADDRESS` serves it. Raises GradrankError if the folder contains no trained model.
    """
    import mlflow
    import numpy as np
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType

    schema, card = TrainedFold.load(folder).schema, Path(folder, CARD)
    # AnyType, because MLflow does not accept integers for a double.
    columns: list[ColSpec | TensorSpec] = [ColSpec(AnyType(), schema.columns.query or "qid", required=False)]
    columns += [ColSpec(AnyType(), feature) for feature in schema.feature_names]
    example = pd.DataFrame(np.eye(2, schema.width), columns=schema.feature_names)
    logged = mlflow.pyfunc.log_model(
        name=name,
        loader_module="gradrank.ranker.predict",
        data_path=str(folder),
        signature=ModelSignature(Schema(columns), Schema([ColSpec("double", "score")])),
        input_example=example.assign(**{name: levels[0] for name, levels in schema.levels.items() if levels}),
        pip_requirements=[f"gradrank=={__version__}"],
    )
    version = mlflow.register_model(logged.model_uri, name)
    if card.is_file():
        mlflow.MlflowClient().update_model_version(name, version.version, card.read_text(encoding="utf-8"))
    return f"models:/{name}/{version.version}"
