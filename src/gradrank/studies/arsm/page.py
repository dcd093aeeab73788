"""The page: both tables, the update, what levels and loss are worth, the gradient's variance."""

from collections.abc import Sequence

from gradrank.evaluation.per_query import QueryValues
from gradrank.studies.arsm.tables import METRICS, convention_of, disagreements, official, paper, update
from gradrank.studies.arsm.variance import variance
from gradrank.studies.kit.ablation import Ablation, means_table, tests_table
from gradrank.studies.kit.paired_tests import significant
from gradrank.studies.kit.study import Figure, Inputs, Section

BARE = "arsm_bare"  # the variant without what ours adds to the paper's update
MODELS = ("ranksvm", "listnet", "adarank_map", "adarank_ndcg", "arsm")  # the rows of its tables


def build(inputs: Inputs) -> list[Section]:
    measured = {
        dataset: {model: inputs.measure(dataset, model, METRICS, convention_of(dataset)) for model in MODELS}
        for dataset in inputs.datasets
    }
    return [
        paper(measured),
        official(measured),
        disagreements(measured),
        update({dataset: _updates(inputs, dataset, own["arsm"]) for dataset, own in measured.items()}),
        _ablation(
            inputs,
            "levels",
            "levels C",
            ("ndcg@10", "map"),
            "How many levels",
            "The paper's tables are of C = 20 levels. Here C varies and nothing else does.",
        ),
        _ablation(
            inputs,
            "loss",
            "measure raised",
            ("ndcg@10", "map", "p@10"),
            "Which loss",
            "The estimator needs no derivative of the measure it raises: the paper's point. Here training raises "
            "NDCG@10, average precision or P@10; the epoch is chosen by validation NDCG@10 in all three.",
        ),
        variance(),
    ]


def _updates(inputs: Inputs, dataset: str, ours: QueryValues) -> dict[str, QueryValues]:
    return {"ours": ours, "the paper's": inputs.measure(dataset, BARE, METRICS, convention_of(dataset))}


def _ablation(
    inputs: Inputs, parameter: str, called: str, metrics: Sequence[str], title: str, opening: str
) -> Section:
    """A parameter of ARSM varied on every data set."""
    paragraphs, content = [opening], []
    for dataset in inputs.datasets:
        varied = Ablation(inputs, dataset, "arsm", parameter, called, metrics, convention_of(dataset))
        id, heading = f"{parameter}_{dataset}", f"{dataset}: {called}"
        means = means_table(id, heading, [varied])
        tests = tests_table(f"{id}_tests", f"{heading}, each against the paper's", [varied])
        figure = Figure(f"{id}_figure", f"{heading}, drawn", varied.chart(), varied.summary(), means)
        content += [figure, means, tests]
        paragraphs.append(f"{dataset}: {significant(tests.rows, 'value')}")
    return Section(parameter, title, paragraphs, content)
