"""The report's RankNet: how its documents are scored, and the effects of its size and training."""

from typing import NamedTuple

from markupsafe import Markup

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.ablation import Ablation, means_table, tests_table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.bench.studies.study import Figure, Inputs, PageSection

METRICS = ("ndcg@10", "ndcg@15", "map")
BASE = "ranknet_report"
CHANGES = {
    "row sums − plain": {"scoring": "plain"},
    "no L2 − L2": {"l2": 0.01},
    "difference − siamese": {"reading": "siamese"},
    "pairs − single documents": {"reading": "pointwise"},
}
PANELS = '<div class="plots" style="max-width: 56rem">{}</div>'  # two charts per row, or one on a narrow screen


class Net(NamedTuple):
    """The parameters in which the nets of the first table differ."""

    reading: str
    scoring: str
    l2: float


def scoring(inputs: Inputs) -> PageSection:
    """Return the section on row sums, plain scores and L2."""
    paragraphs = [
        "The report sorts documents by the row sums of the matrix of pair probabilities. Its net sees the "
        "difference of two documents (`difference`), so a document alone has no score, unless it is compared with "
        "the mean document (`plain`). In the `siamese` reading, a scorer and then the difference, both orders are "
        "one: P_ij grows with f(x_i) whatever x_j is, so row sums sort as f does. The `pointwise` reading takes the "
        "output as the probability that a document is relevant (grade 1 or more): the net is trained on single "
        "documents, as many per epoch as there are, and sorts by its output, whatever the row sums are of."
    ]
    content = []
    for dataset in inputs.datasets:
        nets = _nets(inputs, dataset)
        tests = _tests(dataset, nets)
        content += [_means(dataset, nets), tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'question', 'net')}")
    return PageSection("scoring", "With and without L2, row sums and plain scores", paragraphs, content)


def _nets(inputs: Inputs, dataset: str) -> dict[Net, QueryValues]:
    """Return the per-query values of the nets that differ from the report's net only in the fields of Net."""

    def others(params: dict) -> dict:
        return {key: value for key, value in params.items() if key not in (*Net._fields, "model")}

    params = {model: inputs.params(dataset, model) for model in inputs.models}
    chosen = {
        Net(*(values[key] for key in Net._fields)): model
        for model, values in params.items()
        if values["model"].startswith(BASE) and others(values) == others(params[BASE])
    }
    return {net: inputs.measure(dataset, model, METRICS, "letor4") for net, model in sorted(chosen.items())}


def _means(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    """Return the table of means, one row per net."""
    columns = [Column("reading", "reading"), Column("scoring", "scored by"), Column("l2", "L2", "g")]
    rows = [
        {"reading": reading, "scoring": scoring.replace("_", " "), "l2": l2, "values": values}
        for (reading, scoring, l2), values in nets.items()
    ]
    title = f"{dataset}: the report's RankNet, read and scored"
    return Table(f"scoring_{dataset}", title, [*columns, *mean_columns(METRICS)], rows)


def _tests(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    """Return the table of paired tests for each change in CHANGES.

    Each net is compared with the net that differs from it only in the changed parameter.
    """
    rows = paired_tests(
        [
            Question({"question": question, "net": _label(net)}, metric, values, nets[other])
            for question, change in CHANGES.items()
            for net, values in nets.items()
            if (other := net._replace(**change)) in nets and other != net
            for metric in ("ndcg@15", "map")
        ]
    )
    heads = [Column("question", "question"), Column("net", "first net"), Column("metric", "metric")]
    return Table(f"scoring_{dataset}_tests", f"{dataset}: one choice changed", [*heads, *COLUMNS], rows, NOTE)


def _label(net: Net) -> str:
    """Return the label of a net."""
    reading, scoring, l2 = net
    return f"{reading}, {scoring.replace('_', ' ')}, {f'L2 {l2:g}' if l2 else 'no L2'}"


def variation(inputs: Inputs) -> PageSection:
    """Return the section on hidden units, layers, batch size, epochs, and pairs per epoch, varied one at a time."""
    paragraphs = [
        "Each panel changes one thing and leaves the rest as reported: 64 and 32 hidden units, batches of 32 pairs, "
        "10 epochs, of which the best on validation is kept. An epoch is 50,000 of the pairs; in the report "
        "it is the whole training set, which 1,000,000 is: all there are."
    ]
    content = []
    for dataset in inputs.datasets:
        ablations = _ablations(inputs, dataset)
        id, heading = f"variation_{dataset}", f"{dataset}: the net and its training varied"
        means = means_table(id, heading, ablations)
        tests = tests_table(f"{id}_tests", f"{heading}, each against the reported", ablations)
        panels = Markup(PANELS).format(Markup("").join(ablation.chart() for ablation in ablations))
        alt = ". ".join(ablation.summary() for ablation in ablations)
        content += [Figure(f"{id}_figure", f"{heading}, drawn", panels, alt, means), means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'parameter', 'value')}")
    return PageSection("variation", "Size, batch and epochs", paragraphs, content)


def _ablations(inputs: Inputs, dataset: str) -> list[Ablation]:
    """Return the ablations of the report's net.

    The ablation of the hidden units keeps the report's number of layers. The number of layers has its own ablation.
    """
    metrics = ("ndcg@15", "map")
    hidden = [value for value, _ in inputs.variants_of(dataset, BASE, "hidden")]
    reported = inputs.params(dataset, BASE)["hidden"]
    wide = [units for units in hidden if len(units) == len(reported)]
    deep = [units for units in hidden if units == reported or len(units) != len(reported)]
    return [
        Ablation(inputs, dataset, BASE, "hidden", "hidden units", metrics, only=wide),
        Ablation(inputs, dataset, BASE, "hidden", "layers", metrics, only=deep),
        Ablation(inputs, dataset, BASE, "batch_pairs", "pairs a batch", metrics),
        Ablation(inputs, dataset, BASE, "epochs", "epochs", metrics),
        Ablation(inputs, dataset, BASE, "pairs_per_epoch", "pairs an epoch", metrics),
    ]
