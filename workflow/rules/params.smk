# Check params.yaml before Snakemake reads it. Snakemake's reader silently uses the last of two equal keys, and its
# errors name no line.
from pathlib import Path

from snakemake.exceptions import WorkflowError

from gradrank.base.errors import GradrankError
from gradrank.config.params_file import read

if Path("params.yaml").is_file():
    try:
        read("params.yaml")
    except GradrankError as error:
        raise WorkflowError(str(error)) from None
