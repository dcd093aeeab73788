"""The page: both tables, three recipes, the claims, levels and loss, the gradient's variance, and one baseline."""

from collections.abc import Mapping, Sequence

from gradrank.evaluation.per_query import QueryValues
from gradrank.studies.arsm.claims import claims
from gradrank.studies.arsm.ranksvm import ranksvm
from gradrank.studies.arsm.recipes import recipes
from gradrank.studies.arsm.tables import METRICS, Measured, convention_of, disagreements, official, paper
from gradrank.studies.arsm.variance import variance
from gradrank.studies.common.ablation import Ablation, means_table, tests_table
from gradrank.studies.common.paired_tests import describe_significant
from gradrank.studies.common.study import Figure, Inputs, PageSection

MODELS = ("ranksvm", "listnet", "adarank_map", "adarank_ndcg", "arsm")  # the rows of its tables


def build(inputs: Inputs) -> list[PageSection]:
    measured = {
        dataset: {model: inputs.measure(dataset, model, METRICS, convention_of(dataset)) for model in MODELS}
        for dataset in inputs.datasets
    }
    return [
        paper(measured),
        official(measured),
        disagreements(measured),
        *(ranksvm(job, own["ranksvm"]) for own in _of(measured, "ohsumed") for job in inputs.jobs()),
        recipes(inputs),
        claims(inputs, measured),
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
            "combination",
            "combination of p_c",
            ("ndcg@10", "map"),
            "How levels become a score",
            "The paper scores a document by its expected level, sum c p_c. Here also by sum c^2 p_c, by the "
            "probability of the upper half of the levels, and by the likeliest level, which ties most documents.",
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


def _of(measured: Measured, dataset: str) -> list[Mapping[str, QueryValues]]:
    """A data set's models, if it is one of the study's."""
    return [measured[dataset]] if dataset in measured else []


def _ablation(
    inputs: Inputs, parameter: str, called: str, metrics: Sequence[str], title: str, opening: str
) -> PageSection:
    """A parameter of ARSM varied on every data set."""
    paragraphs, content = [opening], []
    for dataset in inputs.datasets:
        varied = Ablation(inputs, dataset, "arsm", parameter, called, metrics, convention_of(dataset))
        id, heading = f"{parameter}_{dataset}", f"{dataset}: {called}"
        means = means_table(id, heading, [varied])
        tests = tests_table(f"{id}_tests", f"{heading}, each against the paper's", [varied])
        figure = Figure(f"{id}_figure", f"{heading}, drawn", varied.chart(), varied.summary(), means)
        content += [figure, means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'value')}")
    return PageSection(parameter, title, paragraphs, content)
