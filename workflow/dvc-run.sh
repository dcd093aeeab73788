#!/bin/sh
# How a stage of dvc.yaml runs Snakemake: with this folder's code, because a queued experiment runs in a copy of the project,
# and from scratch where no fold was trained, because such a copy has files without Snakemake's records of them.
set -e
if ! command -v snakemake >/dev/null; then
    echo "snakemake: not found. Fix: activate the environment, as in: . .venv/bin/activate" >&2
    exit 1
fi
if [ -z "$(find results -path '*/fold*/spec.json' -print 2>/dev/null | head -n 1)" ]; then
    set -- --forceall "$@"
fi
PYTHONPATH="$PWD/src" exec snakemake --cores all "$@"
