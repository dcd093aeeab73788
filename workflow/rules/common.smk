# What every stage shares: the checked parameters, the code a stage depends on, which data sets a call is about.
import json
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from gradrank import params as parameters
from gradrank.data.catalogue import catalogue
from gradrank.data.layout import find_layout
from gradrank.errors import GradrankError
from gradrank.sources import sources
from gradrank.workflow_lock import clear_stale_locks

# Rules call `gradrank`; it lies beside the Python that runs Snakemake, activated or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

try:
    study = parameters.check(config)
except GradrankError as error:
    raise WorkflowError(str(error)) from None

if workflow.is_main_process:
    clear_stale_locks()

MODELS = study.model_names()
DATASETS = study.dataset_names()


wildcard_constraints:
    dataset="|".join(DATASETS),
    model="|".join(MODELS),
    fold=r"\d+",


def requested():
    """The data sets this call is about: those named as targets, else the study's."""
    named = [name for name in DATASETS if name in workflow.dag_settings.targets]
    return named or list(study.study.datasets)


def own_path(dataset):
    """The folder or file of a user's data set, else None."""
    return getattr(study.datasets.get(dataset), "path", None)


def folds(dataset):
    """Fold numbers: the catalogue's count, or what a user's folder shows."""
    if own_path(dataset):
        return range(1, 1 + len(find_layout(own_path(dataset)).folds))
    return range(1, 1 + catalogue()[dataset].folds)


def as_json(value):
    return json.dumps(value, sort_keys=True)
