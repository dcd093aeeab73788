"""The names of other programs that are documented, each with its page, although the checks would reject them."""

import re

RULES = "https://snakemake.readthedocs.io/en/stable/snakefiles/rules.html"
MLFLOW = "https://mlflow.org/docs/latest/api_reference/python_api"

# Each exception with the page that lists it. `*` matches one name. A module includes all names in it.
DOCUMENTED = {
    "workflow.cores": f"{RULES}#threads",
    "workflow.source_path": RULES,
    "rules.*.input": RULES,
    "rules.*.output": RULES,
    "shell.executable": RULES,
    "shell.prefix": RULES,
    "snakemake.exceptions": RULES,
    "snakemake.utils": "https://snakemake-api.readthedocs.io/en/stable/api_reference/snakemake_utils.html",
    ".snakemake/conda": "https://snakemake.readthedocs.io/en/stable/snakefiles/deployment.html",
    ".snakemake/log": "https://snakemake.readthedocs.io/en/stable/snakefiles/debugging_workflows.html",
    ".snakemake/scripts": "https://snakemake.readthedocs.io/en/stable/snakefiles/debugging_workflows.html",
    ".snakemake/shadow": RULES,
    ".snakemake/slurm_logs": "https://snakemake.github.io/snakemake-plugin-catalog/plugins/executor/slurm.html",
    ".dvc/tmp/exps": "https://dvc.org/doc/command-reference/exp/run",
    "dvc.api": "https://dvc.org/doc/api-reference",
    "dvc.exceptions": "https://dvc.org/doc/api-reference/open",
    "mlflow.MlflowClient": f"{MLFLOW}/mlflow.client.html",
    "mlflow.artifacts": f"{MLFLOW}/mlflow.artifacts.html",
    "mlflow.data": f"{MLFLOW}/mlflow.data.html",
    "mlflow.entities": f"{MLFLOW}/mlflow.entities.html",
    "mlflow.exceptions": "https://mlflow.org/docs/latest/py-modindex.html",
    "mlflow.models": f"{MLFLOW}/mlflow.models.html",
    "mlflow.pyfunc": f"{MLFLOW}/mlflow.pyfunc.html",
    "mlflow.types": f"{MLFLOW}/mlflow.types.html",
    "torch.ops.aten._local_scalar_dense": "https://docs.pytorch.org/docs/stable/torch.compiler_ir.html",
    "torch.ops.aten._to_copy": "https://docs.pytorch.org/docs/stable/torch.compiler_ir.html",
    "torch.utils._python_dispatch.TorchDispatchMode": "https://docs.pytorch.org/docs/stable/notes/extending.html",
    "sys.modules.__class__": "https://docs.python.org/3/reference/datamodel.html#customizing-module-attribute-access",
    "os._exit": "https://docs.python.org/3/library/os.html#os._exit",
    "sys._getframe": "https://docs.python.org/3/library/sys.html#sys._getframe",
    **dict.fromkeys(
        ["_asdict", "_field_defaults", "_fields", "_make", "_replace"],
        "https://docs.python.org/3/library/collections.html#collections.somenamedtuple._make",
    ),
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not re.fullmatch(r"__\w+__|_+", name) and name not in DOCUMENTED


def is_documented(dotted: str) -> bool:
    patterns = (re.escape(name).replace(r"\*", r"[^.]+") for name in DOCUMENTED)
    return any(re.match(rf"{pattern}(\W|$)", dotted) for pattern in patterns)
