"""The page: the artificial part from its jobs' files, each target's draws together; the rest from stored scores."""

from gradrank.studies.kit.study import Inputs, Section
from gradrank.studies.ranknet2005.figure1 import figure1
from gradrank.studies.ranknet2005.tables123 import ties, training_sizes, zero_error
from gradrank.studies.ranknet2005.tables456 import web_search


def build(inputs: Inputs) -> list[Section]:
    runs = [
        {"target": job["target"], "draw": job["draw"]} | run for job in inputs.jobs() for run in job["runs"]
    ]
    runs = [run for run in runs if run["draw"] <= inputs.settings["artificial"]["draws"]]
    sections = [training_sizes(runs), ties(runs), zero_error(runs), figure1()]
    return [*sections, *(web_search(inputs, dataset) for dataset in inputs.datasets)]
