# Before Snakemake reads params.yaml: its reader names no line of what is wrong, and takes the last of two equal keys.
from snakemake.exceptions import WorkflowError

from gradrank.errors import GradrankError
from gradrank.pipeline.params_file import check_files

if workflow.is_main_process:
    try:
        check_files("params.yaml", workflow.configfiles)
    except GradrankError as error:
        raise WorkflowError(str(error)) from None
