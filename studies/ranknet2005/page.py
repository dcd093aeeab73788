"""The page of the study: the artificial data, Figure 1, and the comparison of the methods on each data set."""

from gradrank.bench.studies.study import Inputs, PageSection
from studies.ranknet2005.boosted_table import boosting
from studies.ranknet2005.combination import combination
from studies.ranknet2005.explanations import explanations
from studies.ranknet2005.figure1 import figure1
from studies.ranknet2005.order import order
from studies.ranknet2005.steps import steps
from studies.ranknet2005.table1 import training_sizes
from studies.ranknet2005.table2 import ties, zero_error
from studies.ranknet2005.trainings import trainings
from studies.ranknet2005.web_search import web_search


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page.

    Stored results of draws beyond the number of draws in the settings are ignored.
    """
    target_jobs = (job for job in inputs.jobs() if "target" in job)
    runs = [{"target": job["target"], "draw": job["draw"]} | run for job in target_jobs for run in job["runs"]]
    runs = [run for run in runs if run["draw"] <= inputs.settings["artificial"]["draws"]]
    sections = [training_sizes(runs), ties(runs), zero_error(runs), steps(runs), *boosting(runs)]
    sections += [figure1(), combination()]
    for dataset in inputs.datasets:
        methods = trainings(inputs, dataset)
        sections.append(web_search(inputs, dataset, methods))
        sections.append(order(dataset, methods))
        sections.append(explanations(inputs, dataset, methods))
    return sections
