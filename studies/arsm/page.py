"""The page of the ARSM study: tables, RankSVM on OHSUMED, recipes, claims, ablations, losses, and gradient variance."""

from collections.abc import Mapping, Sequence

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.ablation import VARIED, Ablation, means_table
from gradrank.bench.studies.paired_tests import describe_significant
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from studies.arsm.claims import claims
from studies.arsm.corpora import corpora
from studies.arsm.experiments import METRICS, convention_of
from studies.arsm.graded_precision import graded_precision
from studies.arsm.pointwise import pointwise
from studies.arsm.ranksvm import ranksvm
from studies.arsm.recipes import recipes
from studies.arsm.seeds import SEEDED, SEEDED_NOTE, SeededInputs, seeded_tests
from studies.arsm.tables import ARSM, MODIFIED, Measured, disagreements, official, paper
from studies.arsm.unexplained import unexplained
from studies.arsm.update_sign import update_sign
from studies.arsm.variance import variance

MODELS = ("ranksvm", "listnet", "adarank_map", "adarank_ndcg", ARSM, MODIFIED)  # the rows of the paper's tables


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    seeded = SeededInputs(inputs.results, inputs.data, inputs.folder, inputs.settings)
    measured = {
        dataset: {model: seeded.measure(dataset, model, METRICS, convention_of(dataset)) for model in MODELS}
        for dataset in inputs.datasets
    }
    sweeps = [job for job in seeded.jobs() if job["kind"] == "ranksvm"]
    return [
        corpora(inputs),
        paper(measured),
        official(measured),
        disagreements(measured),
        *(ranksvm(job, models["ranksvm"]) for models in _of(measured, "ohsumed") for job in sweeps),
        recipes(inputs),
        unexplained(measured),
        claims(seeded, measured),
        _ablation(
            seeded,
            "levels",
            "levels C",
            ("ndcg@10", "map"),
            "How many levels",
            "The paper's tables are of C = 20 levels. Here C varies and nothing else does. The training is the "
            "modified one, with several seeds.",
        ),
        _ablation(
            seeded,
            "combination",
            "combination of p_c",
            ("ndcg@10", "map"),
            "How levels become a score",
            "The paper scores a document by its expected level, sum c p_c. Here also by sum c^2 p_c, by the "
            "probability of the upper half of the levels, and by the likeliest level, which ties most documents. The "
            "training is the modified one, with several seeds.",
        ),
        _ablation(
            inputs,
            "loss",
            "measure raised",
            ("ndcg@10", "map", "p@10"),
            "Which loss",
            "The estimator needs no derivative of the measure it raises: the paper's point. Here training raises "
            "NDCG@10, average precision or P@10; the epoch is chosen by validation NDCG@10 in all three. The training "
            "is the modified one, with one seed.",
        ),
        pointwise(seeded, measured),
        graded_precision(inputs, MODELS),
        update_sign(),
        variance(),
    ]


def _of(measured: Measured, dataset: str) -> list[Mapping[str, QueryValues]]:
    """Return the per-query values of each model on a data set, as a list with one element.

    The list is empty if the study does not include the data set.
    """
    return [measured[dataset]] if dataset in measured else []


def _ablation(
    inputs: Inputs, parameter: str, called: str, metrics: Sequence[str], title: str, opening: str
) -> PageSection:
    """Return the section on an ablation of one parameter of ARSM on every data set.

    called: label of the parameter.
    """
    paragraphs, content = [opening], []
    for dataset in inputs.datasets:
        ablation = Ablation(inputs, dataset, MODIFIED, parameter, called, metrics, convention_of(dataset))
        id, heading = f"{parameter}_{dataset}", f"{dataset}: {called}"
        means = means_table(id, heading, [ablation])
        tests = _tests_table(f"{id}_tests", f"{heading}, each against the paper's", ablation)
        figure = Figure(f"{id}_figure", f"{heading}, drawn", ablation.chart(), ablation.summary(), means)
        content += [figure, means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'value')}")
    return PageSection(parameter, title, paragraphs, content)


def _tests_table(id: str, title: str, ablation: Ablation) -> Table:
    """Return the table of paired tests against the base model, with intervals that cover the seeds."""
    columns = [*VARIED, Column("metric"), *SEEDED]
    return Table(id, title, columns, seeded_tests(ablation.questions()), SEEDED_NOTE)
