#!/bin/sh
# The command of the stages in dvc.yaml. It runs Snakemake with the code of this folder, because a queued DVC experiment
# runs in a copy of the project. It adds --forceall if Snakemake has not run in this folder yet, because such a copy has
# output files without Snakemake's records of their parameters. After `dvc pull`, `snakemake --touch --forceall` makes
# the records.
set -e
if ! command -v snakemake >/dev/null; then
    echo "snakemake: not found. Fix: activate the environment that has it, as in \`. .venv/bin/activate\`, or run" \
        "\`pip install 'gradrank[workflow]'\`" >&2
    exit 1
fi
if [ ! -d .snakemake ]; then
    set -- --forceall "$@"
fi
PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" exec snakemake --cores all "$@"
