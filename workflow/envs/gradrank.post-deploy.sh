#!/bin/sh
# Snakemake runs this script in the working folder. In a checkout, it installs the locked packages, as `make reproduce`
# does, and this code. In any other folder, it installs the release of gradrank that Snakemake itself uses, from the
# package index or from the folder of wheels in PIP_FIND_LINKS.
set -e
if [ -f requirements.lock ] && [ -d src/gradrank ]; then
    pip install --quiet --require-hashes --no-deps --requirement requirements.lock
    pip install --quiet --no-deps --editable .
else
    pip install --quiet "gradrank[arrow,nets,track]==$GRADRANK_RELEASE"
fi
