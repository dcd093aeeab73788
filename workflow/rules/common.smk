# Check params.yaml and the settings of studies, and define the names that all rules use. `settings` are the checked
# values. `plan` and `contest` (gradrank.bench.workflow_support) compute the inputs of rules and the options of commands.
import os
import shlex
import sys
from pathlib import Path

from gradrank import __version__
from gradrank.base.errors import exit_with_message
from gradrank.base.extensions import use_own_models
from gradrank.bench.config.code_digest import code_digest
from gradrank.bench.config.params import check, with_studies
from gradrank.bench.config.studies import settings_path
from gradrank.bench.provenance.records import report_code
from gradrank.bench.workflow_support.checks import check_stored_data, complete_for_option
from gradrank.bench.workflow_support.output_folders import check_output_folders
from gradrank.bench.workflow_support.plan import FOLD, METHOD, ContestPlan, Plan, with_frozen_datasets
from gradrank.data.sources.catalogue import catalogue

# Jobs use the commands of the environment that runs Snakemake, even if it is not activated. The first command is
# Snakemake's default prefix, which this prefix replaces: without it, a failed command before a pipe goes unnoticed.
shell.prefix(f"set -euo pipefail; PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH; ")

# The release to install in an environment that Snakemake deploys (workflow/envs/).
os.environ.update(GRADRANK_RELEASE=__version__)

if not os.access(".", os.W_OK):
    sys.exit(f"{Path.cwd()}: this folder is read-only. Fix: change its permissions, or run in a copy")

use_own_models()

with exit_with_message():
    plan = Plan(check(with_frozen_datasets(with_studies(config))))
    for dataset in plan.settings.run.datasets:
        plan.folds(dataset)  # reads the layout of own data, so that its errors appear without a traceback
    check_stored_data(plan)
    check_output_folders(Path("results"))

settings = plan.settings
contest = ContestPlan(plan)

GENERATED = [name for name, entry in catalogue().items() if entry.generator]
FETCHED = [name for name, entry in catalogue().items() if not entry.generator]
IMPORTED = "|".join(plan.imported) or "(?!)"  # methods with imported scores; (?!) matches nothing


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(settings.studies) or "(?!)",  # a reduced form is called <study>/reduced
    contest="|".join(contest.forms) or "(?!)",
    model=METHOD,
    method=METHOD,
    fold=r"\d+",
    tuner=r"\d+",
    job=r"[\w.+=-]+",
