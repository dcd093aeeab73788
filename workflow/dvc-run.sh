#!/bin/sh
# How a stage of dvc.yaml runs a command: with the checkout's environment and this folder's code. DVC runs
# experiments in copies of the project below .dvc/tmp/exps: they have no environment of their own, and an MLflow store
# of theirs would be deleted with them.
checkout="${PWD%/.dvc/tmp/exps/*}"
if [ "$checkout" != "$PWD" ]; then
    export MLFLOW_TRACKING_URI="${MLFLOW_TRACKING_URI:-sqlite:///$checkout/mlflow.db}"
fi
PATH="$checkout/.venv/bin:$PATH" PYTHONPATH="$PWD/src" exec "$@"
