# Configuration values: the checked parameters, and the patterns of the wildcards. `plan` and `contest`
# (gradrank.workflow_support) compute the inputs of each rule and the options of its command.
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from gradrank import __version__
from gradrank.data.sources.catalogue import catalogue
from gradrank.base.errors import GradrankError
from gradrank.config.code_digest import code_digest
from gradrank.config.params import check
from gradrank.provenance.code import report_code
from gradrank.workflow_support.contest import ContestPlan, with_frozen_datasets
from gradrank.workflow_support.plan import FOLD, METHOD, Plan

# The commands of the environment that runs Snakemake, whether or not it is activated.
shell.prefix(f"PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH; ")

# An environment that Snakemake deploys (workflow/envs/) installs this release.
os.environ.update(GRADRANK_RELEASE=__version__)

try:
    plan = Plan(check(with_frozen_datasets(config)))
    for dataset in plan.params.run.datasets:
        plan.folds(dataset)  # own data that cannot be read are named here, not below a traceback
except GradrankError as error:
    raise WorkflowError(str(error)) from None

params = plan.params
contest = ContestPlan(plan)

GENERATED = [name for name, entry in catalogue().items() if entry.generator]
FETCHED = [name for name, entry in catalogue().items() if not entry.generator]
IMPORTED = "|".join(plan.imported) or "(?!)"  # methods whose scores come from elsewhere; (?!) matches nothing


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(params.studies) or "(?!)",  # a reduced form's name is <study>/reduced
    contest="|".join(contest.forms) or "(?!)",
    model=METHOD,
    method=METHOD,
    fold=r"\d+",
    job=r"[\w.+=-]+",
