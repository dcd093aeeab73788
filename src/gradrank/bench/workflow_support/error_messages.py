"""Messages with a fix for errors of Snakemake's planning: an unknown target, and missing score files.

The logger plugin prints them in place of Snakemake's text.
"""

import re
from pathlib import Path

from gradrank.base.errors import GradrankError, nearest
from gradrank.bench.config.params import check, with_studies
from gradrank.bench.config.params_file import read
from gradrank.bench.config.studies import settings_path, study_names
from gradrank.bench.workflow_support.contest import with_frozen_datasets
from gradrank.bench.workflow_support.plan import Plan

TARGETS = ("all", "run", "data", "report", "track")  # the targets that have a name besides data sets and studies
SHOWN = 5  # number of missing files that a message lists


def explain(exception: str, text: str) -> str | None:
    """Return the message for an error of Snakemake's planning, or None to keep Snakemake's own text.

    exception: name of the exception's class. text: Snakemake's own text. The names of targets and methods are only in
    this text, whose wording may change between versions of Snakemake. A text with another wording is kept.
    """
    try:
        if exception == "MissingRuleException" and (match := re.search(r"No rule to produce (.+?)(?: \(if|$)", text)):
            return _unknown_target(match[1])
        if exception == "MissingInputException" and (match := re.search(r"dataset=(.+), model=(.+), fold=\d", text)):
            return _missing_scores(match[1], match[2])
    except GradrankError:  # another config file than params.yaml
        pass
    return None


def _plan() -> Plan:
    return Plan(check(with_frozen_datasets(with_studies(read("params.yaml")))))


def _unknown_target(name: str) -> str:
    plan = _plan()
    if name in study_names():
        return f"the study {name} has no settings. Fix: write {settings_path(name)}"
    near = "" if "/" in name else nearest(name, [*TARGETS, *plan.datasets, *plan.studies])
    return f"no rule makes {name!r}{near}. Fix: correct it; `snakemake --list-target-rules` prints all named targets"


def _missing_scores(dataset: str, method: str) -> str | None:
    """Return the message about all score files of a method that do not exist.

    Return None for a data set that params.yaml does not contain, and for a method that is trained.
    """
    plan = _plan()
    if method not in plan.imported or dataset not in plan.datasets:
        return None
    folds = map(str, plan.folds(dataset))
    files = dict.fromkeys(file for fold in folds for file in plan.score_files(dataset, method, fold))
    missing = [file for file in files if not Path(file).is_file()]
    if not missing:
        return None
    further = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return (
        f"models.{method}: {len(missing)} of {len(files)} score files for {dataset} do not exist: "
        f"{', '.join(missing[:SHOWN])}{further}. Fix: write these files, correct `models.{method}.scores` in "
        f"params.yaml, or remove {method} from the models of {dataset}"
    )
