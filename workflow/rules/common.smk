# What every stage shares: the checked parameters, the code a stage depends on, which data sets a call is about.
import json
import os
import shlex
import sys
import warnings
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Snakemake has imported NumPy, but this process computes nothing: every command sets its own instruction set.
warnings.filterwarnings("ignore", "numpy imported before gradrank", RuntimeWarning)

from gradrank.pipeline import params as parameters
from gradrank.data.catalogue import catalogue
from gradrank.data.layout import find_layout
from gradrank.errors import GradrankError
from gradrank.pipeline.slurm_jobs import cancel_left_over, submitted_before
from gradrank.pipeline.code_closure import PACKAGE, sources
from gradrank.pipeline.folder_lock import clear_stale_locks

# Rules call `gradrank`; it lies beside the Python that runs Snakemake, activated or not.
shell.prefix(f"PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH; ")
# Snakemake writes its interpreter into a cluster job's script as it stands: a folder's name may hold a space.
interpreter = sys.executable
sys.executable = shlex.quote(interpreter)

try:
    study = parameters.check(config)
except GradrankError as error:
    raise WorkflowError(str(error)) from None

holds_folder = workflow.is_main_process and clear_stale_locks()


# Not at a dry run, and before any job starts. A cancelled job takes what its group had made with it, which this run
# may have planned to use: so Snakemake, in the same process, begins again.
onstart:
    if holds_folder:
        try:
            cancelled = cancel_left_over()
        except GradrankError as error:
            # A local run asks too, but may go on without an answer where nothing was ever submitted.
            if workflow.executor_plugin.name == "slurm" or submitted_before():
                raise WorkflowError(str(error)) from None
            cancelled = []
        if cancelled:
            print("Cancelled Slurm jobs of an earlier run in this folder:", *cancelled, file=sys.stderr)
            sys.stdout.flush()
            os.execv(interpreter, sys.orig_argv)


MODELS = study.model_names()  # of the study; a publication's are study.publication_models(name)
DATASETS = study.dataset_names()
STUDIES = list(study.studies)


wildcard_constraints:
    dataset="|".join(DATASETS),
    model=r"[\w.@+=-]+",  # not the names: Snakemake would search thousands of them for every file of a job
    fold=r"\d+",


def requested():
    """The data sets this call is about: those named as targets; none for a publication; else the study's."""
    targets = workflow.dag_settings.targets
    named = [name for name in DATASETS if name in targets]
    return named or ([] if set(STUDIES) & set(targets) else list(study.study.datasets))


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


def package_files(pattern):
    """Files of the package that are no Python: templates, tables of published numbers."""
    return sorted(map(os.path.relpath, PACKAGE.glob(pattern)))


def text_of(wildcards):
    """A user's files themselves, or the manifest that says the data set is there whole."""
    path = own_path(wildcards.dataset)
    return find_layout(path).files if path else f"data/raw/{wildcards.dataset}/fetched.json"


def pairs_of(wildcards):
    """The pairs file, for models that declare that they need it."""
    needed = study.model(wildcards.model).needs_pairs
    return f"data/pairs/{wildcards.dataset}.parquet" if needed else []


def of_members(name):
    """That file of the same fold, for each model whose scores this one is made of."""
    return lambda wc: [
        f"results/{wc.dataset}/{member}/fold{wc.fold}/{name}" for member in study.members(wc.model)
    ]


def of_folds(name):
    """That file of every fold of a rule's data set and model."""
    return lambda wc: [f"results/{wc.dataset}/{wc.model}/fold{fold}/{name}" for fold in folds(wc.dataset)]


def width(dataset):
    """Declared number of features, for sparse rows that need not show it; empty if the rows are to tell."""
    if own_path(dataset):
        return study.datasets[dataset].features or ""
    return catalogue()[dataset].features if catalogue()[dataset].sparse else ""
