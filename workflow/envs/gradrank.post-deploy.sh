#!/bin/sh
# Runs in the project's folder: the same files, by their hashes, as `make reproduce` installs.
set -e
pip install --quiet --require-hashes --no-deps --requirement requirements.lock
pip install --quiet --editable .
