"""The report's RankNet: how its pairs become a ranking, and what its size and training are worth."""

from markupsafe import Markup

from gradrank.evaluation.per_query import QueryValues
from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.ablation import Ablation, means_table, tests_table
from gradrank.studies.common.means import mean_columns
from gradrank.studies.common.paired_tests import COLUMNS, NOTE, Question, describe_significant, paired_tests
from gradrank.studies.common.study import Figure, Inputs, PageSection

METRICS = ("ndcg@10", "ndcg@15", "map")
BASE = "ranknet_report"
CHOICES = ("reading", "scoring", "l2")  # what the nets of the first table may differ in
CHANGES = {"row sums − plain": (1, "plain"), "no L2 − L2": (2, 0.01), "difference − siamese": (0, "siamese")}
PANELS = '<div class="plots" style="max-width: 56rem">{}</div>'  # two a row, one on a phone

Net = tuple[str, str, float]  # reading, scoring, l2


def scoring(inputs: Inputs) -> PageSection:
    paragraphs = [
        "The report sorts documents by the row sums of the matrix of pair probabilities. Its net sees the "
        "difference of two documents (`difference`), so a document alone has no score, unless it is compared with "
        "the mean document (`plain`). In the `siamese` reading, a scorer and then the difference, both orders are "
        "one: P_ij grows with f(x_i) whatever x_j is, so row sums sort as f does."
    ]
    content = []
    for dataset in inputs.datasets:
        nets = _nets(inputs, dataset)
        tests = _tests(dataset, nets)
        content += [_means(dataset, nets), tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'question', 'net')}")
    return PageSection("scoring", "With and without L2, row sums and plain scores", paragraphs, content)


def _nets(inputs: Inputs, dataset: str) -> dict[Net, QueryValues]:
    """The study's nets that differ from the report's in CHOICES alone."""

    def others(params: dict) -> dict:
        return {key: value for key, value in params.items() if key not in (*CHOICES, "model")}

    params = {model: inputs.params(dataset, model) for model in inputs.models}
    chosen = {
        tuple(values[key] for key in CHOICES): model
        for model, values in params.items()
        if values["model"].startswith(BASE) and others(values) == others(params[BASE])
    }
    return {net: inputs.measure(dataset, model, METRICS, "letor4") for net, model in sorted(chosen.items())}


def _means(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    columns = [Column("reading", "reading"), Column("scoring", "scored by"), Column("l2", "L2", "g")]
    rows = [
        {"reading": reading, "scoring": scoring.replace("_", " "), "l2": l2, "values": values}
        for (reading, scoring, l2), values in nets.items()
    ]
    title = f"{dataset}: the report's RankNet, read and scored"
    return Table(f"scoring_{dataset}", title, [*columns, *mean_columns(METRICS)], rows)


def _tests(dataset: str, nets: dict[Net, QueryValues]) -> Table:
    """Each net against that with one of its choices changed."""
    rows = paired_tests(
        [
            Question({"question": question, "net": _called(net)}, metric, values, nets[other])
            for question, (place, second) in CHANGES.items()
            for net, values in nets.items()
            if (other := (*net[:place], second, *net[place + 1 :])) in nets and other != net
            for metric in ("ndcg@15", "map")
        ]
    )
    heads = [Column("question", "question"), Column("net", "first net"), Column("metric", "metric")]
    return Table(f"scoring_{dataset}_tests", f"{dataset}: one choice changed", [*heads, *COLUMNS], rows, NOTE)


def _called(net: Net) -> str:
    reading, scoring, l2 = net
    return f"{reading}, {scoring.replace('_', ' ')}, {f'L2 {l2:g}' if l2 else 'no L2'}"


def variation(inputs: Inputs) -> PageSection:
    """Hidden units, layers, batch size, epochs and their pairs, one at a time."""
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
        panels = Markup(PANELS).format(Markup("").join(each.chart() for each in ablations))
        alt = ". ".join(each.summary() for each in ablations)
        content += [Figure(f"{id}_figure", f"{heading}, drawn", panels, alt, means), means, tests]
        paragraphs.append(f"{dataset}: {describe_significant(tests.rows, 'parameter', 'value')}")
    return PageSection("variation", "Size, batch and epochs", paragraphs, content)


def _ablations(inputs: Inputs, dataset: str) -> list[Ablation]:
    """Nets of as many layers as the report's, of other numbers of them, other batches, other epochs."""
    metrics = ("ndcg@15", "map")
    hidden = [value for value, _ in inputs.variants_of(dataset, BASE, "hidden")]
    reported = inputs.params(dataset, BASE)["hidden"]
    wide = [each for each in hidden if len(each) == len(reported)]
    deep = [each for each in hidden if each == reported or len(each) != len(reported)]
    return [
        Ablation(inputs, dataset, BASE, "hidden", "hidden units", metrics, only=wide),
        Ablation(inputs, dataset, BASE, "hidden", "layers", metrics, only=deep),
        Ablation(inputs, dataset, BASE, "batch_pairs", "pairs a batch", metrics),
        Ablation(inputs, dataset, BASE, "epochs", "epochs", metrics),
        Ablation(inputs, dataset, BASE, "pairs_per_epoch", "pairs an epoch", metrics),
    ]
