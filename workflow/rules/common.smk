# Check params.yaml and the settings of studies, and define the names that all rules use. `settings` are the checked
# values. `plan` and `contest` (gradrank.bench.workflow_support) compute the inputs of rules and the options of commands.
import json
import os
import shlex
import sys
from pathlib import Path

from gradrank import __version__
from gradrank.base.errors import exit_with_message
from gradrank.base.extensions import use_own_models
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.datasets import FOLDS_VARIABLE
from gradrank.bench.config.params import check, with_studies
from gradrank.bench.parts import unpack_results
from gradrank.bench.provenance.records import report_code
from gradrank.bench.workflow_support.checks import check_stored_data, complete_for_option
from gradrank.bench.workflow_support.output_folders import check_output_folders
from gradrank.bench.workflow_support.plan import (
    FOLD,
    METHOD,
    ContestPlan,
    DescribedSettings,
    Plan,
    with_frozen_datasets,
)
from gradrank.data.sources.catalogue import catalogue

# Jobs use the commands of the environment that runs Snakemake, even if it is not activated, unless Snakemake deploys
# another one (`--software-deployment-method`). The first command is Snakemake's default prefix, which this prefix replaces:
# without it, a failed command before a pipe goes unnoticed.
DEPLOYED = bool(workflow.deployment_settings.deployment_method)
BIN = "" if DEPLOYED else f"PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH; "
shell.prefix(f"set -euo pipefail; {BIN}")

# The release to install in an environment that Snakemake deploys (workflow/envs/).
os.environ.update(GRADRANK_RELEASE=__version__)

if not os.access(".", os.W_OK):
    sys.exit(f"{Path.cwd()}: this folder is read-only. Fix: change its permissions, or run in a copy")

use_own_models()

with exit_with_message():
    written = with_frozen_datasets(with_studies(config))
    plan = Plan(check(written))
    for dataset in plan.settings.run.datasets:
        plan.folds(dataset)  # reads the layout of own data, so that its errors appear without a traceback
    check_stored_data(plan)
    check_output_folders(Path("results"))
    for study in plan.settings.studies:
        for line in unpack_results(Path("results/studies", study)):
            print(line, file=sys.stderr)

settings = plan.settings
described = DescribedSettings(
    written
)  # the settings that pages show; a comment in params.yaml changes none of them
contest = ContestPlan(plan)

# The file with the settings, which pages show. `snakedeploy` writes the second one.
PARAMS = next((name for name in ("params.yaml", "config/config.yaml") if Path(name).is_file()), "params.yaml")

GENERATED = [name for name, entry in catalogue().items() if entry.generator]
FETCHED = [name for name, entry in catalogue().items() if not entry.generator]
IMPORTED = "|".join(plan.imported) or "(?!)"  # methods with imported scores; (?!) matches nothing


# Without a shared file system, Snakemake copies files through a storage provider (docs/cluster.md). The raw text and the
# user's own files stay on the host that runs Snakemake, and the rules that read them run there.
SHARED = workflow.storage_settings.default_storage_provider is None


def copied(files):
    """Return the files that a job reads but does not compare. Without a shared file system, they are copied to the job."""
    return [] if SHARED else [ancient(file) for file in files]


if not SHARED:
    # A job reads the same settings on a host that does not have the user's own data.
    os.environ[FOLDS_VARIABLE] = json.dumps({name: len(plan.folds(name)) for name in plan.own_data})

    envvars:
        FOLDS_VARIABLE,


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(settings.studies) or "(?!)",  # a reduced form is called <study>/reduced
    contest="|".join(contest.forms) or "(?!)",
    model=METHOD,
    method=METHOD,
    fold=r"\d+",
    tuner=r"\d+",
    job=r"[\w.+=-]+",
