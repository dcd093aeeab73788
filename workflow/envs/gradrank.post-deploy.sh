#!/bin/sh
# Runs in the working folder. In a checkout: the same files, by their hashes, as `make reproduce` installs, and this code.
# Elsewhere: the release that Snakemake itself runs, from the package index, or from the folder of wheels that
# PIP_FIND_LINKS names.
set -e
if [ -f requirements.lock ] && [ -d src/gradrank ]; then
    pip install --quiet --require-hashes --no-deps --requirement requirements.lock
    pip install --quiet --no-deps --editable .
else
    pip install --quiet "gradrank==$GRADRANK_RELEASE"
fi
