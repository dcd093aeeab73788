#!/bin/sh
# The command of the stages in dvc.yaml. It runs Snakemake with the code of this folder, because a queued DVC experiment
# runs in a copy of the project. It adds --forceall if no fold is trained here, because such a copy has output files
# without Snakemake's records of them.
set -e
if ! command -v snakemake >/dev/null; then
    echo "snakemake: not found. Fix: activate the environment that has it, as in \`. .venv/bin/activate\`, or run" \
        "\`pip install 'gradrank[workflow]'\`" >&2
    exit 1
fi
if [ -z "$(find results -path '*/fold*/spec.json' -print 2>/dev/null | head -n 1)" ]; then
    set -- --forceall "$@"
fi
PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" exec snakemake --cores all "$@"
