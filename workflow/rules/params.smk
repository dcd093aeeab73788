# Check params.yaml before Snakemake reads it. Snakemake's reader silently uses the last of two equal keys, and its
# errors name no line.
from pathlib import Path

from gradrank.base.errors import exit_with_message
from gradrank.bench.config.params_file import read

if Path("params.yaml").is_file():
    with exit_with_message():
        read("params.yaml")
