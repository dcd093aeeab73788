# Reads params.yaml before Snakemake does: its reader takes the last of two equal keys and names no line.
from pathlib import Path

from snakemake.exceptions import WorkflowError

from gradrank.base.errors import GradrankError
from gradrank.config.params_file import read

if Path("params.yaml").is_file():
    try:
        read("params.yaml")
    except GradrankError as error:
        raise WorkflowError(str(error)) from None
