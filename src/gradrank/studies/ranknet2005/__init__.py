"""Burges et al. 2005, the first RankNet paper: its artificial data, its figures, and its comparison on MQ2007."""

from gradrank.files import read_json
from gradrank.studies.kit.study import Inputs, Section
from gradrank.studies.ranknet2005.figure1 import figure1
from gradrank.studies.ranknet2005.tables123 import ties, training_sizes, zero_error
from gradrank.studies.ranknet2005.tables456 import web_search

TITLE = "RankNet, 2005"
PUBLICATION = (
    "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender: Learning to rank using "
    "gradient descent. ICML 2005."
)


def build(inputs: Inputs) -> list[Section]:
    """The artificial part from its jobs' files, each target's draws together; the rest from stored scores."""
    runs = [
        {"target": job["target"], "draw": job["draw"]} | run
        for job in map(read_json, sorted((inputs.folder / "artificial").glob("*.json")))
        for run in job["runs"]
    ]
    runs = [run for run in runs if run["draw"] <= inputs.settings["artificial"]["draws"]]
    sections = [training_sizes(runs), ties(runs), zero_error(runs), figure1()]
    return [*sections, *(web_search(inputs, dataset) for dataset in inputs.datasets)]
