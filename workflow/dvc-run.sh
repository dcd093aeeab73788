#!/bin/sh
# How a stage of dvc.yaml runs a command: with the checkout's environment and this folder's code. DVC runs
# experiments in copies of the project below .dvc/tmp, which have no environment of their own.
PATH="${PWD%/.dvc/tmp/*}/.venv/bin:$PATH" PYTHONPATH="$PWD/src" exec "$@"
