"""The page: the artificial part from its jobs' files, each target's draws together; the rest from stored scores."""

from gradrank.studies.common.study import Inputs, PageSection
from gradrank.studies.ranknet2005.explanations import explanations
from gradrank.studies.ranknet2005.figure1 import figure1
from gradrank.studies.ranknet2005.order import order
from gradrank.studies.ranknet2005.table1 import training_sizes
from gradrank.studies.ranknet2005.table2 import ties, zero_error
from gradrank.studies.ranknet2005.trainings import trainings
from gradrank.studies.ranknet2005.web_search import web_search


def build(inputs: Inputs) -> list[PageSection]:
    drawn = (job for job in inputs.jobs() if "target" in job)
    runs = [{"target": job["target"], "draw": job["draw"]} | run for job in drawn for run in job["runs"]]
    runs = [run for run in runs if run["draw"] <= inputs.settings["artificial"]["draws"]]
    sections = [training_sizes(runs), ties(runs), zero_error(runs), figure1()]
    for dataset in inputs.datasets:
        found = trainings(inputs, dataset)
        sections.append(web_search(inputs, dataset, found))
        sections.append(order(dataset, found))
        sections.append(explanations(inputs, dataset, found))
    return sections
